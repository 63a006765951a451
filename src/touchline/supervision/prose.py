"""Which parts of a message are the agent's own words, and where do its sentences begin and end?

Code, quotations and pasted tool output are masked, never cut, so that every offset still points into the
original text. Very long messages are looked at through their head and tail: that is where agents say how they
stopped, and it bounds the cost of every pattern.
"""

from __future__ import annotations

from touchline.supervision.prepared import shape
from touchline.supervision.remembering import cache
from touchline.supervision.stops import Span
from touchline.supervision.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

HEAD, TAIL = 8_000, 16_000
"""Characters looked at from the beginning and from the end of a long message."""
CODE = "\ue000"
"""Stands for each character of inline code: a pattern can tell code from nothing. Private use, never written."""
QUOTE = "\ue001"
"""Stands for each character of a quotation."""


class Sentence(Value):
    """A sentence, list item, heading or table row, by offsets into the looked-at text."""

    start: int
    end: int
    words: str
    """Its words in lower case, with code and quotations masked."""
    section: str
    """The heading it stands under, lower case, or an empty text."""
    item: bool
    """True for an item of a list."""
    heading: bool


class Prose(Value):
    """A message made ready for patterns. Offsets of `words`, `shown` and `sentences` are the same."""

    text: str
    """The whole message, as the agent wrote it."""
    looked_at: str
    """All of it, or its head and tail."""
    words: str
    """The agent's own words in lower case: code, quotations and tool output masked."""
    shown: str
    """Words and code in lower case; only quotations masked. Where proof that was pasted or named may be found."""
    unquoted: str
    """In lower case all that stands outside code and pasted output, quotations included."""
    sentences: tuple[Sentence, ...]
    skipped: int
    """Characters left out after the head."""
    starts: tuple[int, ...]

    def span(self, start: int, end: int) -> Span:
        """The piece of the message that stands at these offsets, without the space around it."""
        while start < end and self.looked_at[start].isspace():
            start += 1
        while end > start and self.looked_at[end - 1].isspace():
            end -= 1
        if self.skipped:
            if end > HEAD > start:
                end = HEAD
            if start >= HEAD:
                start, end = start + self.skipped, end + self.skipped
        return Span(start=start, end=end, text=self.text[start:end])

    def offset(self, span: Span) -> int:
        """Where a span begins in the looked-at text."""
        return span.start - self.skipped if self.skipped and span.start >= HEAD else span.start

    def sentence_at(self, offset: int) -> Sentence | None:
        """The sentence an offset lies in; None between sentences (inside a code block, say)."""
        # By halves, and by hand: loading `bisect` takes as long as all the look-ups of a message.
        first, last = 0, len(self.starts)
        while first < last:
            middle = (first + last) // 2
            first, last = (first, middle) if offset < self.starts[middle] else (middle + 1, last)
        if not first:
            return None
        sentence = self.sentences[first - 1]
        return sentence if offset < sentence.end else None


def read(text: str) -> Prose:
    """Mask and split a message."""
    skipped = max(0, len(text) - HEAD - TAIL)
    looked_at = text[:HEAD] + text[-TAIL:] if skipped else text
    spoken, displayed = _mask_blocks(looked_at)
    uncoded = _INLINE.sub(_coded, spoken)
    words = _plain(_QUOTED.sub(_quoted, uncoded))
    shown = _plain(_QUOTED.sub(_quoted, displayed))
    lower = lowered(words)
    sentences = tuple(_sentences(words, lower))
    return Prose(
        text=text,
        looked_at=looked_at,
        words=lower,
        shown=lowered(shown),
        unquoted=lowered(uncoded),
        sentences=sentences,
        skipped=skipped,
        starts=tuple(s.start for s in sentences),
    )


# Curly apostrophes and emphasis become plain text of the same length, so that patterns need one spelling.
_PLAIN = (("’", "'"), ("‘", "'"), ("\u00a0", " "), ("\t", " "), ("\r", " "), ("**", "  "), ("__", "  "))
_FENCE = shape(r"[ >]{0,12}(?:[-*] )?(`{3,}|~{3,})")
_INLINE = shape(r"``[^`\n]{1,400}``|`[^`\n]{1,400}`")
_QUOTED = shape(
    r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|「[^」\n]{1,300}」|'(?<![\w']')[^'\n]{2,120}'(?!\w)"
)
_OUTPUT_OPEN = shape(r"\s{0,8}<(tool_result|function_results|stdout|stderr|output|system-reminder)>")
_OUTPUT_LINE = shape(r"\s{0,8}(?:\$ |❯|⎿|╭─|╰─)")
_BLOCK_QUOTE = shape(r"\s{0,3}>")
# What a contract asks for stands alone on its line: a framed token (`%%END-1%%`, `<done>`), or `name = value`.
_MARKER = shape(
    r"\s{0,8}[*_`]{0,3}(?:[%:#@=~$^&|+{\[-]{2}\S{0,200}\w\S{0,200}[%:#@=~$^&|+}\]-]{2}|<{1,3}[^\s<>]{1,200}>{1,3})[*_`]{0,3}\s*$"
)
_TOKEN = shape(r"\s{0,8}[*_]{0,3}[A-Za-z_][\w.-]{0,80}[*_]{0,3} {0,4}=(?![=>]) {0,4}\S")


