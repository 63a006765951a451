"""A task whose file became another's while it was checked changes nothing: its lease is looked at when it merges."""

from __future__ import annotations

from pathlib import Path
from subprocess import CalledProcessError

import pytest
from tests.roles.yard import code_turns, opened, task, waits_for, writes

from touchline.coordination.leases import Granted, acquire, all_leases, file_resource, release
from touchline.errors import LeaseError
from touchline.roles.build.leasing import still_leased, token_of
from touchline.roles.build.site import workshop_of
from touchline.sessions.room import current_room

pytestmark = pytest.mark.timeout(240)


def test_a_task_that_lost_its_file_to_another_is_not_merged(tmp_path: Path) -> None:
    with opened(tmp_path / "yard") as yard:
        here = yard.meeting()
        # The agent's own run passes at once; Touchline's, in a clone of its own, waits.
        waits = f"(touch {here}/checking; while ! test -e {here}/go; do sleep 0.1; done)"
        check = f"test -f lost.py && (test -e {here}/mine || {waits})"
        shell = f"touch {here}/mine; {check}; rm {here}/mine"
        id = yard.start(
            (task("T-001", "lost.py", check=check),), code_turns("T-001", *writes("lost.py", check=shell)), plan=False
        )
        yard.until((here / "checking").exists, "Touchline's own check")
        row = yard.tasks(id)["T-001"]
        resource = file_resource("lost.py", yard.repo)
        release(yard.database, holder=row.holder)
        rival = acquire(yard.database, holder="rival", resources=[resource])
        assert isinstance(rival, Granted)
        (here / "go").touch()
        failed = yard.until(lambda: yard.events(id, "task.failed"), "the task fails")
        assert failed[0].payload["reason"] == "lease_error"
        assert "rival has it now" in failed[0].payload["detail"]
        assert yard.end(id).reason == "escalated"
        assert not yard.events(id, "task.completed")
        with pytest.raises(CalledProcessError):
            yard.git("cat-file", "-e", "HEAD:lost.py", at=workshop_of(yard.build(id), current_room()).path)


def test_a_lease_that_is_lost_while_the_merge_is_checked_is_seen_in_the_transaction_that_merges(tmp_path: Path) -> None:
    with opened(tmp_path / "yard") as yard:
        here = yard.meeting()
        # Beside the other task's file, which only a merge brings together with this one, the check waits.
        waits = f"(touch {here}/checking; while ! test -e {here}/go; do sleep 0.1; done)"
        check = f"test -f late.py && (! test -f early.py || {waits})"
        begins = waits_for(here / "merged")
        script = code_turns("T-001", begins, *writes("late.py", check=check)) + code_turns("T-002", *writes("early.py"))
        id = yard.start((task("T-001", "late.py", check=check), task("T-002", "early.py")), script, plan=False)
        yard.until(lambda: yard.events(id, "task.completed"), "the other task is merged")
        (here / "merged").touch()
        yard.until((here / "checking").exists, "the check of the merge")
        release(yard.database, holder=yard.tasks(id)["T-001"].holder)
        acquire(yard.database, holder="rival", resources=[file_resource("late.py", yard.repo)])
        (here / "go").touch()
        failed = yard.until(lambda: yard.events(id, "task.failed"), "the task fails")
        assert failed[0].payload["reason"] == "lease_error"
        yard.end(id)
        with pytest.raises(CalledProcessError):
            yard.git("cat-file", "-e", "HEAD:late.py", at=workshop_of(yard.build(id), current_room()).path)


def test_a_token_that_went_stale_while_the_merge_was_checked_is_refused_in_its_transaction(tmp_path: Path) -> None:
    with opened(tmp_path / "yard") as yard:
        script = code_turns("T-001", *writes("held.py"))
        id = yard.start((task("T-001", "held.py"),), script, plan=False)
        yard.end(id)
        row, room = yard.tasks(id)["T-001"], current_room()
        token = token_of(room, row)
        assert token_of(room, row) == token, "asked again, it is the same grant"
        with yard.database.writing() as connection:
            still_leased(connection, row, token)
        release(yard.database, holder=row.holder)
        acquire(yard.database, holder="rival", resources=[file_resource("held.py", yard.repo)])
        with pytest.raises(LeaseError, match="went to another grant"), yard.database.writing() as connection:
            still_leased(connection, row, token)
        with pytest.raises(LeaseError, match="rival has it now"):
            token_of(room, row)
        with yard.database.reading() as connection:
            assert [each.holder for each in all_leases(connection)] == ["rival"]
