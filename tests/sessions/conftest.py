"""One running engine for all tests of a file: starting it costs more than most sessions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.sessions.house import House, opened


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with opened(tmp_path_factory.mktemp("house")) as made:
        yield made
