"""Which success criteria does a plan set? Only those that can be read with certainty; otherwise none."""

from __future__ import annotations

from touchline.supervision.limits import LIMITS
from touchline.supervision.prepared import shape

_HEADING = shape(r"^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
_FENCE = shape(r"^ {0,3}(`{3,}|~{3,})(.*)$")


def success_criteria(plan: str, *, limit: int = LIMITS.criteria_chars) -> str | None:
    """The text under the plan's one level-2 heading "Success Criteria", verbatim, cut at `limit` characters.

    None when there is no such heading outside code fences, more than one, an unclosed fence, or nothing under it:
    the coach then points at the file instead of guessing.
    """
    sections: list[list[str]] = []
    inside = False
    fence: str | None = None
    for line in plan.splitlines():
        opened = _FENCE.match(line)
        if fence is None and opened and not ("`" in opened[1] and "`" in opened[2]):
            fence = opened[1]
        elif fence is not None and opened and opened[1].startswith(fence) and not opened[2].strip():
            fence = None
        elif fence is None and (heading := _HEADING.match(line)):
            level, title = len(heading[1]), heading[2].strip().casefold()
            if level <= 2:
                inside = level == 2 and title == "success criteria"
                if inside:
                    sections.append([])
                continue
        if inside:
            sections[-1].append(line)
    if fence is not None or len(sections) != 1:
        return None
    text = "\n".join(sections[0]).strip()
    if not text:
        return None
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
