"""Who is to act next, by the words of the message: the person, someone else, the agent itself, or nobody?

Finds questions, offers, gates, blocks, announced steps and work left, as spans; `stop` weighs them.
"""

from __future__ import annotations

from touchline.supervision.claims import before, conditional, denied
from touchline.supervision.failing import failures_in
from touchline.supervision.phrases import matches, pattern
from touchline.supervision.prepared import shape
from touchline.supervision.prose import Prose, Sentence
from touchline.supervision.stops import Span
from touchline.supervision.values import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

CLOSING = 6
"""Sentences at the end of a message in which it says how it stops."""
_ASKED = shape(r"[?？][^\w\n]{0,12}$")
_PERSON = shape(r"\b(?:i|me|we|you|your|please)\b")


class Signals(Value):
    """What the message says about the next step. Each tuple holds the spans that say it."""

    decisions: tuple[Span, ...]
    """Questions at the end that a person must decide."""
    offers: tuple[Span, ...]
    """Questions at the end that only offer more."""
    permissions: tuple[Span, ...]
    """Questions at the end whether to go on: an offer after finished work, a decision before it."""
    gates: tuple[Span, ...]
    """Statements that wait for a person's word."""
    options: int
    """Choices laid out."""
    proposal: tuple[Span, ...]
    stuck: tuple[Span, ...]
    """At the end: nothing more can be done from here."""
    unable: tuple[Span, ...]
    """What the agent says it cannot do."""
    lacking: tuple[Span, ...]
    """What only a person has is missing."""
    hand_over: tuple[Span, ...]
    """What somebody else has to do."""
    deferral: Span | None
    """The last sentence announces a step that was not taken."""
    progress: tuple[Span, ...]
    unfinished: tuple[Span, ...]
    failing: tuple[Span, ...]
    """What the message says fails now."""
    remaining: tuple[Span, ...]
    sentences: int


def signals_in(prose: Prose) -> Signals:
    """Read the signals of a message."""
    closing = prose.sentences[-CLOSING:]
    decisions, offers, permissions = _questions(prose)
    return Signals(
        decisions=decisions,
        offers=offers,
        permissions=permissions,
        gates=_spans(prose, closing, "asks.gate", skip="asks.courtesy"),
        options=len({m[0].strip().lower() for m in matches("asks.options", prose.words)}),
        proposal=_spans(prose, prose.sentences, "asks.proposal"),
        stuck=_spans(prose, closing, "blocks.stuck", negatable=False),
        unable=_spans(prose, prose.sentences, "blocks.unable", negatable=False),
        lacking=_spans(prose, prose.sentences, "blocks.lacking", negatable=False),
        hand_over=_spans(prose, prose.sentences[-2 * CLOSING :], "blocks.hand_over", negatable=False),
        deferral=_deferral(prose),
        progress=_spans(prose, closing[-2:], "going_on.progress"),
        unfinished=_unfinished(prose),
        failing=_failing(prose, prose.sentences),
        remaining=_remaining(prose),
        sentences=len(prose.sentences),
    )


def of_the_agent(prose: Prose, seen: Signals) -> Signals:
    """Only what the agent says of itself or asks outright, at the end.

    For messages whose work the record proves: there a word such as "blocked" more likely tells what was built.
    """
    closing = prose.sentences[-CLOSING:]
    first = closing[0].start if closing else 0

    def said(spans: tuple[Span, ...], *names: str) -> tuple[Span, ...]:
        kept: list[Span] = []
        for span in spans:
            at = prose.offset(span)
            sentence = prose.sentence_at(at)
            if sentence and at >= first and any(pattern(name).search(sentence.words) for name in names):
                kept.append(span)
        return tuple(kept)

    return replace(
        seen,
        gates=tuple(s for s in seen.gates if _asks_outright(prose, s)),
        stuck=said(seen.stuck, "blocks.of_agent"),
        unable=said(seen.unable, "blocks.of_agent"),
        lacking=said(seen.lacking, "blocks.of_agent"),
        progress=said(seen.progress, "going_on.plainly_in_progress"),
        unfinished=said(seen.unfinished, "going_on.plainly_unfinished"),
        failing=_failing(prose, closing),
    )


def _asks_outright(prose: Prose, span: Span) -> bool:
    """ "Awaiting your word" waits; "a banner shown while waiting for your word" is a feature."""
    start = prose.offset(span)
    sentence = prose.sentence_at(start)
    if sentence is None:
        return False
    if pattern("blocks.of_agent").search(sentence.words):
        return True
    begins = not before(prose, start).strip(" -*_#>.\n")
    return begins and bool(_PERSON.search(sentence.words))


