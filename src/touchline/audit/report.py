"""What is the audit as JSON? The documented schema, written piece by piece so that a big audit needs no second copy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from touchline import __version__
from touchline.audit.findings import as_json
from touchline.audit.run import Audit

SCHEMA = "touchline.audit/1"


def report(audit: Audit, *, made_at: datetime) -> dict[str, Any]:
    """The whole report as plain values."""
    return {
        **_head(audit, made_at),
        "sessions": [as_json(session) for session in audit.sessions],
    }


def report_text(audit: Audit, *, made_at: datetime) -> Iterator[str]:
    """The same report as JSON text, in pieces: the head first, then one session per piece."""
    head = json.dumps(_head(audit, made_at), ensure_ascii=True, indent=1)
    yield head.removesuffix("\n}") + ',\n "sessions": ['
    for place, session in enumerate(audit.sessions):
        yield (",\n  " if place else "\n  ") + json.dumps(as_json(session), ensure_ascii=True)
    yield "\n ]\n}\n"


def _head(audit: Audit, made_at: datetime) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "touchline": __version__,
        "made_at": made_at.isoformat(),
        "filters": as_json(audit.filters),
        "files": audit.files,
        "bytes": audit.bytes,
        "unreadable": as_json(audit.unreadable),
        "summary": as_json(audit.summary),
    }
