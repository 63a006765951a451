"""From a brief to a specification and a graph of tasks that a person approves."""
