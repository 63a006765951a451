"""How is HTML and SVG written so that text from a log stays text?

`element` escapes every child and attribute that was not itself made by `element`: forgetting to escape is not
possible, only asking for raw text is (`Markup`), and that is done in this package's own templates alone.
"""

from __future__ import annotations

from html import escape

from touchline.audit.visible import visible


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | int | float | None

_VOID = frozenset({"br", "hr", "meta", "line", "rect", "path", "circle"})


def element(name: str, *children: Child, **attributes: Child) -> Markup:
    """An element. `class_` is the class; an underscore inside a name is a hyphen; a None attribute is left out."""
    opening = name + "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID and not children:
        return Markup(f"<{opening}>" if name in {"br", "hr", "meta"} else f"<{opening}/>")
    return Markup(f"<{opening}>{join(*children)}</{name}>")


def join(*children: Child) -> Markup:
    """Children one after the other, escaped where they are not markup."""
    return Markup("".join(escaped(child) for child in children if child is not None))


def escaped(value: Child) -> Markup:
    if isinstance(value, Markup):
        return value
    return Markup(escape(visible(str(value)), quote=True))
