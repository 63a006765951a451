"""Who does what in the pipeline."""
