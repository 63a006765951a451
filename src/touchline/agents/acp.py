"""How is an agent of the Agent Client Protocol found, started and spoken with? One driver for all of them.

A preset says what is particular to an agent (`acp_presets`). Any other one needs a name and its command only:
`AcpDriver.of("goose", ("goose", "acp"))`. Setting (`Request.settings`): `env`, more variables for the process.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from touchline.agents.acp_setup import Preset
from touchline.agents.acp_talk import AcpConversation
from touchline.agents.driver_settings import checked_settings, program_files, variables_in
from touchline.agents.port import Abilities, Conversation, Found, Launch, Request
from touchline.agents.versions import ask_version, warning
from touchline.errors import InputError
from touchline.transcripts.shapes import mapping, money, text


class AcpDriver:
    """A `Driver` for the agent of a preset."""

    def __init__(self, preset: Preset) -> None:
        self._preset = preset

    @classmethod
    def of(cls, name: str, command: Sequence[str], *, advice: str = "") -> AcpDriver:
        """A driver for an agent nothing more is known of: it is resumed and stopped, but not spoken to in mid-turn."""
        if not name or not command:
            raise InputError(
                f"An agent needs a name and a command; given were {name!r} and {command!r}.",
                hint='As in AcpDriver.of("goose", ("goose", "acp")).',
            )
        how = advice or f"Install {command[0]} so that it is found on PATH."
        return cls(Preset(name=name, command=tuple(command), advice=how))

    @property
    def name(self) -> str:
        return self._preset.name

    @property
    def abilities(self) -> Abilities:
        return self._preset.abilities

    def find(self, env: Mapping[str, str]) -> Found | None:
        where = shutil.which(self._preset.command[0], path=env.get("PATH", ""))
        if where is None:
            return None
        path = Path(where).resolve()
        version = _packaged_version(path) or ask_version(path, env)
        return Found(path=path, version=version, warning=warning(self.name, version))

    def launch(self, request: Request, found: Found, env: Mapping[str, str]) -> Launch:
        preset = self._preset
        settings = checked_settings(self.name, request.settings, known=("env", *preset.settings))
        variables = variables_in(self.name, settings)
        if request.schema is not None:
            raise InputError(
                f"{self.name} cannot hold its answer to a JSON schema.", hint="Describe the form in the prompt instead."
            )
        setting = preset.set_up(request, {**env, **variables})
        return Launch(
            argv=(str(found.path), *preset.command[1:], *setting.flags, *request.flags),
            env={**variables, **setting.env},
            talks=True,
            leaves=preset.leaves,
            needs=(*program_files(found.path), *setting.needs),
            keeps=setting.keeps,
            homes=setting.homes,
        )

    def converse(self, request: Request, *, spent_before: Mapping[str, Any] | None = None) -> Conversation:
        told = money((spent_before or {}).get("told_usd"))
        return AcpConversation(self._preset, request, told_usd=told if request.session else None)

    def spent(self, conversation: Conversation) -> Mapping[str, Any]:
        told = conversation.told_usd if isinstance(conversation, AcpConversation) else None
        return {} if told is None else {"told_usd": told}

    def advice(self) -> str:
        return self._preset.advice


def _packaged_version(program: Path) -> str:
    """By the npm package that the program is part of, which costs no start of it: that takes some CLIs seconds."""
    for folder in program.parents:
        above = folder.parent.parent if folder.parent.name.startswith("@") else folder.parent
        if above.name == "node_modules":
            try:
                return text(mapping(json.loads((folder / "package.json").read_text("utf-8"))).get("version"))
            except (OSError, ValueError):
                return ""
    return ""
