"""Which words does Touchline itself say to an agent? They are in `texts.toml`. And which words can be kept?"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _texts() -> dict[str, str]:
    import tomllib

    return tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))


def text(name: str, **values: str) -> str:
    """One of them, filled in."""
    return re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], found[0]), _texts()[name].strip())


def storable(words: str) -> str:
    """The words without what a database refuses: half a surrogate pair and NUL come out of agents now and then."""
    return words.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


def storable_value(value: Any) -> Any:
    """The same for every text within a JSON value, such as the names of files: not all of them are UTF-8."""
    match value:
        case str():
            return storable(value)
        case dict():
            return {storable(str(name)): storable_value(each) for name, each in value.items()}
        case list() | tuple():
            return [storable_value(each) for each in value]
        case _:
            return value
