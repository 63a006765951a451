"""The coach inside an interactive agent: one small process per hook event, and what puts the hooks there."""

from __future__ import annotations


def entry_path() -> str:
    """The program that an agent's hooks start."""
    return __file__.replace("__init__.py", "entry.py")
