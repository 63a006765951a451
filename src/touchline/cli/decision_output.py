"""What was decided about this situation, as JSON? (`touchline.decision/1`, documented in the reference)"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from touchline.cli.situation_input import Described, describe
from touchline.errors import InputError
from touchline.settings.quick import settings_if_any
from touchline.supervision.decide import decide
from touchline.supervision.limits import LIMITS, Limits
from touchline.supervision.situation import Decision
from touchline.supervision.values import names_of
from touchline.supervision.words import Word

SCHEMA = "touchline.decision/1"
_MAX_BYTES = 64 * 1024 * 1024


def run(stream: Any = None) -> None:
    """Read the situation from standard input and print the decision."""
    if stream is None:
        stream = getattr(sys.stdin, "buffer", None)
    if stream is None or stream.isatty():
        raise InputError(
            "touchline decide reads a situation as JSON from standard input, and nothing is piped into it.",
            hint='Try: echo \'{"text": "All tests pass."}\' | touchline decide',
        )
    raw = stream.read(_MAX_BYTES + 1)
    if len(raw) > _MAX_BYTES:
        raise InputError(f"The situation is larger than {_MAX_BYTES // 2**20} MB.", hint="Cut the results' texts.")
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InputError(f"Standard input is not JSON: {error}.") from None
    described = describe(value, limits=_usual_limits())
    decision = decide(described.situation, limits=described.limits)
    print(json.dumps(as_json(described, decision), ensure_ascii=False, indent=2))


def _usual_limits() -> Limits:
    """The numbers of the rules as they are set here."""
    found = settings_if_any(os.environ, Path.cwd(), Path.home(), section="limits")
    return LIMITS if found is None else found.limits()


def as_json(described: Described, decision: Decision) -> dict[str, Any]:
    """The decision with everything it rests on."""
    situation = described.situation
    return {
        "schema": SCHEMA,
        **{name: plain(getattr(decision, name)) for name in _DECISION},
        "stop": plain(situation.stop),
        "thrash": plain(situation.thrash),
        "contract": plain(situation.contract),
        "evidence": plain(situation.ledger)
        | {
            "last_edit": situation.ledger.last_edit,
            "verified_after_last_edit": situation.ledger.verified_after_last_edit,
        },
    }


def plain(value: Any) -> Any:
    """A frozen value as JSON can say it."""
    if isinstance(value, Word):
        return value.value
    if names := names_of(value):
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, frozenset):
        return sorted(plain(each) for each in value)
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


_DECISION = names_of(Decision)
