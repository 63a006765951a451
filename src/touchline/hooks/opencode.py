"""The plug-in for OpenCode: one JavaScript file that is wholly ours, put there and taken away."""

from __future__ import annotations

import json
from pathlib import Path

from touchline.errors import InputError
from touchline.hooks.agents_known import hook_words

_FIRST = "// Touchline's plug-in for OpenCode."


def installed(text: str | None) -> str:
    """The plug-in. Raises `InputError` when somebody else's file has its name."""
    if text is not None and not text.startswith(_FIRST):
        raise InputError("it is not Touchline's plug-in.", hint="Move that file away, then try again.")
    template = Path(__file__).with_name("opencode_plugin.js").read_text(encoding="utf-8")
    return template.replace("[/* command */]", json.dumps(hook_words("opencode")))


def standing(text: str) -> tuple[str, str]:
    """How the plug-in in this file stands, and what is to be said about it."""
    if not text.startswith(_FIRST):
        return "absent", "somebody else's plug-in has this name"
    if text != installed(None):
        return "outdated", "another Touchline put it there; run install again to use this one"
    return "installed", ""


def removed(text: str) -> str | None:
    """Nothing is left of our own file; another's stays as it is."""
    return None if text.startswith(_FIRST) else text
