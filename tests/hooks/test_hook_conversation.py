"""In a conversation the person's word holds: what they asked for, and no more, is what the coach wants too."""

from __future__ import annotations

from typing import Any

import pytest
from tests.hooks.agent import Agent

from touchline.hooks.subagents import joined
from touchline.supervision.evidence import Ledger

LOOK = ("Bash", {"command": "grep -rn users ."}, "a.py:1")
PLAN = "Plan:\n1. First, I will add the column.\n2. Then I'll backfill it.\n3. Finally I'll drop the old one."
STEP = "Step 1 is done: the tables are renamed. Next I will do step 2 (drop the old tables)."
UNCHECKED = "I changed the parser. I have not run the tests: pytest is not installed."


def turn(agent: Agent, prompt: str, calls: list[tuple[str, dict[str, Any], str]], words: str, **fields: Any) -> Any:
    """A prompt, calls that went well, and a stop: why the agent is sent back, or None."""
    agent.prompted(prompt)
    agent.tell("UserPromptSubmit", prompt=prompt)
    for call in calls:
        agent.called(*call)
    return agent.stop(words, **fields)


def edit(path: str = "parser.py") -> tuple[str, dict[str, Any], str]:
    return "Edit", {"file_path": f"/r/{path}", "old_string": "a", "new_string": "b"}, "The file has been updated."


def shell(command: str, printed: str = "") -> tuple[str, dict[str, Any], str]:
    return "Bash", {"command": command}, printed


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("Make a plan for the migration, do not start yet", PLAN),
        ("Make a plan for the migration", "The plan: a column, a backfill, a drop. I'll begin with the column."),
        ("How would you migrate it", PLAN),
        ("Do step 1 of TODO.md only, then stop.", STEP),
        ("Do step 1 of TODO.md and wait for me", "The tables have new names. Next I will drop the old ones."),
        ("Carry on with TODO.md", STEP),
        ("Start the dev server", "The server listens on port 3000. I'll keep it running in the background."),
        ("Remember that we use tabs", "Noted. I'll remember that you use tabs."),
        ("Run the tests and tell me the result", "3 of 12 tests fail: test_a, test_b and test_c."),
    ],
)
def test_a_report_is_not_answered_with_go_on(agent: Agent, prompt: str, words: str) -> None:
    assert turn(agent, prompt, [LOOK], words) is None


def test_nor_is_a_plan_in_plan_mode(agent: Agent) -> None:
    assert turn(agent, "Look into the parser", [LOOK], "I will now rewrite the parser.", permission_mode="plan") is None
    assert turn(agent, "/do-plan the parser", [LOOK], "I will now rewrite the parser.") is None


@pytest.mark.parametrize(
    "words",
    [
        "I will now run the tests.",
        "The cause is the pager. Let me mend it now.",
        "I renamed the tables. Now let me run the tests:",
        "Next, I'll look at the callers…",
    ],
)
def test_who_breaks_off_before_its_own_next_step_goes_on(agent: Agent, words: str) -> None:
    assert turn(agent, "Find out why the pager drops a page, and mend it", [LOOK], words) == "continue"


@pytest.mark.parametrize(
    "prompt",
    [
        "Do not change the public API. Fix the bug.",
        "Don't touch the tests; fix the parser",
        "The parser reads only the first line; fix it",
        "It should stop when loading is done",
        "Make the plan page load faster",
        "Plan the migration and implement it",
    ],
)
def test_words_that_hold_nothing_back_do_not(agent: Agent, prompt: str) -> None:
    assert turn(agent, prompt, [LOOK], "I will now rewrite it.") == "continue"


def test_an_edit_that_a_person_knows_of_is_not_asked_about_in_every_turn_that_follows(agent: Agent) -> None:
    assert turn(agent, "Fix the parser", [edit()], UNCHECKED) is None
    commit = shell("git commit -qam 'Fix parser' && git log -1 --oneline", "1a2b3c4 Fix parser")
    assert turn(agent, "I ran them, they pass. Commit it.", [commit], "Done. Committed as 1a2b3c4.") is None
    assert turn(agent, "Now update the README", [edit("README.md")], "I updated the README.") is None
    assert turn(agent, "Thanks!", [], "You're welcome! The parser is fixed and committed.") is None
    assert turn(agent, "What is next?", [LOOK], "The pager is next: it drops the last page.") is None


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ([LOOK], "I looked once more: the parser is fixed."),
        ([shell("git stash"), shell("git stash pop")], "Done. I fixed the parser."),
        ([shell("npm install", "added 3 packages")], "The packages are in, and the parser is fixed."),
        ([], "You're welcome. All tests pass."),
        ([edit("README.md")], "The README is new, and I verified the parser."),
        ([edit("lexer.py")], "I changed the lexer too."),
        ([edit("README.md"), edit("lexer.py")], "I changed the lexer and its documentation."),
    ],
    ids=[
        "said again after a look",
        "files moved by git",
        "its outcome beside another deed",
        "a check that was not",
        "another check",
        "another edit",
        "code beside prose",
    ],
)
def test_but_who_takes_it_up_again_is(agent: Agent, calls: list[Any], words: str) -> None:
    assert turn(agent, "Fix the parser", [edit()], UNCHECKED) is None
    assert "[System Coach]" in turn(agent, "Go on", calls, words)


