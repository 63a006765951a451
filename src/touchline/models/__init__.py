"""Ask a language model for a judgement: a typed question in, a typed answer out. Rules work without any of this."""
