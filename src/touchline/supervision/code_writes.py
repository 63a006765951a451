"""Which files does a program write, by its text alone?

For programs that a command line holds itself, and for scripts that the session wrote. Python, JavaScript, Ruby, Perl
and PHP; which calls write is in `code_writes.json`. A path is named where it is a literal, perhaps in a variable; else
something in the work changed, and the path is `.`. Nothing is executed and nothing is parsed: a call that stands in a
string or a comment counts too, but for Python, and what a program starts in its turn, or writes through a library, is
not seen.
"""

from __future__ import annotations

from touchline.supervision.prepared import shape, table
from touchline.supervision.remembering import lru_cache
from touchline.supervision.tools import MAX_CHANGES, Change, is_by_product
from touchline.supervision.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator
    from typing import Any, Literal

CHARACTERS = 50_000
"""Of a longer program only so much is read."""
ARGUMENT_CHARACTERS = 600
"""So much of a call is read for its path and its mode."""
CALLS = 200
"""So many calls of a kind are looked at."""
HOPS = 6
"""How many variables are followed to a path."""

VALUES = 4
"""How many values of a variable are known."""

UNNAMED = "."
_LITERAL = r"""(?s)[rbuRBU]{0,2}(?:'([^'\\{}$]*)'|"([^"\\{}$]*)"|`([^`\\$]*)`)"""
_NAME = r"[$@][A-Za-z_]\w*|(?<![\w.])[A-Za-z_]\w*"
"""A variable's; not an attribute's, as in `made.name`."""
_PIECE = (
    r"(?s)(?P<text>'''.*?'''|\"{3}.*?\"{3}|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`)"
    r"|(?P<mark>[()\[\]{},;])|[^'\"`()\[\]{},;]+|."
)


class _Deed(Value):
    """One call that changes a file."""

    at: int
    target: str
    """The expression that says which one."""
    what: Literal["created", "changed", "deleted"]
    to: str = ""


@lru_cache(maxsize=32)
def writes_of(name: str, code: str) -> tuple[Change, ...]:
    """What a program changes. `name` is its interpreter's, or the ending of its file."""
    data = table("code_writes.json")
    language = data["languages"].get(name)
    if language is None:
        return ()
    code = code[:CHARACTERS]
    silent = data["silent"].get(language, "")
    deeds = sorted(_deeds(code, data["calls"][language], data, silent), key=lambda deed: deed.at)
    if not deeds:
        return ()
    places = _Places(code, data)
    found: dict[tuple[str, str], list[Change]] = {}
    for deed in deeds:
        for path in places.of(deed.target):
            if path.endswith(tuple(data["no_work"])) or (deed.what != "deleted" and is_by_product(path)):
                continue
            key = (path, deed.target if path == UNNAMED else "")
            found.setdefault(key, []).append(Change(path=path, what=deed.what, new=deed.to))
    # What it made and took away again is as it was.
    left = (made[-1] for made in found.values() if made[0].what != "created" or made[-1].what != "deleted")
    return tuple(dict.fromkeys(left))[:MAX_CHANGES]


def called_tests_in(code: str) -> str:
    """The names of tests that a program imports or starts; not those that it only speaks of."""
    if not code:
        return ""
    found = shape(table("code_writes.json")["tests_called"]).findall(code[:CHARACTERS])
    return " ".join(name for names in found for name in names if name)


def _deeds(code: str, calls: list[dict[str, Any]], data: dict[str, Any], silent: str) -> Iterator[_Deed]:
    what: Literal["created", "changed"] = "changed" if shape(data["reads"]).search(code) else "created"
    said = ""
    for call in calls:
        for found, _ in zip(shape(call["head"]).finditer(code), range(CALLS), strict=False):
            said = said or _said(code, silent, data)
            if said[found.end() - 1] == code[found.end() - 1]:
                yield from _deeds_of(call, found, what)


def _said(code: str, silent: str, data: dict[str, Any]) -> str:
    """The program with blanks for its comments and for its strings, unless some of these may be programs, too."""
    if not silent:
        return code
    runs = shape(data["runs_text"]).search(code)
    # What stands between the braces of an f-string is executed.
    return shape(silent).sub(
        lambda found: found[0] if found["code"] or (runs and found["text"]) else " " * len(found[0]), code
    )


