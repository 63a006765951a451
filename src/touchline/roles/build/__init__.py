"""From an approved task graph to commits that were checked."""
