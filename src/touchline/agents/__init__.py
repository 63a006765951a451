"""Run a coding-agent CLI: a driver per CLI, sandboxes, workspaces."""
