"""The build's pure rules: states, failures, stopping, readiness, and what goes into a prompt."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.errors import BuildError
from touchline.roles.build.context_budget import CUT_MARK, WORTH, Item, cut_to, estimate_tokens, fit
from touchline.roles.build.failures import Failure, classify_failure, decide_failure, missing_package
from touchline.roles.build.readiness import readiness
from touchline.roles.build.states import RETURNS, TABLE, State, check_move
from touchline.roles.build.stopping import Progress, StopReason, why_stop
from touchline.roles.specification.task import Task, TaskAction


def task(id: str, **also: object) -> Task:
    given = {"phase": "api", "action": TaskAction.CREATE, "file": f"src/{id}.py", **also}
    return Task(id=id, **given)  # type: ignore[arg-type]


class TestStates:
    def test_every_state_is_in_the_table_and_can_end(self) -> None:
        assert set(TABLE) == set(State)
        for state, after in TABLE.items():
            if state not in (State.DONE, State.ERROR):
                assert State.ERROR in after, state
        reached, grown = {State.SETUP}, True
        while grown:
            more = {after for state in reached for after in TABLE[state]} - reached
            reached, grown = reached | more, bool(more)
        assert reached == set(State)

    def test_the_way_of_the_design_is_allowed(self) -> None:
        way = [State.SETUP, State.PLANNING, State.PLAN_REVIEW, State.CODING, State.TESTING, State.CODE_REVIEW]
        for before, after in zip(way, [*way[1:], State.MERGING], strict=True):
            check_move(before, after)
        check_move(State.MERGING, State.DONE)

    def test_planning_cannot_skip_to_merging(self) -> None:
        with pytest.raises(BuildError, match="cannot go from planning to merging"):
            check_move(State.PLANNING, State.MERGING)

    @pytest.mark.parametrize("side", sorted(RETURNS - {State.BUDGET_REVIEW}))
    def test_a_side_state_leads_back_to_where_it_came_from(self, side: State) -> None:
        check_move(side, State.CODING, origin=State.CODING)
        with pytest.raises(BuildError, match="cannot lead to planning"):
            check_move(side, State.PLANNING, origin=State.CODING)
        with pytest.raises(BuildError, match="came from nowhere"):
            check_move(side, State.PLANNING)


class TestFailures:
    def test_a_syntax_error_is_tried_three_times_then_shown(self) -> None:
        decisions = [decide_failure(Failure.SYNTAX, attempts=n).then for n in (1, 2, 3)]
        assert decisions == ["retry", "retry", "escalate"]

    def test_a_failed_check_is_tried_twice_then_skipped(self) -> None:
        assert [decide_failure(Failure.VALIDATION, attempts=n).then for n in (1, 2)] == ["retry", "skip"]

    def test_what_passes_by_itself_is_no_attempt(self) -> None:
        for attempts in (1, 50):
            decision = decide_failure(Failure.TRANSIENT, attempts=attempts)
            assert (decision.then, decision.counts) == ("back_off", False)

    def test_installing_needs_permission_and_a_name(self) -> None:
        error = "ModuleNotFoundError: No module named 'yaml.nodes'"
        allowed = decide_failure(Failure.MISSING_DEPENDENCY, attempts=1, detail=error, may_install=True)
        assert (allowed.then, allowed.package) == ("install", "yaml")
        assert decide_failure(Failure.MISSING_DEPENDENCY, attempts=1, detail=error).then == "escalate"
        assert decide_failure(Failure.MISSING_DEPENDENCY, attempts=1, detail="?", may_install=True).then == "escalate"

    def test_a_broken_machine_stops_the_build(self) -> None:
        assert decide_failure(Failure.ENVIRONMENT, attempts=1).then == "stop_build"

    @pytest.mark.parametrize(
        ("output", "kind"),
        [
            ("  File 'a.py', line 3\nSyntaxError: invalid syntax", Failure.SYNTAX),
            ("ModuleNotFoundError: No module named 'flask'", Failure.MISSING_DEPENDENCY),
            ("Error: Cannot find module 'express'", Failure.MISSING_DEPENDENCY),
            ("CONFLICT (content): Merge conflict in a.py", Failure.CONFLICT),
            ("OSError: [Errno 28] No space left on device", Failure.ENVIRONMENT),
            ("npm ERR! network ECONNRESET", Failure.TRANSIENT),
            ("1 failed, 3 passed", Failure.VALIDATION),
        ],
    )
    def test_output_of_a_check_is_put_into_its_class(self, output: str, kind: Failure) -> None:
        assert classify_failure(output, exit_code=1, checked=True) is kind

    def test_unknown_trouble_outside_a_check_is_other(self) -> None:
        assert classify_failure("it went wrong", exit_code=1) is Failure.OTHER

    def test_names_of_packages(self) -> None:
        assert missing_package("Cannot find module '@scope/pkg/deep'") == "@scope/pkg"
        assert missing_package("error[E0463]: can't find crate for `serde_json`") == "serde_json"
        assert missing_package("nothing of the kind") == ""


class TestStopping:
    def test_more_than_three_failures(self) -> None:
        tasks = [task(f"T-{n}", status="failed") for n in range(3)]
        assert why_stop(Progress(tasks=tasks, seconds=0)) is None
        halt = why_stop(Progress(tasks=[*tasks, task("T-9", status="failed")], seconds=0))
        assert halt is not None
        assert halt.reason is StopReason.TOO_MANY_FAILED
        assert "T-9" in halt.detail

    @pytest.mark.parametrize("how", [{"phase": "database"}, {"critical": True}])
    def test_one_critical_failure(self, how: dict[str, object]) -> None:
        halt = why_stop(Progress(tasks=[task("T-1", status="failed", **how)], seconds=0))
        assert halt is not None
        assert halt.reason is StopReason.CRITICAL_FAILED

    def test_time_is_over_only_beyond_the_limit(self) -> None:
        assert why_stop(Progress(tasks=[], seconds=7200)) is None
        halt = why_stop(Progress(tasks=[], seconds=7201))
        assert halt is not None
        assert halt.reason is StopReason.TIME_LIMIT
        assert why_stop(Progress(tasks=[], seconds=1e9), max_seconds=None) is None

    def test_requests_budget_and_machine(self) -> None:
        given = Progress(tasks=[], seconds=0)
        for change, reason in [
            ({"stop_requested": True}, StopReason.STOP_REQUESTED),
            ({"pause_requested": True}, StopReason.PAUSED),
            ({"over_budget": True}, StopReason.BUDGET),
            ({"environment": "disk full"}, StopReason.ENVIRONMENT),
        ]:
            halt = why_stop(replace(given, **change))  # type: ignore[arg-type]
            assert halt is not None
            assert halt.reason is reason


class TestReadiness:
    def test_the_first_failing_reason_is_given(self) -> None:
        one = task("T-2", depends_on=("T-1",))
        nobody: dict[str, str] = {}
        taken = {one.file: "another"}
        assert str(readiness(one, {}, us="b", owners=taken, holders=taken)) == "waits for T-1"
        done = {"T-1": "complete"}
        assert str(readiness(one, done, us="b", owners=taken, holders=taken)) == "its file belongs to another"  # type: ignore[arg-type]
        assert str(readiness(one, done, us="b", owners=nobody, holders=taken)) == "its file is in use by another"  # type: ignore[arg-type]
        assert readiness(one, done, us="b", owners={one.file: "b"}, holders={one.file: "b/T-2"}).ready  # type: ignore[arg-type]

    def test_what_needs_a_failed_task_never_runs(self) -> None:
        one = task("T-2", depends_on=("T-1",))
        assert readiness(one, {"T-1": "failed"}, us="b", owners={}, holders={}).why == "never"
        assert readiness(one, {"T-1": "skipped"}, us="b", owners={}, holders={}).why == "never"


class TestContextBudget:
    def test_worth_decides_and_nothing_comes_twice(self) -> None:
        items = [
            Item(name="research", text="r " * 50),
            Item(name="task", text="do it"),
            Item(name="readme", text="do it"),
        ]
        fitted = fit(items, 1000)
        assert [i.name for i in fitted.included] == ["task", "research"]

    def test_dear_texts_are_cut_cheap_ones_left_out(self) -> None:
        long = "word and word\n" * 200
        fitted = fit([Item(name="conventions", text=long), Item(name="readme", text="x" + long)], 100)
        assert [(i.name, i.cut) for i in fitted.included] == [("conventions", True)]
        assert fitted.left_out == ("readme",)
        assert fitted.tokens <= 100

    def test_a_cheap_text_that_fits_after_a_cut_one_is_still_taken(self) -> None:
        fitted = fit([Item(name="readme", text="word " * 400), Item(name="research", text="short")], 50)
        assert [i.name for i in fitted.included] == ["research"]
        assert fitted.left_out == ("readme",)

    @given(
        st.lists(st.tuples(st.sampled_from(sorted(WORTH)), st.text(max_size=400)), max_size=8),
        st.integers(0, 300),
    )
    def test_the_budget_holds(self, given_items: list[tuple[str, str]], budget: int) -> None:
        fitted = fit([Item(name=name, text=text) for name, text in given_items], budget)
        assert fitted.tokens <= budget
        assert sum(estimate_tokens(i.text) for i in fitted.included) == fitted.tokens
        worths = [WORTH[i.name] for i in fitted.included]
        assert worths == sorted(worths, reverse=True)

    def test_a_cut_ends_at_a_line_and_says_so(self) -> None:
        text = "\n".join(f"line number {n}" for n in range(100))
        cut = cut_to(text, 60)
        assert cut.endswith(CUT_MARK)
        assert cut.removesuffix(CUT_MARK).splitlines()[-1] in text.splitlines()
        assert cut_to("word " * 100, 3) == ""

    @pytest.mark.parametrize(
        ("text", "real"),
        [
            (
                (
                    "The agent says that it is done, and the check shows two tests that fail. "
                    "It is sent back with their names. "
                )
                * 10,
                251,
            ),
            (
                'def add(left: int, right: int) -> int:\n    """Both together."""\n    return left + right\n\n\n' * 10,
                240,
            ),
            ("Die Prüfung läuft, während der Agent arbeitet; jede Behauptung wird belegt, bevor sie gilt. " * 10, 211),
            ("这个工具监督编码代理的工作，并检查每一个结论。" * 10, 140),
            (json.dumps([{"id": n, "name": f"item-{n}", "ok": True} for n in range(40)]), 761),
        ],
        ids=["prose", "code", "german", "cjk", "data"],
    )
    def test_estimates_are_near_a_real_tokenizer(self, text: str, real: int) -> None:
        """`real` was counted with the vocabulary o200k_base."""
        assert 0.9 * real <= estimate_tokens(text) <= 1.4 * real
