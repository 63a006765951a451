"""What does the audit look like as one page?

One file without any outside part: no network, no external asset, and a policy that lets nothing run or style but the
page's own two blocks, named by their hash. What comes from logs is text, whatever it looks like.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from touchline import __version__
from touchline.audit.markup import Markup, escaped
from touchline.audit.overview import groups, overview
from touchline.audit.run import Audit
from touchline.audit.worst import loops, unreadable, worst
from touchline.errors import InputError

_FOLDER = Path(__file__).parent


def page(audit: Audit, *, made_at: datetime) -> str:
    """The whole page."""
    style, script = _asset("style.css"), _asset("script.js")
    body = "".join(part(audit) for part in (overview, worst, loops, groups, unreadable)) + _asset("terms.html")
    return _filled(
        _asset("page.html"),
        {
            "title": escaped(f"Touchline audit, {made_at:%d %B %Y}"),
            "made": escaped(f"{made_at.day} {made_at:%b %Y, %H:%M}"),
            "version": escaped(__version__),
            "style": style,
            "style_hash": _hash(style),
            "script": script,
            "script_hash": _hash(script),
            "body": Markup(body),
        },
    )


def write_page(audit: Audit, path: Path, *, made_at: datetime) -> None:
    """Write the page whole or not at all: a reader never sees half of it."""
    if not path.parent.is_dir():
        raise InputError(f"--html: there is no folder {path.parent}", hint="Make it first, or name another file.")
    if path.is_dir():
        raise InputError(f"--html: {path} is a folder.", hint="Name a file, such as audit.html.")
    text = page(audit, made_at=made_at)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        try:
            with part.open("x", encoding="utf-8") as out:
                out.write(text)
            os.replace(part, path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"--html: {path} cannot be written ({error.strerror}).", hint="Name another file.") from error


def _filled(template: str, parts: Mapping[str, str]) -> str:
    # In one pass: what is filled in is never searched for places again, so hostile text cannot name one.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], template)


def _asset(name: str) -> Markup:
    return Markup((_FOLDER / name).read_text(encoding="utf-8"))


def _hash(text: str) -> Markup:
    return Markup("sha256-" + b64encode(sha256(text.encode()).digest()).decode())
