"""What does the scripted model say next? A pure function of the script and of all that the model was told so far.

The place in the script is found by playing the session's past again: one reply for each that the model gave. So a
session that was killed goes on where it stood, and sessions side by side do not disturb each other. Only failures
leave no trace in a session; how many there were is given by the caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from touchline.rehearsal.filling import Missing, fill, values_of
from touchline.rehearsal.turns import Conversation, Fault, Pattern, Reply, Script, Told, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a session stands in its conversation."""

    index: int = 0
    """The turn that is due."""
    played: int = 0
    """How often it was played already."""


def conversation_for(script: Script, first: Told) -> Conversation | None:
    """The conversation that this first prompt begins; None when no one wants it."""
    for conversation in script.conversations:
        if conversation.when is None or conversation.when.found_in(first.words):
            return conversation
    return None


def play(
    script: Script,
    told: Sequence[Told],
    *,
    failed: Mapping[int, int] | None = None,
    given: Mapping[str, str] | None = None,
) -> Reply:
    """The next reply.

    `told` has one entry more than the model gave replies. `failed` counts, by turn number, the failures that were
    played in this session. `given` are values for `${workspace}` and its like.
    """
    number = len(told) - 1
    conversation = conversation_for(script, told[0])
    if conversation is None:
        known = ", ".join(f"{c.name} ({c.when.source if c.when else ''})" for c in script.conversations)
        problem = f"{script.file}: no conversation is for this first prompt; there are: {known}"
        return _refused(script, Conversation(name="", turns=()), 0, number, problem)
    place = Place()
    for each in told[:-1]:
        _, place = _due(conversation, place, each, failed=None)
    turn, place = _due(conversation, place, told[-1], failed=failed or {})
    if turn is None:
        return _ran_out(script, conversation, number)
    at = 0 if turn in conversation.answers else place.index + 1
    value = values_of(told, conversation.find, given or {}, number=number)
    try:
        return _reply(turn, conversation, script, at=at, number=number, filled=lambda words: fill(words, value))
    except Missing as missing:
        return _refused(script, conversation, at, number, f"{script.file}:{turn.line}: {missing}")


def _due(
    conversation: Conversation, place: Place, told: Told, *, failed: Mapping[int, int] | None
) -> tuple[Turn | None, Place]:
    """The turn to play and the place after it. Without `failed` the past is played again: a reply was given then, so
    whatever was to fail before it has failed."""
    for answer in conversation.answers:
        if _holds(answer.heard, told.words) and _holds(answer.saw, told.results):
            return answer, place
    index, played = place.index, place.played
    while index < len(conversation.turns):
        turn = conversation.turns[index]
        meant = _holds(turn.heard, told.words) and _holds(turn.saw, told.results)
        if turn.fails:
            if meant and failed is not None and failed.get(index + 1, 0) < turn.times and not _over(turn, told):
                return turn, Place(index=index)
        elif played < turn.times and not _over(turn, told):
            chosen = turn if meant else turn.otherwise
            if chosen is not None:
                return chosen, Place(index=index, played=played + 1)
        index, played = index + 1, 0
    return None, Place(index=index)


def _holds(pattern: Pattern | None, words: str) -> bool:
    return pattern is None or pattern.found_in(words)


def _over(turn: Turn, told: Told) -> bool:
    return turn.until is not None and turn.until.found_in(told.words)


def _reply(turn: Turn, conversation: Conversation, script: Script, *, at: int, number: int, filled: Any) -> Reply:
    return Reply(
        conversation=conversation.name,
        turn=at,
        number=number,
        usage=turn.usage or script.usage,
        text=filled(turn.text),
        thinking=filled(turn.thinking),
        calls=tuple(
            replace(
                call,
                target=filled(call.target),
                content=filled(call.content),
                old=filled(call.old),
                args=filled(call.args),
            )
            for call in turn.calls
        ),
        json=filled(turn.json),
        fault=turn.fault,
        drop=turn.drop,
        delay=turn.delay,
        stall=turn.stall,
    )


def _ran_out(script: Script, conversation: Conversation, number: int) -> Reply:
    words = (
        f"The rehearsal script has no more turns: {script.file}, conversation {conversation.name!r}, "
        f"asked for reply {number + 1}."
    )
    fault = Fault(status=400, kind="bad_request", message=words) if script.strict else None
    return Reply(
        conversation=conversation.name,
        turn=len(conversation.turns) + 1,
        number=number,
        usage=script.usage,
        text="" if script.strict else words,
        fault=fault,
        ran_out=True,
    )


def _refused(script: Script, conversation: Conversation, turn: int, number: int, problem: str) -> Reply:
    return Reply(
        conversation=conversation.name,
        turn=turn,
        number=number,
        usage=script.usage,
        fault=Fault(status=400, kind="bad_request", message=f"The rehearsal script cannot be played: {problem}."),
        problem=problem,
    )
