"""Does the text itself name a check that was run, and its outcome?

Only for texts judged without a ledger: what a text shows never outweighs what a record shows. When unsure, there
is no proof.
"""

from __future__ import annotations

from touchline.supervision.claims import conditional, denied
from touchline.supervision.failing import fails_in
from touchline.supervision.phrases import matches, pattern
from touchline.supervision.prepared import shape
from touchline.supervision.prose import Prose
from touchline.supervision.stops import Span
from touchline.supervision.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

    from touchline.supervision.phrases import Phrases

MOST = 40


class Shown(Value):
    """Checks with outcomes, as far as the text tells."""

    strong: tuple[Span, ...]
    """Tests, CI, measurements; or git's own output where a commit or push was the task."""
    weak: tuple[Span, ...]
    """Builds, linters, single observations."""

    @property
    def all(self) -> tuple[Span, ...]:
        return tuple(sorted((*self.strong, *self.weak), key=lambda s: (s.start, s.end)))


def proof_in(prose: Prose, *, task: str) -> Shown:
    """Find what the text shows as proof of its work."""
    strong = _outcomes(prose, pattern("proof.strong"))
    if pattern("proof.tasks").search(task):
        strong += tuple(prose.span(m.start(), m.end()) for m in matches("proof.git", prose.shown))[:MOST]
    return Shown(strong=strong, weak=_outcomes(prose, pattern("proof.weak")))


def _outcomes(prose: Prose, shape: Phrases) -> tuple[Span, ...]:
    found: list[Span] = []
    for match in shape.finditer(prose.shown):
        if len(found) == MOST:
            break
        if _counts(prose, match):
            found.append(prose.span(match.start(), match.end()))
    return tuple(found)


def _counts(prose: Prose, match: re.Match[str]) -> bool:
    sentence = prose.sentence_at(match.start())
    if sentence is None:
        # In a code block: only pasted results count, and they come with figures or ticks.
        return bool(shape(r"\d|[✅✓✔]").search(match[0]))
    if pattern("proof.sections").search(sentence.section) and not pattern("proof.own_sections").search(
        sentence.section
    ):
        return False
    if pattern("proof.void").search(prose.shown[sentence.start : sentence.end]):
        return False
    if pattern("going_on.unfinished").search(sentence.words) or fails_in(prose, sentence):
        return False
    return not (denied(prose, match.start()) or conditional(prose, match.start()))
