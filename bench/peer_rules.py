"""When would other tools have called it a loop?

Published rules of other supervisors, written anew from their description, each a function from a run to the index
of the call at which it fires. They look only at what has happened: none of them refuses a call before it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from touchline.supervision.facts import Call, Prompt, Step, Text, Turn, call_identity, result_identity, steps_of

PeerRule = Callable[[Turn], int | None]


def same_call(times: int) -> PeerRule:
    """The same tool and arguments so many times in a row, whatever came back."""

    def fires(turn: Turn) -> int | None:
        return _run_of([call_identity(step.call) for step in steps_of(turn)], times)

    return fires


def same_call_and_result(times: int) -> PeerRule:
    """The same call with the same result so many times in a row."""

    def fires(turn: Turn) -> int | None:
        return _run_of([_pair(step) for step in steps_of(turn)], times)

    return fires


def call_cycles(turn: Turn, *, longest: int = 5, times: int = 5) -> int | None:
    """Gemini CLI: a cycle of one to five calls, arguments alone, five times over."""
    calls = [call_identity(step.call) for step in steps_of(turn)]
    for end in range(1, len(calls) + 1):
        for k in range(1, longest + 1):
            part = calls[max(0, end - k * times) : end]
            if len(part) == k * times and all(part[i] == part[i - k] for i in range(k, len(part))):
                return end - 1
    return None


def openhands(turn: Turn) -> int | None:
    """OpenHands' five scenarios; the fifth (condensing again and again) cannot occur in these runs."""
    steps = steps_of(turn)
    calls = [call_identity(step.call) for step in steps]
    answers = [_observed(step) for step in steps]
    for i in range(len(steps)):
        if i >= 3 and _all_same(calls[i - 3 : i + 1]) and _all_same(answers[i - 3 : i + 1]):
            return i
        if i >= 2 and _all_same(calls[i - 2 : i + 1]) and all(step.failed for step in steps[i - 2 : i + 1]):
            return i
        turns = [(calls[j], answers[j]) for j in range(i - 5, i + 1)] if i >= 5 else []
        if turns and all(a is not None for _, a in turns) and _all_same(turns[::2]) and _all_same(turns[1::2]):
            return i
    return next(_monologues(turn), None)


def failure_rate(turn: Turn, *, window: int = 10) -> int | None:
    """Maestro's first rule: more than half of the last ten calls failed."""
    steps = steps_of(turn)
    for i in range(window - 1, len(steps)):
        if 2 * sum(step.failed for step in steps[i - window + 1 : i + 1]) > window:
            return i
    return None


def failing_again(turn: Turn) -> int | None:
    """Maestro's second rule: the same call failed twice in a row."""
    return _run_of([call_identity(s.call) if s.failed else None for s in steps_of(turn)], 2)


def maestro(turn: Turn) -> int | None:
    """Either of Maestro's two rules."""
    return min((at for at in (failure_rate(turn), failing_again(turn)) if at is not None), default=None)


PEERS: dict[str, PeerRule] = {
    "same call x3 (opencode, Cline's warning)": same_call(3),
    "same call x4 (Roo)": same_call(4),
    "same call x5 (Cline's stop)": same_call(5),
    "same call + result x3": same_call_and_result(3),
    "same call + result x4": same_call_and_result(4),
    "cycles of 1..5 calls x5 (Gemini CLI)": call_cycles,
    "OpenHands' five scenarios": openhands,
    "Maestro: failure rate > 50 % of 10": failure_rate,
    "Maestro: same call failed twice": failing_again,
    "Maestro: either": maestro,
}


def _pair(step: Step) -> tuple[str, str] | None:
    answer = result_identity(step.result)
    return None if answer is None else (call_identity(step.call), answer)


def _observed(step: Step) -> tuple[object, ...] | None:
    """OpenHands compares a shell's answer by its exit code, any other by its first three lines."""
    result = step.result
    if result is None:
        return None
    return (result.exit_code,) if result.exit_code is not None else tuple(result.text.splitlines()[:3])


def _run_of(keys: Sequence[object], times: int) -> int | None:
    run = 0
    for i, key in enumerate(keys):
        run = 0 if key is None else run + 1 if i and keys[i - 1] == key else 1
        if run >= times:
            return i
    return None


def _all_same(keys: Sequence[object]) -> bool:
    return bool(keys) and keys[0] is not None and all(key == keys[0] for key in keys)


def _monologues(turn: Turn) -> Iterator[int]:
    """Three identical messages with no call between them."""
    said: list[str] = []
    calls = -1
    for event, following in zip(turn.events, (*turn.events[1:], None), strict=True):
        if isinstance(event, Call):
            calls += 1
            said.clear()
        elif isinstance(event, Text) and (following is None or isinstance(following, Prompt)):
            said.append(event.text.strip())
            if len(said) >= 3 and _all_same(said[-3:]):
                yield calls
