"""How is a validation carried out? Each check of the level in the sandbox, one by one, within the level's time.

Nothing passes by default: what is not there is said, what could not run is an error, what was cut off proves nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from touchline.agents.port import Level as Confinement
from touchline.errors import DatabaseUnreachable, TouchlineError
from touchline.roles.validation.discovery import find_checks, look_at
from touchline.roles.validation.levels import SCOPES, CheckKind, Level
from touchline.roles.validation.results import CheckResult, Outcome, judged, not_run

READ = 200_000
"""Bytes of a check's output that are read; summaries stand at its end, and the file is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where checks are run."""

    workspace: Path
    confinement: Confinement
    env: Mapping[str, str]
    """What the checks see: already cleaned of secrets (`agents.environment`)."""
    records: Path
    """For ending what a crash left behind."""
    outputs: Path
    """Where the output of each check is kept."""
    network: bool = True
    must_stop: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What a validation showed."""

    level: Level
    results: tuple[CheckResult, ...]
    absent: tuple[CheckKind, ...]
    """Kinds of checks the level looks for and the repository does not have."""

    @property
    def outcome(self) -> Outcome:
        """Passed when all that was checked passed, tests too where the level asks for them; else the worst seen."""
        shown = {result.outcome for result in self.results}
        if "unit" in self.absent:
            # That the code can be parsed is no proof of what it does.
            shown.add(Outcome.UNVERIFIED)
        for worst in (Outcome.FAILED, Outcome.ERROR, Outcome.UNVERIFIED):
            if worst in shown:
                return worst
        return Outcome.PASSED if shown else Outcome.UNVERIFIED

    def to_json(self) -> dict[str, Any]:
        return {
            "level": str(self.level),
            "outcome": str(self.outcome),
            "results": [asdict(result) for result in self.results],
            "absent": list(self.absent),
        }


def run_command(
    command: str, site: Site, *, name: str, seconds: float, expected: str = "", kind: CheckKind | None = None
) -> CheckResult:
    """Run one command and say what it showed. Never raises for what the command does; DatabaseUnreachable when nobody
    could be asked whether it is still wanted."""
    from touchline.agents.sandbox import confined_command
    from touchline.processes.children import run_process

    if not command.strip():
        return not_run(name, "There is no command to run.")
    output = site.outputs / f"{name.replace('/', '-')}.log"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.unlink(missing_ok=True)
    try:
        launch = confined_command(
            ("/bin/sh", "-c", command),
            level=site.confinement,
            workspace=site.workspace,
            env=site.env,
            network=site.network,
        )
        ended = run_process(
            launch.argv,
            records=site.records,
            cwd=launch.cwd or site.workspace,
            env={**site.env, **launch.env},
            output=output,
            timeout=seconds,
            must_stop=site.must_stop,
        )
        text = _end_of(output)
    except DatabaseUnreachable:
        raise  # says nothing about the command, which the caller runs again
    except (TouchlineError, OSError) as error:
        return not_run(name, f"It could not be run: {error}", command=command, outcome=Outcome.ERROR)
    return judged(
        name=name,
        command=command,
        how=ended.how,
        exit_code=ended.exit_code,
        output=text,
        seconds=ended.seconds,
        expected=expected,
        kind=kind,
        output_path=str(output),
    )


def validate(
    level: Level, site: Site, *, given: Mapping[str, str] | None = None, seconds: float | None = None
) -> Validation:
    """Run what the repository has for the level. `given` are commands a person declared, by kind."""
    scope = SCOPES[level]
    left = scope.seconds if seconds is None else seconds
    checks = {check.kind: check for check in find_checks(site.workspace, given=given, languages=_languages(site))}
    results: list[CheckResult] = []
    for kind in scope.kinds:
        check = checks.get(kind)
        if check is None:
            continue
        if left <= 0:
            results.append(not_run(kind, "The level's time was over before it.", command=check.command))
            continue
        began = time.monotonic()
        results.append(run_command(check.command, site, name=kind, seconds=left, kind=kind))
        left -= time.monotonic() - began
    return Validation(
        level=level, results=tuple(results), absent=tuple(kind for kind in scope.kinds if kind not in checks)
    )


def _languages(site: Site) -> Mapping[str, int]:
    return look_at(site.workspace).languages


def _end_of(path: Path) -> str:
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - READ))
        return file.read().decode("utf-8", "replace")
