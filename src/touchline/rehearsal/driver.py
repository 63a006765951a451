"""How is the scripted agent found and started? It is a part of Touchline, and needs neither a CLI nor the network.

Settings (`Request.settings`): `script`, the file with what the model says (required); `max_retries`; `env`, more
variables for the process.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from touchline import __version__
from touchline.agents.claude_conversation import ClaudeConversation
from touchline.agents.driver_settings import checked_settings, variables_in, whole_number_in
from touchline.agents.port import Abilities, Conversation, Found, Launch, Request
from touchline.errors import SettingsError
from touchline.rehearsal.agent import folder_of
from touchline.rehearsal.script_copies import write_copy
from touchline.transcripts.shapes import money

PACKAGES = Path(__file__).resolve().parents[2]
"""The folder that holds the package."""


class Scripted:
    """The scripted agent."""

    name = "scripted"
    abilities = Abilities(
        speak=True, interrupt=True, schema=True, read_only=True, max_turns=True, cost=True, preset=True, skills=True
    )

    def find(self, env: Mapping[str, str]) -> Found | None:  # noqa: ARG002
        return Found(path=Path(sys.executable), version=__version__)

    def launch(self, request: Request, found: Found, env: Mapping[str, str]) -> Launch:
        settings = checked_settings(self.name, request.settings, known=("script", "max_retries", "env"))
        given = settings.get("script")
        if not isinstance(given, str | Path) or not str(given):
            raise SettingsError(
                f"{self.name}: script is {given!r}.", hint="Name the file with what the scripted model says."
            )
        script = Path(given).resolve()
        folder = (request.home or folder_of(None, env)).resolve()
        if request.home or request.scratch:
            # Read here, so that a broken script is told before anything starts.
            script = write_copy(script, (request.scratch or folder / "scripts").resolve())
        start = Path(__file__).with_name("agent_start.py")
        argv = [str(found.path), "-I", "-S", str(start), "--replay-user-messages"]
        argv += ["--script", str(script), "--folder", str(folder)]
        if request.session:
            argv += ["--resume", request.session]
        elif request.new_session:
            argv += ["--session-id", request.new_session]
        if request.model:
            argv += ["--model", request.model]
        if request.max_requests is not None:
            argv += ["--max-turns", str(request.max_requests)]
        if request.schema is not None:
            argv += ["--json-schema", json.dumps(request.schema)]
        if request.read_only:
            argv.append("--read-only")
        if request.confined:
            argv.append("--confined")
        retries = whole_number_in(self.name, settings, "max_retries")
        if retries is not None:
            argv += ["--max-retries", str(retries)]
        return Launch(
            argv=(*argv, *request.flags),
            env=variables_in(self.name, settings),
            talks=True,
            needs=(PACKAGES, Path(sys.prefix), Path(sys.base_prefix), script),
            keeps=(folder,),
        )

    def converse(self, request: Request, *, spent_before: Mapping[str, Any] | None = None) -> ClaudeConversation:
        told = money((spent_before or {}).get("told_usd"))
        return ClaudeConversation(request, told if request.session else None)

    def spent(self, conversation: Conversation) -> Mapping[str, Any]:
        told = conversation.told_usd if isinstance(conversation, ClaudeConversation) else None
        return {} if told is None else {"told_usd": told}

    def advice(self) -> str:
        return "The scripted agent is a part of Touchline: give it a script (docs/reference/rehearsal-script.md)."


driver = Scripted()
