"""Are two texts the same? A short mark of each, as Python marks what its compiled files were made from.

It is quick for long texts, and there is nothing to load, as there is for `hashlib`. It protects nothing: who wants two
texts with one mark can make them.
"""

from __future__ import annotations

from _imp import source_hash


def digest(text: str) -> str:
    return source_hash(0, text.encode("utf-8", "surrogatepass")).hex()
