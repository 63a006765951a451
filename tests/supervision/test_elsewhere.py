"""What a nested shell does, here or on another machine, and where its output goes."""

from __future__ import annotations

import pytest
from tests.supervision.test_ledger import PASS, edit, ledger, sh

from touchline.supervision.commands import kinds_of, plan_of
from touchline.supervision.shell_writes import shell_changes
from touchline.supervision.stop import classify


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("ssh host cat x > src/conf.py", [("src/conf.py", "created")]),
        ("ssh host 'cd /srv && cat x' >> src/conf.py", [("src/conf.py", "changed")]),
        ("ssh host 'cat x > /srv/conf.py'", []),
        ("ssh host 'rm x; cat y > z.py' > src/conf.py", [("src/conf.py", "created")]),
        ("bash -c 'cat x; cat y' > src/conf.py", [("src/conf.py", "created")]),
        ("bash -c 'cat x > a.py' > src/conf.py", [("a.py", "created"), ("src/conf.py", "created")]),
        ("bash -c 'ssh host cat x > a.py'", [("a.py", "created")]),
        ("bash -c 'pytest; echo done' > report.txt", []),
        ("ssh host pytest > report.txt", []),
        ("ssh host cat x > /dev/null", [("/dev/null", "created")]),
    ],
)
def test_the_output_of_a_nested_shell_is_sent_to_a_file_here(line: str, changes: list[tuple[str, str]]) -> None:
    assert [(c.path, c.what) for _, c in shell_changes(plan_of(line))] == changes


def test_a_file_filled_from_another_machine_calls_for_a_proof() -> None:
    done = [edit("a.py"), sh("pytest", PASS), sh("ssh host cat x > src/conf.py")]
    assert classify("Fixed the bug.", ledger=ledger(*done)).rejected == ("unverified_edits",)
    done[2] = sh("ssh host 'cat x > src/conf.py'")
    assert not classify("Fixed the bug.", ledger=ledger(*done)).rejected


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("ssh host \"python3 -c \\\"open('/srv/a.py','w')\\\"\"", {"run"}),
        ("echo \"open('a.py','w')\" | ssh host python3", {"look", "run"}),
        ('ssh host "bash -c \\"python3 -c \\\\\\"open(\'a.py\',\'w\')\\\\\\"\\""', {"run"}),
        ("bash -c \"python3 -c \\\"open('a.py','w')\\\"\"", {"run", "edit"}),
        ("ssh host ls && python3 -c \"open('a.py','w')\"", {"look", "run", "edit"}),
    ],
)
def test_a_program_that_writes_on_another_machine_edits_nothing_here(line: str, kinds: set[str]) -> None:
    assert kinds_of(line) == kinds
    assert bool(shell_changes(plan_of(line))) is ("edit" in kinds)