def _plain(words: str) -> str:
    for written, plain in _PLAIN:
        words = words.replace(written, plain)
    return words


def lowered(words: str) -> str:
    """Lower case, letter by letter where a letter would become two and shift every offset."""
    lower = words.lower()
    return lower if len(lower) == len(words) else "".join(c if len(c.lower()) != 1 else c.lower() for c in words)


def _coded(match: re.Match[str]) -> str:
    return CODE * (match.end() - match.start())


def _quoted(match: re.Match[str]) -> str:
    return QUOTE * (match.end() - match.start())


def _mask_blocks(text: str) -> tuple[str, str]:
    """Blank out block quotes; in the first text returned, code blocks, pasted output and contract lines as well."""
    spoken = text.split("\n")
    displayed = spoken.copy()
    fence = closing = ""
    within = False
    last_ticks = next((n for n in range(len(spoken) - 1, -1, -1) if "```" in spoken[n]), -1)
    for number, line in enumerate(spoken):
        blank = " " * len(line)
        if fence:
            end = _fence_end(line, fence, within=within)
            spoken[number] = blank if end is None else " " * end + line[end:]
            if end is not None:
                fence = ""
                displayed[number] = spoken[number]
        elif closing:
            spoken[number] = blank
            if closing in line:
                closing = ""
        elif not line:
            continue
        elif line[0].isalnum():
            if "=" in line and _TOKEN.match(line):
                spoken[number] = blank
            elif number < last_ticks and line.count("```") % 2:
                fence, within = "```", True
                spoken[number] = line[: line.rindex("```")].ljust(len(line))
        elif mark := _FENCE.match(line):
            if line.count(mark[1], mark.end()):
                # Opened and closed on one line: inline code, however many ticks.
                continue
            fence, within = mark[1], False
            spoken[number] = displayed[number] = blank
        elif opened := _OUTPUT_OPEN.match(line):
            spoken[number] = blank
            closing = f"</{opened[1]}>"
            if closing in line:
                closing = ""
        elif _BLOCK_QUOTE.match(line):
            spoken[number] = displayed[number] = blank
        elif _OUTPUT_LINE.match(line) or _MARKER.match(line) or _TOKEN.match(line):
            spoken[number] = blank
    return "\n".join(spoken), "\n".join(displayed)


def _fence_end(line: str, fence: str, *, within: bool) -> int | None:
    """Where in a line a code block ends. One opened in the middle of a line may end in the middle of another."""
    if within:
        at = line.find(fence)
        return None if at < 0 else at + len(fence)
    mark = _FENCE.match(line)
    if not mark or not mark[1].startswith(fence):
        return None
    rest = line[mark.end() :]
    # Words right after the ticks name a language and open a block; after a space they go on with the message.
    return mark.end() if not rest.strip("`~ \r") or shape(r"`* \w").match(rest) else None


@cache
def _line_shape() -> re.Pattern[str]:
    return shape(r"""(?x)(?P<blank>\s*$|\s*[-_=*]{3,}\s*$)
        |(?P<heading>\s{0,3}\#{1,6}\s)
        |(?P<item>\s*(?:[-*+•✅✓✔❌☑→]|\d{1,3}[.)]|[A-Da-d]\)|\[[ xX]\])\s)
        |(?P<row>\s*\|)""")


@cache
def _sentence_end() -> re.Pattern[str]:
    # A full stop before a lower-case word is an abbreviation, a version or a file name.
    return shape(r"[?!]{1,8}[\s)\]'_]{1,40}(?=\S)|\.{1,3}[)\]'_]{0,4}\s{1,200}(?![a-z\s])(?=\S)|[。！？]")


def _sentences(words: str, lower: str) -> list[Sentence]:
    """Split by lines where lines mean something (items, headings, rows), else by full stops across lines."""
    found: list[Sentence] = []
    section = ""
    open_at: int | None = None
    item = False
    offset = 0

    def close(end: int) -> None:
        nonlocal open_at
        if open_at is None:
            return
        start = open_at
        for stop in _sentence_end().finditer(words, open_at, end):
            _add(found, lower, start, stop.end(), section, item=item)
            start = stop.end()
        _add(found, lower, start, end, section, item=item)
        open_at = None

    for line in words.split("\n"):
        end = offset + len(line)
        shape = _line_shape().match(line)
        kind = shape.lastgroup if shape else None
        bare = line.strip()
        titled = kind is None and open_at is None and bare.endswith(":") and len(bare) < 60
        if kind == "heading" or titled:
            close(offset)
            section = bare.strip("#: _").lower()
            _add(found, lower, offset, end, section, heading=True)
        elif kind == "blank":
            close(offset)
        elif kind in ("item", "row"):
            close(offset)
            open_at, item = offset, kind == "item"
        elif open_at is None:
            open_at, item = offset, False
        offset = end + 1
    close(len(words))
    return found


def _add(
    found: list[Sentence], lower: str, start: int, end: int, section: str, *, item: bool = False, heading: bool = False
) -> None:
    piece = lower[start:end]
    if piece.strip(" \n-_=|:"):
        found.append(Sentence(start=start, end=end, words=piece, section=section, item=item, heading=heading))
