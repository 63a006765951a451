"""`touchline --version`, alone and as JSON."""

from __future__ import annotations

import json
import platform

from tests.cli.command import touchline

from touchline import __version__
from touchline.cli.version_output import newest_revision


def test_one_line() -> None:
    done = touchline("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"touchline {__version__}\n", "")


def test_json_says_what_runs_here() -> None:
    told = json.loads(touchline("--version", "--json").stdout)
    assert (told["schema"], told["version"]) == ("touchline.version/1", __version__)
    assert told["python"]["version"] == platform.python_version()
    assert {"claude", "codex", "gemini", "opencode", "scripted"} <= set(told["agents"])
    assert told["packages"]["typer"]
    assert set(told["platform"]) == {"system", "release", "machine"}


def test_the_revision_is_the_one_that_databases_get(database_url: str) -> None:
    from tests.cli.command import made

    from touchline.store.migrate import schema_of

    with made(database_url) as database:
        assert schema_of(database).revision == newest_revision()
