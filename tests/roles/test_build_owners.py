"""Two builds share a file only within one repository, and what belongs to somebody else is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.roles.yard import code_turns, opened, sh, task, waits_for, writes
from tests.sessions.house import repository

from touchline.coordination.leases import file_resource
from touchline.coordination.ownership import own, transfer
from touchline.roles.build.controlling import resume_build
from touchline.roles.build.overview import overview_of

pytestmark = pytest.mark.timeout(120)


def test_files_of_one_name_in_two_repositories_are_two(tmp_path: Path) -> None:
    with opened(tmp_path) as yard:
        here = yard.meeting()
        held = (sh(f"touch {here}/begun"), waits_for(here / "go"), *writes("setup.cfg"))
        first = yard.start((task("T-001", "setup.cfg"),), code_turns("T-001", *held), plan=False)
        yard.until((here / "begun").exists, "the first build has the file")
        yard.repo = repository(tmp_path / "another")
        second = yard.start((task("T-001", "setup.cfg"),), code_turns("T-001", *writes("setup.cfg")), plan=False)
        assert yard.end(second).status == "complete"
        assert not yard.build(first).ended
        (here / "go").touch()
        assert yard.end(first).status == "complete"


def test_what_belongs_to_somebody_else_ends_the_build_with_that_reason(tmp_path: Path) -> None:
    with opened(tmp_path) as yard:
        resource = file_resource("owned.py", yard.repo)
        with yard.database.writing() as connection:
            own(connection, resource, "Ann")
        id = yard.start((task("T-001", "owned.py"),), code_turns("T-001", *writes("owned.py")), plan=False)
        build = yard.end(id)
        assert (build.status, build.reason) == ("stopped", "nothing_ready")
        with yard.database.reading() as connection:
            assert overview_of(connection, id).tasks[0].waits == "its file belongs to Ann"
        with yard.database.writing() as connection:
            transfer(connection, resource, to=id)
        resume_build(yard.engine, yard.database, id)
        assert yard.end(id).status == "complete"
