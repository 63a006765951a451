"""The architect: verdicts, guidance, answers; never the author of the work."""