CHORES = [
    (shell("git checkout main && git pull", "Fast-forward"), "Done. You are on `main`, up to date with origin."),
    (shell("gh pr merge 3 --squash", "Squashed and merged"), "Done. The pull request 3 is merged."),
    (shell("gh issue create -t x", "https://example.org/issues/4"), "Done. I created the issue."),
    (shell("npm install", "added 100 packages"), "Done. All dependencies are installed."),
    (shell("git stash", "Saved working directory"), "Done. I have stashed your changes."),
    (shell("git checkout -- src/a.py"), "Done. I have restored src/a.py."),
    (shell("git cherry-pick 1a2b3c4", "[main 5d6e7f8] Fix"), "Done. The commit is applied to main."),
    (shell("mkdir -p out && chmod +x run.sh"), "Done. run.sh is executable now."),
    (("mcp__linear__create_issue", {"title": "x"}, "ABC-1"), "Done. I created the ticket ABC-1."),
    (("mcp__notion__update_page", {"page_id": "1"}, "ok"), "Done. I updated the page."),
    (("mcp__slack__post_message", {"text": "hi"}, "ok"), "Done. I have posted the message."),
]


@pytest.mark.parametrize(("call", "words"), CHORES, ids=[f"{c[0]} {c[1].get('command', '')}" for c, _ in CHORES])
def test_a_chore_that_went_well_needs_no_other_check(agent: Agent, call: Any, words: str) -> None:
    assert turn(agent, "Please do that for me", [call], words) is None


@pytest.mark.parametrize(
    "calls",
    [
        [],
        [LOOK],
        [("mcp__linear__get_issue", {"id": "1"}, "ABC-1")],
        [("TodoWrite", {"todos": []}, "ok")],
        [edit(), shell("git stash", "Saved")],
        [shell("cd src"), shell("sleep 1")],
        [("mcp__serena__write_memory", {"name": "x"}, "ok")],
        [("mcp__morph__apply_edit", {"instructions": "x"}, "ok")],
        [("mcp__linear__create_issue", {"title": "x"}, "Error: forbidden")],
        [("mcp__jetbrains__replace_specific_text", {"pathInProject": "src/a.py", "newText": "x"}, "ok")],
    ],
    ids=[
        "nothing",
        "a look",
        "a look elsewhere",
        "a list",
        "an edit that was put away",
        "moving about",
        "a memory",
        "files in an unknown way",
        "a refusal",
        "an editor's edit",
    ],
)
def test_work_that_was_not_done_or_not_shown_is_sent_back(agent: Agent, calls: list[Any]) -> None:
    assert "[System Coach]" in turn(agent, "Fix the pager", calls, "Done. I fixed the pager.")


def test_a_chore_that_failed_is_none(agent: Agent) -> None:
    agent.prompted("Merge it")
    agent.called("Bash", {"command": "gh pr merge 3"}, "not mergeable", failed=True)
    assert agent.stop("Done. I have merged the changes.") is not None


@pytest.mark.parametrize(
    ("prompt", "words", "passes"),
    [
        ("Change the port. Don't run the tests, I do that myself.", "Done. The default port is now 9000.", True),
        ("Change the port, no need to test it", "Done. I changed the default port.", True),
        ("Change the port. I'll check it locally.", "I changed the default port.", True),
        ("Change the port", "I changed it. As you asked, I ran nothing.", True),
        ("Change the port", "Fixed. Please run the tests on your machine: the database is only there.", True),
        ("Change the port", "Done. I changed the default port.", False),
        ("Change the port. Don't run the tests.", "I changed the port, and all tests pass.", False),
        ("Change the port. Don't run the tests.", "I changed the port, and pushed it.", False),
        ("Run the tests after you changed the port", "I changed the default port.", False),
        ("Change the port so that it starts without running into errors", "I changed the default port.", False),
        ("Change the port, and do not check in the old file", "I changed the default port.", False),
        ("When I run the tests locally they fail. Change the port.", "I changed the default port.", False),
        ("Change the port, and don't skip the tests", "I changed the default port.", False),
        ("We never check the port: change that", "I changed the default port.", False),
        ("Do not build your own parser. Change the port.", "I changed the default port.", False),
        ("Change the port. Don't run the linter, just run the tests.", "I changed the default port.", False),
        ("Change the port without running anything.", "I changed the default port.", True),
    ],
)
def test_who_was_told_not_to_check_is_not_told_to(agent: Agent, prompt: str, words: str, passes: bool) -> None:
    assert (turn(agent, prompt, [edit("settings.py")], words) is None) is passes


def test_what_a_helper_did_is_done_for_who_called_it() -> None:
    both = joined(Ledger(calls=2, deeds=(1,)), Ledger(calls=1, deeds=(0,)))
    assert (both.calls, both.deeds) == (3, (1, 2))
