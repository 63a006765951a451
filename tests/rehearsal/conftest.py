"""A rehearsal server for the tests of one module; each test's run has a name and a script of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from touchline.rehearsal.server import RehearsalServer, serving


@pytest.fixture(scope="module")
def server() -> Iterator[RehearsalServer]:
    with serving() as running:
        yield running
