"""An edit that a program makes calls for proof like any other, and is not its own."""

from __future__ import annotations

import pytest
from tests.supervision.test_ledger import PASS, Did, edit, ledger, sh

from touchline.supervision.stop import classify

FIXED = "Fixed the bug."
FIX = "s = open('a.py').read()\nopen('a.py', 'w').write(s.replace('a', 'b'))\n"
HEREDOC = f"python3 - <<'EOF'\n{FIX}EOF"


def write(path: str, content: str) -> Did:
    return "Write", {"file_path": path, "content": content}, "File created.", None


@pytest.mark.parametrize(
    "done",
    [
        [sh(HEREDOC)],
        [sh(f'python3 -c "{FIX}"')],
        [sh("node -e \"fs.writeFileSync('a.js', '')\"")],
        [edit("a.py"), sh(HEREDOC)],
        [edit("a.py"), sh("pytest", PASS), sh(HEREDOC)],
        [write("/tmp/fix.py", FIX), sh("python3 /tmp/fix.py", "done")],
        [sh(f"cat > /tmp/fix.py <<'E'\n{FIX}E\npython3 /tmp/fix.py", "done")],
        [sh(f"cat > /tmp/fix.py <<'E'\n{FIX}E"), sh("cd /tmp && python3 fix.py", "done")],
        [write("/tmp/fix.py", "print(1)"), edit("/tmp/fix.py", "print(1)", FIX), sh("python3 /tmp/fix.py")],
        [("execute_ipython_cell", {"code": FIX}, "", None)],
    ],
)
def test_a_program_that_writes_is_an_edit_and_not_its_own_proof(done: list[Did]) -> None:
    if "cd /tmp" in str(done):
        done[0] = sh(str(done[0][1]["command"]).replace("'a.py'", "'/repo/a.py'"))
    found = ledger(*done)
    assert found.last_edit == len(done) - 1
    assert not found.verified_after_last_edit
    assert classify(FIXED, ledger=found).rejected == ("unverified_edits",)
    proved = ledger(*done, sh("pytest -q", PASS))
    assert not classify(FIXED, ledger=proved).rejected


@pytest.mark.parametrize(
    "last",
    [
        sh(f"{HEREDOC} && pytest -q".replace("EOF && pytest -q", "EOF\npytest -q"), PASS),
        sh(f"python3 - <<'EOF' && pytest -q\n{FIX}EOF", PASS),
        sh(f"cat > /tmp/fix.py <<'E'\n{FIX}E\npython3 /tmp/fix.py && pytest -q", PASS),
    ],
)
def test_the_same_line_may_check_what_it_wrote(last: Did) -> None:
    found = ledger(last)
    assert found.last_edit == 0
    assert not classify(FIXED, ledger=found).rejected


@pytest.mark.parametrize(
    "run",
    [
        sh('python3 -c "import app; print(app.f(2))"', "4"),
        sh("python3 - <<'E'\nimport app\nprint(app.f(open('in.txt').read()))\nE", "4"),
        sh("python3 - <<'E'\nimport app\nopen('/tmp/out.txt', 'w').write(app.f(2))\nE"),
        sh("python3 - <<'E'\nimport app\ntmp='/tmp/out.json'; open(tmp,'w').write(app.f(2))\nE"),
        sh("python3 - <<'E'\nimport app\ndb='/tmp/test.db'; app.f(db); os.unlink(db)\nE"),
        sh("cat > /tmp/try.py <<'E'\nimport app\nopen('/tmp/out', 'w').write(app.f(2))\nE\npython3 /tmp/try.py"),
        sh("cat > /tmp/try.py <<'E'\nimport app\nprint(app.f(2))\nE\npython3 /tmp/try.py", "4"),
        sh("node -e \"console.log(require('./app').f(2))\"", "4"),
    ],
)
def test_a_program_that_only_runs_the_work_stays_a_run_of_it(run: Did) -> None:
    found = ledger(edit("a.py"), run)
    assert found.last_edit == 0
    assert not classify(FIXED, ledger=found).rejected


def test_a_scratch_place_is_the_work_when_the_work_lies_there() -> None:
    line = "python3 -c \"open('/tmp/ws/a.py', 'w').write('x')\""
    assert ledger(sh(line), cwd="/tmp/ws").last_edit == 0
    assert ledger(sh(line), cwd="/repo").last_edit is None


def test_a_program_that_failed_wrote_nothing_and_prose_calls_for_no_proof() -> None:
    assert ledger(sh(HEREDOC, "AssertionError", 1)).last_edit is None
    assert ledger(sh("python3 -c \"open('README.md', 'w').write('x')\"")).last_edit is None


def test_a_test_that_a_program_takes_away_is_missed() -> None:
    found = ledger(sh("python3 -c \"import os; os.remove('tests/test_a.py')\""), sh("pytest", PASS))
    assert found.weakened is not None


def test_a_script_of_the_workspace_is_the_work_itself() -> None:
    found = ledger(write("/repo/app.py", "open('out.json', 'w').write('x')\n"), sh("python3 app.py"))
    assert found.last_edit == 0
    assert found.verified_after_last_edit


@pytest.mark.parametrize(
    ("line", "rejected"),
    [
        ("python3 -c \"print('test: 12 passed in 0.4s')\"", True),
        ("python3 - <<'E'\nprint('12 tests passed in 0.4s')\nE", True),
        ("python3 -c \"print('tests/test_a.py\\n12 passed in 0.4s')\"", True),
        ('python3 -c "import pytest; pytest.main()"', False),
        ("./scripts/verify-all", False),
    ],
)
def test_words_in_a_program_are_no_name_of_a_test(line: str, rejected: bool) -> None:
    found = ledger(edit("a.py"), sh(line, "test: 12 passed in 0.4s\n"))
    assert bool(classify("All 12 tests pass.", ledger=found).rejected) is rejected
