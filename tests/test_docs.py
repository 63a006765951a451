"""Documentation says what the code does: every command, option, reason, number and link."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest

from touchline.settings.sections import AgentSection
from touchline.supervision.coach import Tier
from touchline.supervision.contract import TokenType
from touchline.supervision.facts import Ended, FaultKind
from touchline.supervision.phases import Need, phases
from touchline.supervision.stops import Kind, Rejection, Standing

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def text(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_reasons_rules_and_numbers_are_as_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/reference.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_new_end_of_a_session_or_an_attempt_must_be_told_of(tmp_path: Path) -> None:
    """Words beside `reason` that no list knows stop the script that writes the page."""
    source = tmp_path / "touchline"
    shutil.copytree(ROOT / "src" / "touchline" / "sessions", source / "sessions")
    shutil.copytree(ROOT / "src" / "touchline" / "roles" / "build", source / "roles" / "build")
    line = "import sys; from pathlib import Path; from ends import check; check(Path(sys.argv[1]))"

    def checked() -> str:
        command = [sys.executable, "-c", line, str(source)]
        return subprocess.run(command, cwd=ROOT / "scripts", capture_output=True, text=True, check=False).stderr

    assert checked() == ""
    for file, code in (
        ("sessions/new.py", 'EATEN = "eaten"\nmove(reason=EATEN if late else word)\n'),
        ("sessions/new.py", 'done = _error("eaten", "by the dog")\n'),
        ("roles/build/new.py", 'done = ended | {"how": "failed", "reason": "eaten"}\n'),
    ):
        (source / file).write_text(code)
        assert "not told of in scripts/ends.py: ['eaten']" in checked()
        (source / file).unlink()


def test_every_end_that_counts_as_a_failed_validation_is_documented() -> None:
    from touchline.roles.build.failures import Failure
    from touchline.roles.build.scheduling import _KINDS

    said = re.search(
        r"A session that ends without a good result.*?counts as `validation`", text("reference/builds.md"), re.DOTALL
    )
    assert said is not None
    counted = {word for word, kind in _KINDS.items() if kind is Failure.VALIDATION}
    assert set(re.findall(r"`(\w+)`", said[0])) == counted
    reasons = text("reference/reasons.md")
    assert [word for word in counted - set(Failure) if f"| `{word}` |" not in reasons] == []


def test_every_command_and_option_is_documented() -> None:
    from touchline.cli.loading import root

    page = text("reference/commands.md")
    top = root()
    commands: dict[str, Any] = {}
    for name, command in top.commands.items():
        commands[name] = command
        commands |= {f"{name} {under}": each for under, each in getattr(command, "commands", {}).items()}
    assert set(commands) >= {"audit", "decide", "demo", "db status", "events follow", "worker", "doctor"}
    assert [name for name in commands if f"## `touchline {name}" not in page] == []
    lacking = [
        f"{name} {option}"
        for name, command in commands.items()
        for parameter in command.params
        for option in parameter.opts
        if option.startswith("--") and f"`{option}" not in _section(page, name)
    ]
    assert lacking == []
    assert [o for each in top.params for o in each.opts if o.startswith("--") and f"touchline {o}" not in page] == []


def _section(page: str, command: str) -> str:
    """What the page says under a command's own heading, and above it where the heading of its group does."""
    parts = re.split(r"^##+ `touchline ", page, flags=re.MULTILINE)
    wanted = {command, command.partition(" ")[0]}
    return "\n".join(part for part in parts[1:] if re.split(r"[`\[ ](?=[A-Z`\[]|$)|`", part, maxsplit=1)[0] in wanted)


def test_every_exit_code_is_documented() -> None:
    from touchline.cli.exits import Exit

    page = text("reference/commands.md")
    for code in Exit:
        assert re.search(rf"^\| {int(code)} \|", page, re.MULTILINE), code


