"""How do the numbers look? Plots as inline SVG, drawn here, without a script; colours come from the page's classes.

The drawings stretch to any width and hold no words: labels are text of the page, so they keep their size on a phone.
Every drawing is described for those who cannot see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from touchline.audit.figures import count, share, tokens
from touchline.audit.markup import Markup, element, join
from touchline.audit.summary import Day, Tally

_WIDE = 1000.0
_MAX_COLUMNS = 62
_MAX_BARS = 8
_MAX_LABELS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a whole: its name, its number, and the class that colours it."""

    name: str
    number: int
    tone: str


def whole_bar(title: str, parts: Sequence[Part]) -> Markup:
    """One bar divided into its parts, with a legend that carries the numbers."""
    total = sum(part.number for part in parts)
    x, drawn = 0.0, []
    for part in parts:
        width = _WIDE * part.number / total if total else 0
        drawn.append(_rect(x, 0, width, 10, part.tone, f"{part.name}: {part.number} of {total}"))
        x += width
    legend = [
        element(
            "li",
            element("span", "", class_=f"key {part.tone}"),
            element("b", f"{part.number:,}", class_="num"),
            element("span", f" {part.name}"),
            element("span", f" {share(part.number / total)}", class_="quiet num") if total else None,
        )
        for part in parts
    ]
    told = ", ".join(f"{part.number} {part.name}" for part in parts) + f"; {total} in all"
    return join(_drawing("bar", f"{title}: {told}.", 10, drawn), element("ul", *legend, class_="legend"))


def columns(title: str, days: Sequence[Day]) -> Markup:
    """Sessions over time: a column per day, week or month, whichever still fits; findings at the foot."""
    slots, unit = _slots(days)
    top = max((sessions for _, sessions, _ in slots), default=0) or 1
    pitch = _WIDE / max(len(slots), 1)
    wide = min(pitch * 0.76, 90)
    drawn: list[Markup | None] = [element("line", x1=0, x2=1000, y1=y, y2=y, class_="grid") for y in (0, 50, 100)]
    for place, (begin, sessions, found) in enumerate(slots):
        x = pitch * (place + 0.5) - wide / 2
        tall, low = 100 * sessions / top, 100 * found / top
        words = f"{_label(begin, unit)}: {count(sessions, 'session')}, {found} with findings"
        drawn.append(_rect(x, 100 - tall, wide, tall - low, "calm", words))
        drawn.append(_rect(x, 100 - low, wide, low, "bad", words))
    told = (
        f"{title}, by {unit}: {sum(d.sessions for d in days)} sessions, "
        f"{sum(d.with_findings for d in days)} of them with findings; at most {top} in a {unit}."
    )
    step = max(1, -(-len(slots) // _MAX_LABELS))
    labels = [element("span", _label(begin, unit)) for begin, _, _ in slots[::step]]
    return element(
        "div",
        element("div", element("span", str(top)), element("span", "0"), class_="y-axis num", aria_hidden="true"),
        _drawing("columns", told, 100, drawn),
        element("div", *labels, class_="x-axis num" + (" each" if step == 1 else ""), aria_hidden="true"),
        class_="over-time",
    )


def waste_bars(tallies: Sequence[Tally]) -> Markup:
    """Tokens per project, the part spent after a loop began in front; the most wasteful first."""
    wasteful = [tally for tally in tallies if tally.tokens_wasted]
    shown = sorted(wasteful, key=lambda t: (-t.tokens_wasted, -t.tokens, t.name))[:_MAX_BARS]
    top = max((t.tokens for t in shown), default=0) or 1
    rows = []
    for tally in shown:
        full, wasted = _WIDE * tally.tokens / top, _WIDE * tally.tokens_wasted / top
        drawn = [_rect(0, 0, full, 10, "calm", ""), _rect(0, 0, wasted, 10, "bad", "")]
        told = f"{tally.tokens_wasted:,} of {tally.tokens:,} tokens were spent after a loop began."
        figures = f"{tokens(tally.tokens_wasted)} of {tokens(tally.tokens)}"
        rows.append(
            element(
                "li",
                element("span", path_end(tally.name, 46), class_="path", title=tally.name),
                element(
                    "span", figures, element("span", f" {share(tally.share_wasted)}", class_="quiet"), class_="num"
                ),
                _drawing("thin bar", told, 10, drawn),
            )
        )
    return element("ul", *rows, class_="rows")


def path_end(path: str, limit: int) -> str:
    """A path cut in front: its end tells projects apart."""
    return path if len(path) <= limit else "…" + path[-(limit - 1) :]


def _slots(days: Sequence[Day]) -> tuple[list[tuple[date, int, int]], str]:
    if not days:
        return [], "day"
    span = (days[-1].day - days[0].day).days + 1
    unit = "day" if span <= _MAX_COLUMNS else "week" if span <= _MAX_COLUMNS * 7 else "month"
    found: dict[date, tuple[int, int]] = {}
    moment = _begin(days[-1].day, unit)
    # From the newest back: one wrong clock (a session of 1970) must not stretch the picture over decades.
    while moment >= _begin(days[0].day, unit) and len(found) < _MAX_COLUMNS:
        found[moment] = (0, 0)
        moment = _begin(moment - timedelta(days=1), unit)
    for day in days:
        begin = _begin(day.day, unit)
        if begin in found:
            sessions, with_findings = found[begin]
            found[begin] = (sessions + day.sessions, with_findings + day.with_findings)
    return [(begin, *numbers) for begin, numbers in sorted(found.items())], unit


def _begin(day: date, unit: str) -> date:
    if unit == "month":
        return day.replace(day=1)
    return day - timedelta(days=day.weekday()) if unit == "week" else day


def _label(day: date, unit: str) -> str:
    return f"{day:%b %Y}" if unit == "month" else f"{day.day} {day:%b}"


def _rect(x: float, y: float, width: float, height: float, tone: str, words: str) -> Markup | None:
    if width <= 0 or height <= 0:
        return None
    return element(
        "rect",
        element("title", words) if words else None,
        x=f"{x:.2f}",
        y=f"{y:.2f}",
        width=f"{max(width, 1.5):.2f}",
        height=f"{height:.2f}",
        class_=tone,
    )


def _drawing(kind: str, told: str, height: int, drawn: Sequence[Markup | None]) -> Markup:
    return element(
        "svg",
        *drawn,
        viewBox=f"0 0 1000 {height}",
        preserveAspectRatio="none",
        role="img",
        aria_label=told,
        class_=kind,
    )
