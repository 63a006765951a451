"""How is Codex found and started, and what does it say? `codex exec --json`, the prompt on standard input.

Settings (`Request.settings`): `env`, more variables for the process; `config`, overrides of its configuration by dotted
key; `disable`, features to switch off.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from touchline.agents.codex_program import native_program
from touchline.agents.driver_settings import checked_settings, program_files, texts_in, variables_in
from touchline.agents.port import Abilities, Conversation, Found, Heard, Launch, PrivateHome, Request
from touchline.agents.versions import ask_version, warning
from touchline.errors import InputError
from touchline.supervision.facts import Turn, Usage
from touchline.transcripts.codex import CodexRecords
from touchline.transcripts.ending import EndedBy
from touchline.transcripts.gathering import NO_USAGE
from touchline.transcripts.shapes import count, mapping, text
from touchline.transcripts.stream import Stream

LAUNCHER = (
    "Its native program was not found behind the Node launcher. Install it again: npm install -g @openai/codex@latest."
)

REFUSED = "patch rejected:"
"""On standard error only: of a patch that its sandbox refused the stream says nothing."""

WRITTEN = (
    *("sessions", "archived_sessions", "history.jsonl", "*.sqlite*", "log", "logs", "tmp", ".tmp", "cache"),
    *("shell_snapshots", "thread-writer-locks", ".sandbox*", "packages"),
)
"""What Codex writes down in its home as it works."""
CACHES = ("installation_id", "models_cache.json", "version.json")


class CodexConversation:
    """One run of `codex exec`. `before` is what the thread had spent: Codex only tells the sum."""

    def __init__(self, request: Request, before: Usage = NO_USAGE) -> None:
        self._request = request
        self._records = _Records(counted=before)
        # The stream does not tell it, and without it files in a workspace below /tmp would pass for scratch.
        self._records.turn.cwd = str(request.workspace)
        self._stream = Stream(self._records)
        self._before = before

    @property
    def over(self) -> bool:
        return self._records.over

    @property
    def session_id(self) -> str | None:
        return self._records.turn.session_id or self._request.session

    @property
    def thread_usage(self) -> Usage:
        """What the thread has spent in all, as far as it was told."""
        return self._before + self._records.turn.usage

    def open(self) -> bytes:
        return self._request.prompt.encode("utf-8", "replace")

    def hear(self, line: bytes) -> Heard:
        return Heard() if self.over else Heard(events=self._stream.feed(line))

    def say(self, _text: str) -> bytes | None:
        return None

    def interrupt(self) -> bytes | None:
        return None

    def finish(
        self, *, exit_code: int | None, signal: int | None = None, ended_by: EndedBy | None = None, errors: str = ""
    ) -> Turn:
        for line in errors.splitlines():
            if REFUSED in line:
                self._records.turn.fault("permission", line[line.index(REFUSED) :])
        if errors and not self.over:
            # An unknown session, a broken configuration: Codex says such things on standard error only.
            self._records.turn.fault("other", errors, fatal=bool(exit_code) and ended_by is None)
        return self._stream.finish(exit_code=exit_code, signal=signal, ended_by=ended_by)


class _Records(CodexRecords):
    """The stream's records; `over` after the turn's last one."""

    over = False

    def read(self, record: Mapping[str, Any]) -> bool:
        known = super().read(record)
        self.over = self.over or record.get("type") in ("turn.completed", "turn.failed")
        return known


class Codex:
    """Codex, by its `exec` command."""

    name = "codex"
    abilities = Abilities(schema=True, read_only=True, own_sandbox=True)

    def find(self, env: Mapping[str, str]) -> Found | None:
        where = shutil.which("codex", path=env.get("PATH", ""))
        if where is None:
            return None
        native = native_program(Path(where))
        path = native or Path(where)
        version = ask_version(path, env)
        known = warning(self.name, version)
        return Found(path=path, version=version, warning=known if native else f"{LAUNCHER} {known}".strip())

    def launch(self, request: Request, found: Found, env: Mapping[str, str]) -> Launch:
        settings = checked_settings(self.name, request.settings, known=("env", "config", "disable"))
        argv = [str(found.path), "exec", "--json", "--skip-git-repo-check"]
        if request.model:
            argv += ["--model", request.model]
        if request.confined:
            argv.append("--dangerously-bypass-approvals-and-sandbox")
        else:
            argv += ["--sandbox", "read-only" if request.read_only else "workspace-write"]
        for folder in request.folders:
            argv += ["--add-dir", str(folder)]
        schema = _schema_file(request)
        if schema is not None:
            argv += ["--output-schema", str(schema)]
        for key, value in variables_in(self.name, settings, "config").items():
            argv += ["--config", f"{key}={value}"]
        for feature in texts_in(self.name, settings, "disable"):
            argv += ["--disable", feature]
        argv += request.flags
        # The options above belong to `exec`; its `resume` takes fewer of its own.
        argv += ["resume", request.session, "-"] if request.session else ["-"]
        usual = _usual_home(env)
        return Launch(
            argv=tuple(argv),
            env={"CODEX_HOME": str(request.home or usual), **variables_in(self.name, settings)},
            talks=True,
            only_opens=True,
            needs=(*program_files(found.path), *((schema,) if schema else ())),
            keeps=(request.home,) if request.home else (),
            model=request.model or _configured_model(request, request.home or usual),
            homes=_private(request, usual),
        )

    def converse(self, request: Request, *, spent_before: Mapping[str, Any] | None = None) -> CodexConversation:
        told = mapping((spent_before or {}).get("thread_usage")) if request.session else {}
        fields = ("input", "output", "cache_read", "cache_write")
        return CodexConversation(request, Usage(**{name: count(told.get(name)) for name in fields}))

    def spent(self, conversation: Conversation) -> Mapping[str, Any]:
        if not isinstance(conversation, CodexConversation):
            return {}
        usage = conversation.thread_usage
        return {
            "thread_usage": {
                "input": usage.input,
                "output": usage.output,
                "cache_read": usage.cache_read,
                "cache_write": usage.cache_write,
            }
        }

    def advice(self) -> str:
        return "Install Codex: npm install -g @openai/codex@latest, then run `codex login`."


def _schema_file(request: Request) -> Path | None:
    """Codex reads the schema from a file only."""
    if request.schema is None:
        return None
    folder = request.scratch or request.home
    if folder is None:
        raise InputError("Codex needs a folder for the JSON schema.", hint="Give the request a scratch folder.")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "answer-schema.json"
    path.write_text(json.dumps(request.schema), encoding="utf-8")
    return path


def _configured_model(request: Request, home: Path) -> str:
    """Its stream never tells the model. What it takes when nobody names one is not known."""
    import tomllib

    over = mapping(request.settings.get("config")).get("model")
    try:
        words = f"model = {over}" if over else (home / "config.toml").read_text("utf-8")
        return text(tomllib.loads(words).get("model"))
    except (OSError, ValueError):
        return ""


def _private(request: Request, usual: Path) -> tuple[PrivateHome, ...]:
    if request.home is not None or request.keep is None:
        return ()
    return (
        PrivateHome(usual=usual, private=request.keep / "codex", own=WRITTEN, copied=CACHES, written=("auth.json",)),
    )


def _usual_home(env: Mapping[str, str]) -> Path:
    if env.get("CODEX_HOME"):
        return Path(env["CODEX_HOME"])
    return (Path(env["HOME"]) if env.get("HOME") else Path.home()) / ".codex"


driver = Codex()
