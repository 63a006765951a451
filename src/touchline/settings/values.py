"""Does a value fit its setting? From a file as TOML knows it, from the environment as text."""

from __future__ import annotations

import math
import shlex
import tomllib
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from touchline.errors import SettingsError
from touchline.settings.keys import Key, nearest

_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_LARGEST = 10**12
_LONGEST = 4_000
"""Characters of a text: longer ones are a mistake, and would fill the screen."""


def fitted(key: Key, value: Any, *, at: str) -> Any:
    """The value in its setting's type. SettingsError, beginning with `at`, when it does not fit."""
    try:
        made = _made(value, key.hint)
    except _Unfit as unfit:
        raise SettingsError(
            f"{at}{key.name} is {_shown(value)}, but must be {unfit.wanted}.", hint=unfit.hint or key.meaning
        ) from None
    if key.over is not None and made is not None and not made > key.over:
        least = f"at least {key.over + 1:g}" if isinstance(made, int) else f"more than {key.over:g}"
        raise SettingsError(f"{at}{key.name} is {made:g}, but must be {least}.", hint=key.meaning)
    if key.most is not None and made is not None and made > key.most:
        raise SettingsError(f"{at}{key.name} is {made:g}, but must be at most {key.most:g}.", hint=key.meaning)
    if key.name in ("run.agent", "run.model") and str(made).startswith("-"):
        raise SettingsError(f"{at}{key.name} is {made!r}, which is a flag.", hint=key.meaning)
    return made


def fitted_text(key: Key, text: str, *, at: str) -> Any:
    """The value that a text of the environment means."""
    kinds = _kinds(key.hint)
    if str in kinds or any(get_origin(kind) is Literal for kind in kinds):
        return fitted(key, text, at=at)
    if bool in kinds:
        low = text.strip().lower()
        return fitted(key, True if low in _YES else False if low in _NO else text, at=at)
    if key.hint == tuple[str, ...] and not text.lstrip().startswith("["):
        try:
            return fitted(key, shlex.split(text), at=at)
        except ValueError as error:
            raise SettingsError(f"{at}{key.name} cannot be read: {error}.", hint="Write it as in a shell.") from None
    try:
        value = tomllib.loads(f"value = {text.strip()}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        value = text
    return fitted(key, value, at=at)


def wanted_words(key: Key) -> str:
    """What kind of value a setting takes, in words."""
    kinds = [kind for kind in _kinds(key.hint) if kind is not NoneType]
    words = " or ".join(_words(kind) for kind in kinds)
    return words if key.most is None or key.over is None else f"{words} from {key.over + 1:g} to {key.most:_}"


def shown(key: Key, value: Any) -> str:
    """The value as a person may see it, in the notation of the settings file; an address without its password."""
    if key.name == "database.url" and "://" in str(value):
        return toml_of(without_password(str(value)))
    return toml_of(value)


def without_password(address: str) -> str:
    """An address as people may see it."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(address)
        secret = parts.password
    except ValueError:
        return f"{address.partition('://')[0]}://…"
    if secret is None and not parts.query:
        return address
    user = f"{parts.username}@" if parts.username else ""
    return f"{parts.scheme}://{user}{parts.netloc.rpartition('@')[2]}{parts.path}"


def toml_of(value: Any) -> str:
    """A value in TOML's notation; empty for one that is not set."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"{value:_}" if isinstance(value, int) and abs(value) >= 10_000 else repr(value)
        case tuple() | list():
            return f"[{', '.join(map(toml_of, value))}]"
        case _:
            return _text(str(value))


def _text(words: str) -> str:
    escaped = "".join(_ESCAPES.get(each) or (each if each.isprintable() else _code(each)) for each in words)
    return f'"{escaped}"'


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _code(each: str) -> str:
    number = ord(each)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


class _Unfit(Exception):
    def __init__(self, wanted: str, hint: str = "") -> None:
        super().__init__(wanted)
        self.wanted, self.hint = wanted, hint


def _made(value: Any, hint: Any) -> Any:
    kinds = _kinds(hint)
    if len(kinds) > 1:
        # Not set is said by leaving the key out; no value of a file stands for it.
        return None if value is None and NoneType in kinds else _made(value, kinds[0])
    if get_origin(hint) is Literal:
        known = get_args(hint)
        if value not in known:
            near = nearest(str(value), known)
            raise _Unfit(f"one of {', '.join(known)}", f"Did you mean {near}?" if near else "")
        return value
    if get_origin(hint) is tuple:
        return _made_list(value, get_args(hint))
    right = {
        bool: isinstance(value, bool),
        int: isinstance(value, int) and not isinstance(value, bool),
        float: isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value),
        str: isinstance(value, str) and len(value) <= _LONGEST and "\0" not in value,
    }[hint]
    if not right:
        raise _Unfit(_words(hint))
    if hint in (int, float) and not 0 <= value <= _LARGEST:
        raise _Unfit(f"{_words(hint)} that is not negative, nor beyond all use")
    return hint(value)


def _made_list(value: Any, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise _Unfit(_words(tuple[parts]))  # type: ignore[valid-type]
    if parts[-1] is Ellipsis:
        return tuple(_made(each, parts[0]) for each in value)
    if len(value) != len(parts):
        raise _Unfit(f"a list of {len(parts)}")
    return tuple(_made(each, part) for each, part in zip(value, parts, strict=True))


def _kinds(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _words(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    if get_origin(kind) is tuple:
        parts = get_args(kind)
        if parts[-1] is Ellipsis:
            one = {str: "texts", int: "whole numbers", float: "numbers"}.get(parts[0], "lists of two whole numbers")
            return f"a list of {one}"
        return f"a list of {len(parts)} whole numbers"
    return {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}[kind]


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a table"
    words = toml_of(value)
    return words if len(words) <= 60 else f"{words[:59]}…"
