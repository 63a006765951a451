"""What stands in a data file beside the rules? Without `pathlib`: a stop in an agent's hook waits for every import."""

from __future__ import annotations

import os


def data_text(name: str) -> str:
    """The text of a file of this folder."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()
