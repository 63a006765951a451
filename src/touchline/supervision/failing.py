"""Does the message say that something fails, now and in fact?

Failure words abound in honest reports of success: "the 3 failing tests", "failed before the fix", "no tests fail any
more". Only a statement counts, and only its own clause is looked at for what takes it back.
"""

from __future__ import annotations

from touchline.supervision.phrases import pattern
from touchline.supervision.prepared import shape
from touchline.supervision.prose import Prose, Sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

TESTS = ("failing.tests", "failing.nouns", "failing.code")
"""Lists that tell of tests."""
ANYTHING = (*TESTS, "failing.checks", "failing.still")

_ASKED = shape(r"[?？]\W{0,12}$")
_FAR = 160
"""Characters of a sentence looked at on either side of a failure word."""
# A new statement begins; a comma or colon begins one only for what stands right beside the words.
_STATEMENT = shape(r"[;—–→]|->|\b(?:but|while|whereas|although|though|now|however)\b")
_CLAUSE = shape(r"[,:()|]|\band\b")


def failures_in(prose: Prose, sentence: Sentence, names: tuple[str, ...] = ANYTHING) -> Iterator[tuple[int, int]]:
    """Where the sentence states a failure, by offsets into its words."""
    words = sentence.words
    if _ASKED.search(words[-40:]) or pattern("failing.past").search(sentence.section):
        return
    for name in names:
        for match in pattern(name).finditer(words):
            if not _is_now(words, match.start(), match.end()):
                continue
            if name == "failing.nouns" and not _stands_alone(words, match):
                continue
            if name == "failing.code" and not _runs_tests(prose, sentence, match):
                continue
            yield match.start(), match.end()


def fails_in(prose: Prose, sentence: Sentence | None, names: tuple[str, ...] = ANYTHING) -> bool:
    return sentence is not None and next(failures_in(prose, sentence, names), None) is not None


def admits_failure(prose: Prose) -> bool:
    """The message says somewhere that tests or checks fail, so a failed run is not hidden."""
    return any(fails_in(prose, sentence) for sentence in prose.sentences)


def _is_now(words: str, start: int, end: int) -> bool:
    """Neither history, nor denied, nor a mere condition."""
    left, right = words[max(0, start - _FAR) : start], words[end : end + _FAR]
    left = left[_last(_STATEMENT, left) :]
    beside = left[_last(_CLAUSE, left) :]
    if stop := _STATEMENT.search(right):
        right = right[: stop.start()]
    if stop := _CLAUSE.search(right):
        right = right[: stop.start()]
    if pattern("failing.past").search(left) or pattern("failing.past").search(right):
        return False
    return not (pattern("failing.unreal_before").search(beside) or pattern("failing.unreal_after").search(right))


def _stands_alone(words: str, match: re.Match[str]) -> bool:
    """ "2 failures" is a statement by itself or after "there are"; "fixed 2 failures" and "the 2 failures" are not."""
    left = words[max(0, match.start() - _FAR) : match.start()]
    beside = left[max(_last(_STATEMENT, left), _last(_CLAUSE, left)) :].strip(" -*_#>\n.")
    right = _CLAUSE.split(words[match.end() : match.end() + _FAR], maxsplit=1)[0]
    if pattern("failing.mended").search(right):
        return False
    return not beside or pattern("failing.there_are").search(beside) is not None


def _runs_tests(prose: Prose, sentence: Sentence, match: re.Match[str]) -> bool:
    start = sentence.start + match.start()
    return pattern("claims.test_command").search(prose.shown, start, start + len(match[0])) is not None


def _last(shape: re.Pattern[str], words: str) -> int:
    end = 0
    for boundary in shape.finditer(words):
        end = boundary.end()
    return end
