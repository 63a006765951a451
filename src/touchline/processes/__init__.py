"""Which processes did we start, and are they all gone? Starting, limiting and ending whole trees of them."""
