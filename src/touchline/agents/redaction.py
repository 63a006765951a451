"""How are secrets kept out of what is written? Known values first, then the shapes of `redaction.toml`.

A line of JSON stays one: no shape reaches over a quote or a backslash. What is spread over several lines or several
events of a stream is found only where each part shows a shape of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from urllib.parse import quote

from touchline.errors import DataFileError

REDACTED = "[redacted]"
SHORTEST = 8


class Redactor:
    """Takes out known values and whatever has the shape of a secret. Has no state: may serve many threads."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        """`known`: values that must not be seen; those shorter than eight characters are not looked for."""
        forms = {form for value in known if len(value) >= SHORTEST for form in _forms(value)}
        # The longest first: a value may be within another.
        self._known = tuple(sorted(forms, key=lambda form: (-len(form), form)))

    def text(self, text: str) -> str:
        """The text with every secret replaced."""
        for form in [form for form in self._known if form in text]:
            text = text.replace(form, REDACTED)
        patterns = _patterns()
        for pattern in dict.fromkeys([patterns[needle] for needle in patterns if needle in text]):
            text = pattern.sub(_without_secret, text)
        return text

    def line(self, line: bytes) -> bytes:
        """The same for bytes as they came; what is no UTF-8 stays as it is."""
        before = line.decode("utf-8", "surrogateescape")
        after = self.text(before)
        return line if after == before else after.encode("utf-8", "surrogateescape")


def _without_secret(match: re.Match[str]) -> str:
    """The group named `secret` is replaced, or all of it when there is none."""
    if "secret" not in match.re.groupindex:
        return REDACTED
    whole, begin = match.group(0), match.start(0)
    return whole[: match.start("secret") - begin] + REDACTED + whole[match.end("secret") - begin :]


def _forms(value: str) -> set[str]:
    """As it is, in a URL, and in JSON: once, and within JSON that is itself quoted in JSON."""
    forms = {value, quote(value, safe="")}
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        forms |= {once, json.dumps(once, ensure_ascii=ascii_only)[1:-1]}
    # Some writers of JSON put a backslash before each slash.
    return forms | {form.replace("/", "\\/") for form in forms}


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """By what is in every match: looked for first, because that is many times faster than the pattern."""
    import tomllib

    found: dict[str, re.Pattern[str]] = {}
    for name, table in tomllib.loads(Path(__file__).with_name("redaction.toml").read_text(encoding="utf-8")).items():
        try:
            found |= dict.fromkeys(table["needles"], re.compile(table["pattern"], re.ASCII))
        except (KeyError, re.error) as error:
            raise DataFileError(f"redaction.toml: {name}: {error}") from error
    return found
