"""Are two calls the same, and did a call tell anything new?

Keys that can be compared and stored. Nothing here knows what a command means; what changes by itself from run to
run (durations, clock times, addresses) does not make a result new.
"""

from __future__ import annotations

from touchline.supervision.data_files import unusable
from touchline.supervision.facts import Call, Result, acting_args, call_identity
from touchline.supervision.prepared import shape, table
from touchline.supervision.remembering import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

try:
    from _blake2 import blake2b
except ImportError:  # a private module of CPython, half as dear as hashlib
    from hashlib import blake2b

MASKED_CHARS = 8_000
"""Longer texts are compared as they are: masking them costs more than it finds."""
TELLING_FAILURE = 40
"""A failure shorter than this (`Exit code 1`) is shared by calls that have nothing to do with each other."""
TELLING_SUCCESS = 200
"""So is a success shorter than this (`ok`, an empty output)."""
_OUTAGE_HINTS = ("429", "503", "529", "imit", "verload", "equests", "EQUESTS")
_MAIN_ARGUMENTS = ("command", "cmd", "file_path", "path", "filePath", "pattern", "query", "url")


@cache
def thrash_data(section: str) -> dict[str, Any]:
    """A section of thrash.toml."""
    try:
        found = table("thrash.toml")[section]
    except (OSError, ValueError, KeyError) as error:
        raise unusable(f"thrash.toml, section {section}: {error}") from error
    return dict(found)


@cache
def polling_tools() -> frozenset[str]:
    """Tools that ask again by design, so that asking again is no loop."""
    return frozenset(thrash_data("sameness")["polling"])


@cache
def _idle_values() -> frozenset[str]:
    return frozenset(thrash_data("sameness")["idle"])


@cache
def _passing() -> re.Pattern[str]:
    return shape(thrash_data("sameness")["passing"])


@cache
def _outage() -> re.Pattern[str]:
    return shape(thrash_data("sameness")["outage"])


def digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def call_key(call: Call) -> str:
    """The same for the same tool and arguments; the same, too, for all calls that do nothing."""
    if does_nothing(call):
        return "idle"
    try:
        return digest(call_identity(call))
    except (TypeError, ValueError, RecursionError):
        return digest(f"{call.tool}\0{call.args!r}")


def does_nothing(call: Call) -> bool:
    """Every argument is empty or a word for doing nothing."""
    idle = _idle_values()
    values = acting_args(call.args).values()
    return bool(values) and all(isinstance(v, str) and v.strip() in idle for v in values)


def result_key(result: Result) -> str:
    return f"{result.exit_code}:{int(result.failed)}:{result.digest[:16]}"


def masked_key(result: Result) -> str | None:
    """Like `result_key`, without the figures that change by themselves.

    None for a text too long to mask, and for one that says nothing else: there the figures are what was asked for.
    """
    if len(result.text) > MASKED_CHARS:
        return None
    words, figures = _passing().subn("~", result.text)
    if figures and not any(map(str.isalnum, words)):
        return None
    return f"{result.exit_code}:{int(result.failed)}:{digest(words)}"


def is_telling(result: Result) -> bool:
    """Long enough that the same text from another call means the same news."""
    return len(result.text) >= (TELLING_FAILURE if result.failed else TELLING_SUCCESS)


def is_outage(result: Result) -> bool:
    """A provider refused or was down, so that trying again is right."""
    if not result.failed:
        return False
    head = result.text[:2_000]
    # The pattern is slow, and nearly every failure lacks these.
    return any(hint in head for hint in _OUTAGE_HINTS) and _outage().search(head) is not None


def first_line(text: str, width: int = 160) -> str:
    """The first line that says something: a bare heading such as `ERROR:` is joined with the next."""
    said = ""
    for line in text[:4_000].splitlines():
        said = f"{said} {line.strip()}".strip()
        if len(said) > 12:
            break
    return said if len(said) <= width else said[: width - 1] + "…"


def shorten(call: Call, width: int = 80) -> str:
    """A call in one short line: the tool and the arguments that say most."""
    said = [str(call.args[name])[: width * 4] for name in _MAIN_ARGUMENTS if call.args.get(name)]
    if not said:
        said = [v[: width * 4] for v in call.args.values() if isinstance(v, str) and v.strip()]
    more = " ".join(" ".join(said[:2]).split())
    line = f"{call.tool}: {more}" if more else call.tool
    return line if len(line) <= width else line[: width - 1] + "…"
