"""What is no check of the work: what tells nothing of it, and what nobody waited for."""

from __future__ import annotations

import pytest
from tests.supervision.test_ledger import PASS, Did, edit, ledger, sh

from touchline.supervision.commands import kinds_of
from touchline.supervision.stop import classify

FIXED = "Fixed the bug."


@pytest.mark.parametrize(
    "line",
    [
        *(f"{tool} run {script}" for tool in ("npm", "yarn", "pnpm", "bun") for script in ("clean", "dev", "watch")),
        *(f"{tool} {script}" for tool in ("yarn", "pnpm", "bun") for script in ("serve", "start", "dev")),
        "npm start",
        "npm run build &",
        "cd web && npm run build > build.log 2>&1 &",
        "nohup python app.py &",
        "nohup make > make.log 2>&1 &",
        "nohup bash -c 'npm run build; python app.py' > out.log 2>&1 &",
        "setsid python app.py",
        "setsid nohup python app.py",
        "git bisect start",
        "git bisect bad",
        "claude mcp list",
        "claude -p 'Is it right?'",
        "neofetch",
        "npm run build --if-present",
        "npm test --if-present",
    ],
)
def test_what_tells_nothing_of_the_work_is_no_check_of_it(line: str) -> None:
    found = ledger(edit("a.py"), sh(line))
    assert not found.verified_after_last_edit
    assert classify(FIXED, ledger=found).rejected == ("unverified_edits",)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("npm run build", ""),
        ("npm run test:watch", "Tests:       2 passed, 2 total\n"),
        ("npm start & sleep 2; curl -s localhost:3000", "ok"),
        ("npm run build & wait", ""),
        ("python app.py > /tmp/out 2>&1 & sleep 5; cat /tmp/out", "4"),
        ("npm run build && nohup python app.py > out.log 2>&1", ""),
        ("nohup pytest -q", PASS),
        ("nohup make", ""),
        ("nohup python app.py", ""),
        ("nohup ./run_all.sh && echo ok", "ok"),
        ("setsid --wait python app.py", ""),
        ("git bisect run pytest", ""),
        ("npm test --if-present", "> app@1.0.0 test\n> node check.js\n"),
        ("npm run build --if-present", "> app@1.0.0 build\n"),
    ],
)
def test_what_is_waited_for_or_shown_is_a_check(line: str, text: str) -> None:
    assert ledger(edit("a.py"), sh(line, text)).verified_after_last_edit


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("npm run check:dev", {"lint"}),
        ("npm run start:check", {"lint"}),
        ("npm run dev:migrate", {"run"}),
        ("npm run start:dev", set()),
        ("make watch", set()),
        ("./bin/clean-data input.csv", {"run"}),
        ("./watch", {"run"}),
        ("./clean.sh", set()),
        ("./start.sh", set()),
        ("./start.sh input.csv", {"run"}),
        ("bash scripts/dev.sh", set()),
    ],
)
def test_a_server_or_a_cleaner_says_so_with_its_whole_name(line: str, kinds: set[str]) -> None:
    assert kinds_of(line) == kinds


def test_claude_code_says_in_words_that_nothing_was_printed() -> None:
    line = "npm test --if-present"
    assert not ledger(edit("a.py"), sh(line, "(Bash completed with no output)")).verified_after_last_edit


def test_a_log_of_what_goes_on_in_the_background_is_no_edit() -> None:
    assert ledger(edit("a.py"), sh("python app.py > server.log 2>&1 &")).last_edit == 0


BEGUN = sh("make docs > docs.log 2>&1 &", "[1] 719\n")


@pytest.mark.parametrize(
    ("later", "sound", "failed"),
    [
        (sh("ls", "[1]+  Done                    make docs > docs.log 2>&1\na.py\n"), True, False),
        (sh("ls", "[1]+  Exit 2                  make docs > docs.log 2>&1\na.py\n"), False, True),
        (sh("ls", "[1]+  Done                    make other > docs.log 2>&1\n"), False, False),
        (sh("ls", "[1]+  Running                 make docs > docs.log 2>&1 &\n"), False, False),
        (
            sh("echo '[1]+  Done   make docs > docs.log 2>&1'", "[1]+  Done   make docs > docs.log 2>&1\n"),
            False,
            False,
        ),
    ],
)
def test_a_shell_tells_with_a_later_command_how_its_job_ended(later: Did, sound: bool, failed: bool) -> None:
    found = ledger(edit("a.py"), BEGUN, later)
    assert found.verified_after_last_edit is sound
    assert found.commands[0].failed is failed


def test_an_agent_that_looks_and_one_that_validates() -> None:
    assert kinds_of("claude mcp list") == {"look"}
    assert kinds_of("claude plugin validate .") == {"lint"}
