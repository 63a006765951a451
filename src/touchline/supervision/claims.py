"""What does the final text say was achieved, and where does it hedge?

Spans only, denials and conditions left out; whether a claim is true is for `claim_check`.
"""

from __future__ import annotations

from touchline.supervision.failing import TESTS, fails_in
from touchline.supervision.phrases import matches, pattern
from touchline.supervision.prepared import shape
from touchline.supervision.prose import Prose
from touchline.supervision.stops import CLAIM_KINDS, Claim, ClaimKind, Span
from touchline.supervision.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

MOST = 60
"""Claims of one kind kept per message: more say nothing new, and bound the work on hostile texts."""
_CLAUSE = shape(r"(?i)[,;:—–(]|\bbut\b|\band\b(?= (?:i|all|the|it)\b)")
_LEAD = shape(r"[^\w\n\ue000\ue001]{0,12}(?:\d{1,3}[.)] {1,3})?[^\w\n\ue000\ue001]{0,8}")
_SHARE = shape(r"\b(\d[\d,]{0,9})(?:\s?/\s?| of (?:the )?)(\d[\d,]{0,9})\b")
SAID = 160
"""Characters quoted of a claim."""
_FAR = 80
"""Characters around a claim in which its own words stand."""


class Hedges(Value):
    """Where the text softens what it says."""

    outcome: tuple[Span, ...]
    """About whether the work works: "should pass now"."""
    unchecked: tuple[Span, ...]
    """The agent says that it did not check, or asks the person to."""
    other: tuple[Span, ...]
    """A softening word about anything else."""

    @property
    def all(self) -> tuple[Span, ...]:
        spans = {(s.start, s.end): s for s in (*self.outcome, *self.unchecked, *self.other)}
        return tuple(spans[key] for key in sorted(spans))


def claims_in(prose: Prose) -> tuple[Claim, ...]:
    """Every claim in the agent's own words, in the order of the text, none checked yet."""
    found: list[Claim] = []
    for name in CLAIM_KINDS:
        for count, match in enumerate(_matches(prose, f"claims.{name}")):
            if count == MOST:
                break
            if _is_claimed(prose, match, name):
                found.append(_claim(prose, name, match.start(), match.end()))
    found += _opening_claims(prose)
    found += _code_claims(prose)
    found.sort(key=lambda c: (c.span.start, c.span.end))
    return tuple(found)


def _claim(prose: Prose, what: ClaimKind, start: int, end: int) -> Claim:
    return Claim(what=what, span=prose.span(start, end), said=_said(prose, start, end))


def _said(prose: Prose, start: int, end: int) -> str:
    """The sentence around a claim; of a long one what begins with the claim."""
    sentence = prose.sentence_at(start)
    if sentence is None:
        return ""
    lead = _LEAD.match(sentence.words)
    first = min(start, sentence.start + (lead.end() if lead else 0))
    last = max(end, sentence.end)
    if end - first > SAID:
        first = start
    words = " ".join(prose.looked_at[first : min(last, first + 2 * SAID)].replace("**", "").split())
    return words if len(words) <= SAID else words[: SAID - 1].rstrip() + "…"


def _opening_claims(prose: Prose) -> list[Claim]:
    """Work told without a subject: "Added the parser." Only at the beginning of a sentence is that a claim."""
    shape = pattern("claims.implemented_first")
    found: list[Claim] = []
    for sentence in prose.sentences:
        lead = _LEAD.match(sentence.words)
        match = shape.match(sentence.words, lead.end() if lead else 0)
        if match is None or pattern("guards.negation_after").match(sentence.words, match.end()):
            continue
        if not denied(prose, sentence.start + match.start()):
            found.append(_claim(prose, "implemented", sentence.start + match.start(), sentence.start + match.end()))
        if len(found) == MOST:
            break
    return found


def _code_claims(prose: Prose) -> list[Claim]:
    """A command named in code and its good outcome: the command says whether tests or other checks are meant."""
    found: list[Claim] = []
    for match in _matches(prose, "claims.code_passes"):
        what: ClaimKind = "checks_pass"
        if pattern("claims.test_command").search(prose.shown, match.start(), match.end()):
            what = "tests_pass"
        if len(found) < MOST and _is_claimed(prose, match, what):
            found.append(_claim(prose, what, match.start(), match.end()))
    return found


def hedges_in(prose: Prose) -> Hedges:
    """Every hedge in the agent's own words."""
    outcome = _hedge_spans(prose, "hedges.outcome")
    unchecked = _hedge_spans(prose, "hedges.unchecked", denied_counts=True)
    taken = [(s.start, s.end) for s in (*outcome, *unchecked)]
    other = tuple(
        s
        for s in _hedge_spans(prose, "hedges.other")
        if not any(s.start < end and start < s.end for start, end in taken)
    )
    return Hedges(outcome=outcome, unchecked=unchecked, other=other)


def before(prose: Prose, offset: int) -> str:
    """The words of the same clause before an offset; what denies or conditions a claim stands there."""
    sentence = prose.sentence_at(offset)
    start = sentence.start if sentence else offset
    words = prose.words[max(start, offset - 60) : offset]
    cut = 0
    for boundary in _CLAUSE.finditer(words):
        cut = boundary.end()
    return words[cut:]


def is_partial(prose: Prose, claim: Claim) -> bool:
    """The claim says of itself that not all is meant: "most tests pass", "40/42 pass", "all pass except ..."."""
    start = prose.offset(claim.span)
    end = start + len(claim.span.text)
    sentence = prose.sentence_at(start)
    share = _SHARE.search(prose.words, max(sentence.start if sentence else start, start - 12), end)
    if share and int(share[1].replace(",", "") or 0) < int(share[2].replace(",", "") or 0):
        return True
    first, last = (sentence.start, sentence.end) if sentence else (start, end)
    if pattern("guards.all_but").search(prose.words, max(first, start - _FAR), start):
        return True
    after = prose.words[end : min(end + _FAR, last)]
    return bool(pattern("guards.part_before").search(before(prose, start)) or pattern("guards.part_after").match(after))


def denied(prose: Prose, offset: int) -> bool:
    return bool(pattern("guards.negation").search(before(prose, offset)))


def conditional(prose: Prose, offset: int) -> bool:
    return bool(pattern("guards.condition").search(before(prose, offset)))


def _matches(prose: Prose, name: str) -> Iterator[re.Match[str]]:
    return matches(name, prose.words)


def _is_claimed(prose: Prose, match: re.Match[str], what: ClaimKind) -> bool:
    start = match.start()
    if prose.sentence_at(start) is None and prose.sentence_at(match.end() - 1) is None:
        return False
    if denied(prose, start) or conditional(prose, start):
        return False
    if pattern("guards.others").search(before(prose, start)):
        return False
    if what == "tests_pass":
        # "39 passed, 3 failed" reports a failure; it does not claim that the tests pass.
        return not fails_in(prose, prose.sentence_at(start), TESTS)
    return not pattern("guards.negation_after").match(prose.words, match.end())


def _hedge_spans(prose: Prose, name: str, *, denied_counts: bool = False) -> tuple[Span, ...]:
    found: list[Span] = []
    for match in _matches(prose, name):
        if len(found) == MOST:
            break
        if prose.sentence_at(match.start()) is None:
            continue
        if not denied_counts and denied(prose, match.start()):
            continue
        found.append(prose.span(match.start(), match.end()))
    return tuple(found)
