"""What a check prints is not taken for more than it is: a module of the project's own is no package, and a failing test
is no broken machine."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.roles.yard import DONE, Yard, code_turns, opened, sh, task, writes

from touchline.roles.build.failures import Failure, classify_failure
from touchline.roles.build.own_names import is_own
from touchline.roles.specification.task import TaskAction

pytestmark = [pytest.mark.timeout(120), pytest.mark.xdist_group("build-own-names")]
SEEN = "mkdir -p __pycache__ && touch __pycache__/seen"
"""A file that git leaves out: a check that looks for it passes where the agent works, and nowhere else."""


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with opened(tmp_path_factory.mktemp("yard")) as made:
        yield made


def test_a_module_that_the_agent_did_not_commit_is_its_own_fault(yard: Yard) -> None:
    check = "test -f __pycache__/seen || python3 -c 'import helper_mod'"
    forgets = f"{SEEN}; echo 1 > use.py; echo 'x = 1' > helper_mod.py; echo helper_mod.py >> .gitignore"
    mends = "{heard: did not pass when your supervisor ran it, calls: [{shell: ': > .gitignore'}]}"
    script = code_turns("T-001", sh(forgets), sh(check), DONE, mends, sh(check), DONE)
    build = yard.end(yard.start((task("T-001", "use.py", check=check),), script, plan=False))
    row = yard.tasks(build.id)["T-001"]
    assert (build.status, row.attempts) == ("complete", 2), (build.detail, row.ended)


def test_a_name_of_the_projects_own_is_never_installed(yard: Yard) -> None:
    """It stands in the index, where a stranger may have put it."""
    wheels = yard.meeting()
    with zipfile.ZipFile(wheels / "later_mod-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("later_mod.py", "x = 1\n")
        wheel.writestr("later_mod-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: later_mod\nVersion: 1.0\n")
        wheel.writestr(
            "later_mod-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr("later_mod-1.0.dist-info/RECORD", "")
    settings = yard.folder / "home" / ".config" / "pip" / "pip.conf"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"[global]\nno-index = true\nfind-links = {wheels}\n")
    check = "test -f __pycache__/seen || python3 -c 'import later_mod'"
    turns = (sh(f"{SEEN} && echo 1 > early.py"), sh(check), DONE, sh(check), DONE)
    tasks = (task("T-001", "early.py", check=check), task("T-002", "lib/later_mod.py", needs=("T-001",)))
    build = yard.end(yard.start(tasks, code_turns("T-001", *turns), plan=False, may_install=True))
    row = yard.tasks(build.id)["T-001"]
    assert (row.task.status, row.reason, row.attempts) == ("failed", "validation", 2), row.ended
    assert not list((yard.folder / "builds" / build.id / "outputs").glob("*-install.log"))


def test_a_check_that_speaks_of_git_does_not_stop_the_build(yard: Yard) -> None:
    says = "echo 'fatal: not a git repository (or any parent)'; echo 'FAILED test_error_message'; exit 1"
    tasks = (task("T-001", "", check=says, action=TaskAction.VERIFY), task("T-002", "goes_on.py"))
    build = yard.end(yard.start(tasks, code_turns("T-002", *writes("goes_on.py")), plan=False, parallel=1))
    assert build.reason == "tasks_open", build.detail
    rows = yard.tasks(build.id)
    assert (rows["T-001"].reason, rows["T-002"].task.status) == ("validation", "complete")


def test_counted_failures_are_the_works_and_our_own_git_is_the_machines() -> None:
    full = "OSError: No space left on device\n1 failed, 3 passed in 0.10s"
    assert classify_failure(full, exit_code=1, checked=True) is Failure.VALIDATION
    assert classify_failure("fatal: not a git repository") is Failure.ENVIRONMENT


def test_which_names_are_the_projects_own(tmp_path: Path) -> None:
    paths = ("src/shop_core/prices.py", "packages/web-ui/index.ts")
    for name in ("shop_core", "shop-core", "prices", "@acme/web-ui", "index"):
        assert is_own(name, paths), name
    for name in ("requests", "@types/node", "shop"):
        assert not is_own(name, paths), name
    (tmp_path / "src/shop_core").mkdir(parents=True)
    (tmp_path / "src/helper.py").touch()
    (tmp_path / ".venv/lib/requests").mkdir(parents=True)
    assert is_own("helper", paths, tmp_path), "also where git leaves it out"
    assert not is_own("requests", paths, tmp_path), "what was installed there is not"