def _unfinished(prose: Prose) -> tuple[Span, ...]:
    """Work said to be open; not as history, nor in a question."""
    found: list[Span] = []
    shape, past = pattern("going_on.unfinished"), pattern("failing.past")
    for sentence in prose.sentences:
        match = shape.search(sentence.words)
        if match and not _asked(sentence.words) and not past.search(sentence.words, 0, match.start()):
            found.append(prose.span(sentence.start + match.start(), sentence.start + match.end()))
    return tuple(found)


def _failing(prose: Prose, sentences: tuple[Sentence, ...]) -> tuple[Span, ...]:
    return tuple(
        prose.span(sentence.start + place[0], sentence.start + place[1])
        for sentence in sentences
        if (place := next(failures_in(prose, sentence), None))
    )


def _spans(
    prose: Prose, sentences: tuple[Sentence, ...], name: str, *, negatable: bool = True, skip: str = ""
) -> tuple[Span, ...]:
    found: list[Span] = []
    shape = pattern(name)
    for sentence in sentences:
        match = shape.search(sentence.words)
        if match is None or (skip and pattern(skip).search(sentence.words)):
            continue
        start = sentence.start + match.start()
        if negatable and denied(prose, start):
            continue
        found.append(prose.span(start, sentence.start + match.end()))
    return tuple(found)


def _questions(prose: Prose) -> tuple[tuple[Span, ...], tuple[Span, ...], tuple[Span, ...]]:
    """Questions that stand open at the end: walk back until the agent's statements begin."""
    decisions: list[Span] = []
    offers: list[Span] = []
    permissions: list[Span] = []
    statements = 0
    following: Sentence | None = None
    for sentence in reversed(prose.sentences):
        words = sentence.words
        if _asked(words):
            answered = (
                following is not None and not following.item and pattern("asks.self_answered").match(following.words)
            )
            if not answered:
                span = prose.span(sentence.start, sentence.end)
                if pattern("asks.offer").search(words):
                    offers.append(span)
                elif pattern("asks.permission").search(words):
                    permissions.append(span)
                elif pattern("asks.decision").search(words):
                    decisions.append(span)
                elif following is None or sentence.item:
                    permissions.append(span)
        elif _announces(prose, sentence):
            if following is not None or not _promises(sentence):
                break
        elif not (sentence.item or sentence.heading or _keeps_open(words)):
            statements += 1
            if statements > 1:
                break
        following = sentence
    return tuple(reversed(decisions)), tuple(reversed(offers)), tuple(reversed(permissions))


def _asked(words: str) -> bool:
    return bool(_ASKED.search(words.rstrip()[-40:]))


def _promises(sentence: Sentence) -> bool:
    """ "Which one? I'll fill it in then": what comes after the answer, unlike "Why? Let me look"."""
    return bool(pattern("asks.promise").match(sentence.words))


def _keeps_open(words: str) -> bool:
    return bool(pattern("asks.after_question").search(words) or pattern("asks.gate").search(words))


def _announces(prose: Prose, sentence: Sentence) -> re.Match[str] | None:
    match = pattern("going_on.deferral").search(sentence.words)
    if match is None or _asked(sentence.words):
        return None
    waits = ("going_on.conditional", "asks.gate", "blocks.hand_over")
    if any(pattern(name).search(sentence.words) for name in waits):
        return None
    return None if denied(prose, sentence.start + match.start()) else match


def _deferral(prose: Prose) -> Span | None:
    """The announced step in the last sentence, or in the one before it when the last only elaborates."""
    noise, elaborates = pattern("going_on.noise"), pattern("going_on.elaborates")
    spoken = [s for s in prose.sentences[-CLOSING:] if not noise.search(s.words)]
    for sentence in reversed(spoken[-3:]):
        if match := _announces(prose, sentence):
            return prose.span(sentence.start + match.start(), sentence.end)
        if not elaborates.search(sentence.words):
            return None
    return None


def _remaining(prose: Prose) -> tuple[Span, ...]:
    """Work the agent itself still has to do: a list of what remains, or next steps in the first person."""
    found: list[Span] = []
    left, own = pattern("going_on.remaining"), pattern("going_on.own_steps")
    for sentence in prose.sentences[-3 * CLOSING :]:
        titled = (sentence.heading or sentence.words.rstrip().endswith(":")) and left.search(sentence.words)
        listed = sentence.item and "next" in sentence.section and own.search(sentence.words)
        if (titled or listed) and not conditional(prose, sentence.start):
            found.append(prose.span(sentence.start, sentence.end))
    return tuple(found)