def _deeds_of(
    call: dict[str, Any], found: re.Match[str], what: Literal["created", "changed", "deleted"]
) -> Iterator[_Deed]:
    given = _arguments(found.string, found.end())
    receiver = next((group for group in found.groups() if group), "")
    if "mode" in call:
        mode = _mode(given, call["mode"])
        if not shape(call["modes"]).fullmatch(mode):
            return
        what = "changed" if shape(r"a|>>|\+").search(mode) else what
    if "needs" in call and not any(shape(call["needs"]).search(each) for each in given):
        return
    target = given[call["target"]] if len(given) > call.get("target", len(given)) else receiver
    if "gone" in call:
        gone = given[call["gone"]] if len(given) > call["gone"] else ""
        yield _Deed(at=found.start(), target=gone, what="deleted", to=target.strip("'\"`"))
    if "gone" not in call or "target" in call:
        yield _Deed(at=found.start(), target=target, what=call.get("what", what))


def _mode(given: list[str], place: int) -> str:
    """How a file is opened; empty, which is to read, where no literal says it."""
    named = (each.partition("=")[2] for each in given if shape(r"\s*mode\s*=").match(each))
    said = next(named, given[place] if len(given) > place else "")
    literal = shape(_LITERAL).fullmatch(said.strip())
    return next(filter(None, literal.groups()), "") if literal else ""


def _arguments(code: str, at: int) -> list[str]:
    """The arguments of a call whose parenthesis was just opened, as far as they are looked at."""
    given, level = [""], 0
    for found in shape(_PIECE).finditer(code[at : at + ARGUMENT_CHARACTERS]):
        text, mark = found.group(), found.group("mark")
        if mark == "," and level == 0:
            given.append("")
            continue
        if mark and mark in "([{":
            level += 1
        elif mark and mark in ")]}":
            level -= 1
        if level < 0 or (mark == ";" and level == 0):
            break
        given[-1] += text
    return [each.strip() for each in given]


class _Places:
    """Where the expressions of a program point to."""

    def __init__(self, code: str, data: dict[str, Any]) -> None:
        self.data = data
        self.known: dict[str, list[str]] = {}
        self.found: dict[tuple[str, int], tuple[str, ...]] = {}
        for name, said in shape(data["assigned"]).findall(code):
            self._note(name, said)
        for said, name in shape(data["bound"]).findall(code):
            self._note(name, said)
        for name, said in shape(data["each"]).findall(code):
            self._note(name, said)
        moved = shape(data["chdir"]).search(code)
        self.folder: str | None = ""
        if moved is not None:
            self.folder = next(iter(self._of(_arguments(code, moved.end())[0], HOPS)), None)

    def _note(self, name: str, said: str) -> None:
        values = self.known.setdefault(name, [])
        if said.strip() not in values and len(values) < VALUES:
            values.append(said.strip())

    def of(self, said: str) -> tuple[str, ...]:
        """The paths; none for a throw-away place that the program asked for, `.` where it cannot be told."""
        places = self._of(said, HOPS)
        if self.folder == "" or not places:
            return places
        if self.folder is None:
            return tuple(place for place in places if place.startswith("/"))
        return tuple(p if p.startswith("/") else f"{self.folder.rstrip('/')}/{p}" for p in places)

    def _of(self, said: str, hops: int) -> tuple[str, ...]:
        key = (said, hops)
        if key not in self.found:
            self.found[key] = self._worked_out(said.strip().rstrip(","), hops)
        return self.found[key]

    def _worked_out(self, said: str, hops: int) -> tuple[str, ...]:
        literals = [next(filter(None, groups), "") for groups in shape(_LITERAL).findall(said)]
        listed = not shape(_LITERAL).sub("", said).strip("[](), \n")
        if literals and listed and (len(literals) == 1 or said[0] in "[("):
            return tuple(filter(None, literals))
        if shape(self.data["scratch"]).search(said):
            return ()
        if hops and (inner := shape(self.data["made_of"]).fullmatch(said)):
            return self._of(inner[1], hops - 1)
        if hops and said in self.known:
            return self._of_name(said, hops)
        # Put together of several: where it begins is enough to tell a throw-away place.
        if literal := shape(r"""['"`](/[^'"`{}$]*)""").search(said):
            return (f"{literal[1].rstrip('/')}/{UNNAMED}",)
        for name in shape(_NAME).findall(said)[:8] if hops else ():
            if name in self.known:
                begins = self._of_name(name, hops)
                if all(each.startswith("/") for each in begins):
                    return tuple(f"{each.rstrip('/')}/{UNNAMED}" for each in begins)
        return (UNNAMED,)

    def _of_name(self, name: str, hops: int) -> tuple[str, ...]:
        """Wherever a variable pointed to at some time; what it was made of itself says nothing new."""
        values = [s for s in self.known[name] if name not in shape(_NAME).findall(shape(_LITERAL).sub("''", s))]
        if not values:
            return (UNNAMED,)
        return tuple(dict.fromkeys(place for said in values for place in self._of(said, hops - 1)))
