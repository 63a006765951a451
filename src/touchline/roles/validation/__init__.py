"""Does it work? What the target repository has is found, run in the sandbox, and reported as it was."""
