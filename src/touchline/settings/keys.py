"""What is known of one setting? Its name, type, default and meaning, read from the classes in `sections`."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from touchline.errors import SettingsError
from touchline.settings.sections import AGENTS, GUARDED, LOWERS, SECTIONS, Over, Variable, Within
from touchline.supervision.limits import BOUNDS, Limits

PREFIX = "TOUCHLINE_"
OTHERS = frozenset(
    f"{PREFIX}{name}"
    for name in (
        *("CHILD", "DAY_RUNS", "DAY_TOKENS", "DAY_USD", "FAULT", "MODEL_CACHE", "SCRIPTED_HOME"),
        *("BUILD_KILLS", "KILLS", "SAMPLE", "SEED", "SESSIONS_TEST", "TEST_CLIS"),
    )
)
"""Variables that mean something and are no settings; those of the last line only in tests."""
ANY_AGENT = "NAME"
"""Stands for an agent's name where all settings are listed."""
_AGENT = re.compile(r"[a-z][a-z0-9_-]{0,39}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One setting."""

    name: str
    """Section and key: `run.agent`, `agents.claude.flags`."""
    hint: Any
    """Its type, without marks."""
    default: Any
    kind: type
    """The class of its section."""
    guarded: bool
    """A project's file decides it only when trusted."""
    lowers: bool
    """A project's file can lower what the user's allows, and not raise it."""
    over: float | None
    """A number must be more than this."""
    most: float | None
    """A number must not be more than this."""
    variable: str
    """The environment variable that sets it."""

    @property
    def meaning(self) -> str:
        """What it is, in one line."""
        return meanings_of(self.kind)[self.short]

    @property
    def section(self) -> str:
        return self.name.rpartition(".")[0]

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2]


@cache
def keys() -> dict[str, Key]:
    """All settings, those of an agent once, as `agents.NAME.…`."""
    found: dict[str, Key] = {}
    for section, kind in SECTIONS.items():
        where = f"{section}.{ANY_AGENT}" if section == AGENTS else section
        hints = get_type_hints(kind, include_extras=True)
        for each in fields(kind):
            marks: tuple[Any, ...] = ()
            hint = hints[each.name]
            if get_origin(hint) is Annotated:
                hint, *rest = get_args(hint)
                marks = tuple(rest)
            assert each.default is not MISSING, f"{where}.{each.name} has no default"
            over = next((mark.than for mark in marks if isinstance(mark, Over)), None)
            named = next((mark.name for mark in marks if isinstance(mark, Variable)), "")
            name = f"{where}.{each.name}"
            within = next((mark for mark in marks if isinstance(mark, Within)), None)
            if kind is Limits and each.name in BOUNDS:
                within = Within(*BOUNDS[each.name])
            found[name] = Key(
                name=name,
                hint=hint,
                default=each.default,
                kind=kind,
                guarded=GUARDED in marks,
                lowers=LOWERS in marks,
                over=within.least - 1 if within else over,
                most=within.most if within else None,
                variable=named or variable_for(name),
            )
    return found


def key_named(name: str) -> Key | None:
    """The setting of that name, an agent's under its own name; None when there is none."""
    found = keys().get(name)
    if found is not None and ANY_AGENT not in name:
        return found
    section, _, rest = name.partition(".")
    agent, _, short = rest.rpartition(".")
    general = keys().get(f"{AGENTS}.{ANY_AGENT}.{short}")
    if section != AGENTS or general is None or not _AGENT.fullmatch(agent):
        return None
    return Key(
        name=name,
        hint=general.hint,
        default=general.default,
        kind=general.kind,
        guarded=general.guarded,
        lowers=general.lowers,
        over=general.over,
        most=general.most,
        variable=variable_for(name),
    )


def variable_for(name: str) -> str:
    """The environment variable of a setting: `run.agent` is TOUCHLINE_RUN_AGENT."""
    return PREFIX + re.sub(r"[.-]", "_", name).upper()


def require_key(name: str, *, at: str = "") -> Key:
    """The setting of that name; SettingsError with the nearest one when there is none."""
    found = key_named(name)
    if found is None:
        raise SettingsError(f"{at}there is no setting {name!r}.", hint=suggestion(name))
    return found


def suggestion(name: str) -> str:
    """What may have been meant by a name that nobody knows."""
    near = nearest(name, keys())
    if near and ANY_AGENT not in near:
        return f"Did you mean {near}?"
    section = name.partition(".")[0]
    if section == AGENTS:
        known = ", ".join(each.short for each in keys().values() if each.section == f"{AGENTS}.{ANY_AGENT}")
        return f"An agent has {known}: [agents.claude] flags = [...]"
    if section not in SECTIONS:
        close = nearest(section, SECTIONS)
        known = ", ".join(f"[{each}]" for each in SECTIONS)
        return f"Did you mean [{close}]?" if close else f"The sections are {known}."
    return f"[{section}] has {', '.join(each.short for each in keys().values() if each.section == section)}."


def nearest(name: str, known: Iterable[str]) -> str:
    """The name that was probably meant, also where the section was left out; empty when nothing is near."""
    listed = list(known)
    last = name.rpartition(".")[2]
    found = get_close_matches(name, listed, 1, 0.75)
    same = [each for each in listed if each.rpartition(".")[2] == last]
    return found[0] if found else same[0] if same else ""


@cache
def meanings_of(kind: type) -> dict[str, str]:
    """What stands under each field of a class, read from its source."""
    source = sys.modules[kind.__module__].__file__
    assert source is not None
    tree = ast.parse(Path(source).read_text(encoding="utf-8"))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__)
    found: dict[str, str] = {}
    for node, after in pairwise(body):
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)):
            continue
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            found[node.target.id] = " ".join(str(after.value.value).split())
    return found
