"""Touchline supervises coding agents: it reads what an agent really did and decides what should happen next.

The library's face. Nothing is loaded until it is used, so importing Touchline costs next to nothing:

    >>> import touchline
    >>> turn = touchline.read_turn(open("stream.jsonl"), cli="claude")
    >>> ledger = touchline.ledger_of(turn)
    >>> stop = touchline.classify(turn.final_text, ledger=ledger, ended=turn.ended)
    >>> touchline.decide(touchline.Situation(stop=stop, ended=turn.ended, ledger=ledger)).action
"""

TYPE_CHECKING = False  # type checkers know this name; importing `typing` would cost more than all the rest
if TYPE_CHECKING:
    from typing import Any

    from touchline.supervision.coach import coach
    from touchline.supervision.contract import check_contract
    from touchline.supervision.decide import decide
    from touchline.supervision.facts import Turn, steps_of
    from touchline.supervision.ledger import ledger_of
    from touchline.supervision.situation import Decision, Situation
    from touchline.supervision.stop import classify
    from touchline.supervision.thrash import find_thrash
    from touchline.transcripts.read import read_log, read_turn

__version__ = "0.1.0"

_FACE = {
    "Decision": "supervision.situation",
    "Situation": "supervision.situation",
    "Turn": "supervision.facts",
    "check_contract": "supervision.contract",
    "classify": "supervision.stop",
    "coach": "supervision.coach",
    "decide": "supervision.decide",
    "find_thrash": "supervision.thrash",
    "ledger_of": "supervision.ledger",
    "steps_of": "supervision.facts",
    "read_log": "transcripts.read",
    "read_turn": "transcripts.read",
}

__all__ = [
    "Decision",
    "Situation",
    "Turn",
    "check_contract",
    "classify",
    "coach",
    "decide",
    "find_thrash",
    "ledger_of",
    "read_log",
    "read_turn",
    "steps_of",
]


def __getattr__(name: str) -> "Any":
    if name not in _FACE:
        raise AttributeError(f"module 'touchline' has no attribute {name!r}")
    from importlib import import_module

    # A submodule may bear the name of the function in it (`decide`, `coach`), so the function is kept here.
    value = getattr(import_module(f"touchline.{_FACE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> "list[str]":
    return sorted([*globals(), *_FACE])
