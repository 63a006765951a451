"""A command in the real sandbox, started and ended as an agent is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from touchline.agents.environment import environment_for
from touchline.agents.port import Launch
from touchline.agents.sandbox import Probe, confine, probe
from touchline.processes.children import Child, start_child
from touchline.processes.limits import PROCESSES


@cache
def probed() -> Probe:
    return probe(os.environ)


def needs_bubblewrap() -> None:
    if not probed().bubblewrap:
        pytest.skip(f"bubblewrap cannot be used here: {probed().why_not}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A workspace, and all that a command in it is started with."""

    workspace: Path
    records: Path
    env: dict[str, str]

    def start(
        self,
        *argv: str,
        launch: Launch | None = None,
        read_only: bool = False,
        network: bool = True,
        processes: int = PROCESSES,
    ) -> Child:
        launch = launch or Launch(argv=argv)
        inside = confine(
            launch,
            level="bubblewrap",
            workspace=self.workspace,
            read_only=read_only,
            network=network,
            env=self.env,
        )
        env = {**environment_for(self.env, driver="claude"), **inside.env}
        return start_child(inside.argv, records=self.records, cwd=self.workspace, env=env, processes=processes)

    def run(self, *argv: str, launch: Launch | None = None, read_only: bool = False, network: bool = True) -> Done:
        with self.start(*argv, launch=launch, read_only=read_only, network=network) as child:
            assert child.stdout
            assert child.stderr
            out, err = child.stdout.read(), child.stderr.read()
            code = child.wait(20)
            assert code is not None
            child.end()
        return Done(code=code, out=out.decode(), err=err.decode())

    def sh(self, script: str, *, read_only: bool = False, network: bool = True) -> Done:
        return self.run("sh", "-c", script, read_only=read_only, network=network)


def cell_in(folder: Path, **more: str) -> Cell:
    """A workspace below a home that has a secret in it, with variables of which some are secrets."""
    home = folder / "home"
    workspace = home / "work" / "clone"
    workspace.mkdir(parents=True)
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_test").write_text("the-private-key")
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **more}
    return Cell(workspace=workspace, records=folder / "children", env=env)