def test_no_command_promises_an_exit_code_that_there_is_not() -> None:
    from touchline.cli.exits import Exit
    from touchline.cli.loading import root

    page = text("reference/commands.md")
    told = re.findall(r"[Ee]xit codes? (\d+)", page) + re.findall(r"^\| (\d+)(?:, (\d+))? \|", page, re.MULTILINE)
    codes = {code for each in told for code in ((each,) if isinstance(each, str) else each) if code}
    for command in root().commands.values():
        for each in (command, *getattr(command, "commands", {}).values()):
            _, _, listed = (each.help or "").partition("Exit codes:")
            codes |= {code for line in re.findall(r"^ *([\d, ]+)  ", listed, re.MULTILINE) for code in line.split(", ")}
    assert {"0", "1", "2", "3", "5", "143"} <= codes
    assert {int(code) for code in codes} <= set(Exit)


def test_advice_to_install_works() -> None:
    """No index has the package, and a Debian refuses `pip install` outside of an environment."""
    from touchline.own_package import how_to_install

    files = [file for file in [*PAGES, *(ROOT / "src").rglob("*.py")] if file.name != "own_package.py"]
    said = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    right = re.compile(
        r"(pipx install|\.venv/bin/pip install|python3 -m pip install --quiet)( --force)? ('?\.|--disable)"
    )
    advice = [line for line in [*said, how_to_install(), how_to_install("fast")] if re.search(r"pipx? install\b", line)]
    assert len(advice) > 6
    assert [line for line in advice if len(right.findall(line)) != len(re.findall(r"pipx? install\b", line))] == []


def test_every_folder_of_the_user_is_documented() -> None:
    page = text("reference/commands.md")
    code = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py"))
    used = set(re.findall(r"\bXDG_\w+_HOME\b", code))
    assert used >= {"XDG_CONFIG_HOME", "XDG_CACHE_HOME"}
    assert {name for name in used if not re.search(rf"^\| `{name}` \|", page, re.MULTILINE)} == set()


@pytest.mark.parametrize(
    "words",
    [
        list(Kind),
        list(Standing),
        list(Ended),
        get_args(Rejection),
        get_args(FaultKind),
        get_args(TokenType),
        get_args(Tier),
    ],
    ids=["kinds", "standings", "ends", "rejections", "faults", "tokens", "tiers"],
)
def test_every_word_of_the_situation_is_documented(words: list[str]) -> None:
    page = text("reference/decide-json.md")
    assert [word for word in words if f"`{word}`" not in page] == []


def test_every_need_of_a_phase_is_documented() -> None:
    page = text("how-to/add-a-phase.md")
    assert [need for need in get_args(Need) if f"`{need}`" not in page] == []
    assert {need for phase in phases().values() for need in phase.needs} <= set(get_args(Need))


def test_every_setting_of_an_agent_is_named_on_the_page_of_agents() -> None:
    """Other sections have a table that is written from the code; here a sentence names them."""
    sentence = re.search(r"`\[agents\.NAME\]`.*?\.\n", text("reference/agents.md"), re.DOTALL)
    assert sentence is not None
    assert re.findall(r"`([a-z]+)`", sentence[0]) == [each.name for each in fields(AgentSection)]


def test_the_library_page_names_the_whole_face() -> None:
    import touchline

    page = text("reference/library.md")
    assert [name for name in touchline.__all__ if f"`{name}" not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor and file.suffix == ".md":
            heads = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in heads}
            assert anchor in slugs, f"{page.name}: {target}"


def test_the_readme_example_runs_as_it_says() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command = re.search(r"\$ (echo '\{.*?\}' \| touchline decide)", readme, re.DOTALL)
    assert command is not None
    given = re.search(r"echo '(.*)' \|", command[1], re.DOTALL)
    assert given is not None
    done = subprocess.run(
        [sys.executable, "-m", "touchline", "decide"], input=given[1], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert '"action": "continue"' in done.stdout
    assert '"contradicted"' in done.stdout
