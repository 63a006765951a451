"""Killed while the engine makes its tables for the first time: the next start makes them, as if nothing had been."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.engine.zygote import Zygote

from touchline.engine.opening import connect_engine
from touchline.engine.workbook import Workbook
from touchline.store.place import Place


@pytest.fixture(scope="module")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    with Zygote(tmp_path_factory.mktemp("zygote") / "log") as made:
        yield made


def opened(url: str, *, dies_at: int) -> int:
    """In a process of its own: open the engine, and die right before the n-th change to its tables."""
    changes = 0

    @sa.event.listens_for(sa.Engine, "before_cursor_execute")
    def _(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        nonlocal changes
        changes += statement.split()[0].upper() in ("CREATE", "ALTER", "DROP", "INSERT", "UPDATE")
        if changes == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    connect_engine(Place(url=url, origin="given"), Workbook()).close()
    return 0


@pytest.mark.parametrize("change", [2, 3, 9, 30])
def test_half_made_tables_are_made_anew(zygote: Zygote, tmp_path: Path, change: int) -> None:
    url = f"sqlite:///{tmp_path / 'app.db'}"
    function = "tests.engine.test_first_tables.opened"
    assert zygote.run(function, url=url, dies_at=change) == -signal.SIGKILL
    assert zygote.run(function, url=url, dies_at=-1) == 0
