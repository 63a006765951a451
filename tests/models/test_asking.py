"""Questions, lines of configuration, answers from a file, retries and the cache; nothing here leaves the machine."""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import Any

import pytest

from touchline.errors import ModelError, ScriptError
from touchline.models.agent_cli import json_in
from touchline.models.asking import TRIES, Asker, Prompted, Raw
from touchline.models.cache import Cache
from touchline.models.naming import EXAMPLES, parse_model
from touchline.models.opening import asker_for
from touchline.models.question import template
from touchline.models.questions import QUESTIONS, ClassifyStop, PlanTasks, ReviewBudget, ReviewCode
from touchline.supervision.facts import Usage

GOOD = {"verdict": "needs_changes", "guidance": "Stop fetching."}


class Replies:
    """A backend that gives prepared values, and keeps what it was asked."""

    def __init__(self, *values: Any) -> None:
        self.values = list(values)
        self.asked: list[Prompted] = []

    def reply(self, prompted: Prompted) -> Raw:
        self.asked.append(prompted)
        value = self.values.pop(0)
        if isinstance(value, Exception):
            raise value
        return Raw(value=value, usage=Usage(input=10, output=1), cost_usd=0.5)


def asker(*values: Any, cache: Path | None = None) -> tuple[Asker, Replies]:
    backend = Replies(*values)
    name = parse_model("cli:claude")
    return Asker(name=name, backend=backend, cache=Cache(cache) if cache else None), backend


class TestQuestions:
    def test_every_placeholder_of_a_prompt_is_a_field_and_every_field_is_used(self) -> None:
        for question in QUESTIONS:
            text = template(question.name)
            assert "\n---\n" in text, question.name
            named = {found["named"] for found in Template.pattern.finditer(text) if found["named"]}
            assert named == set(question.model_fields), question.name

    def test_the_prompt_holds_what_was_asked_with(self) -> None:
        question = ClassifyStop(task="Add a $5 fee", message="All {done}", evidence=("pytest: 3 passed", "no commit"))
        instructions, prompt = question.parts()
        assert "coding agent" in instructions
        for part in ("Add a $5 fee", "All {done}", "- pytest: 3 passed\n- no commit"):
            assert part in prompt

    def test_answers_refuse_what_they_do_not_know(self) -> None:
        ask, backend = asker({**GOOD, "mood": "fine"}, GOOD)
        answer = ask.ask(ReviewBudget(request="r"))
        assert answer.tries == 2
        assert "mood: Extra inputs are not permitted" in backend.asked[1].prompt


class TestAsking:
    def test_a_typed_answer_and_what_all_tries_cost(self) -> None:
        ask, backend = asker("not json", {"verdict": "fine"}, GOOD)
        answer = ask.ask(ReviewBudget(request="the request"))
        assert answer.value.verdict == "needs_changes"
        assert (answer.tries, answer.usage.input, answer.cost_usd) == (3, 30, 1.5)
        assert "could not be used" not in backend.asked[0].prompt
        assert "verdict" in backend.asked[2].prompt.partition("could not be used")[2]

    def test_it_gives_up_and_says_why(self) -> None:
        ask, backend = asker(*["no"] * TRIES)
        with pytest.raises(ModelError, match=r"cli:claude gave no usable answer to review_budget in 3 tries"):
            ask.ask(ReviewBudget(request="r"))
        assert len(backend.asked) == TRIES

    def test_a_quote_must_stand_in_the_message(self) -> None:
        made_up = {"kind": "completion", "confidence": 0.9, "missing": [], "quote": "all tests pass"}
        true = {**made_up, "quote": "it is  done"}
        ask, backend = asker(made_up, true)
        assert ask.ask(ClassifyStop(task="t", message="I say it is\ndone.")).tries == 2
        assert "does not occur in the message" in backend.asked[1].prompt

    def test_needs_changes_needs_words_and_tasks_need_each_other(self) -> None:
        ask, _ = asker({"verdict": "needs_changes"}, {"verdict": "needs_changes", "findings": ["a.py:3 is wrong"]})
        answer = ask.ask(ReviewCode(task="t", diff="d"))
        assert answer.value.words == "- a.py:3 is wrong"
        task = {"id": "T-1", "title": "x", "phase": "api", "action": "CREATE", "file": "a", "requirements": ["r"]}
        task |= {"satisfies": ["FR-1"], "command": "true", "depends_on": ["T-9"]}
        ask, backend = asker({"tasks": [task]}, {"tasks": [{**task, "depends_on": []}]})
        assert ask.ask(PlanTasks(objective="o", requirements=("r",))).tries == 2
        assert "T-9" in backend.asked[1].prompt

    def test_an_id_that_leads_out_of_its_folder_is_asked_for_again(self) -> None:
        task = {"id": "../T-1", "title": "x", "phase": "api", "action": "CREATE", "file": "a", "requirements": ["r"]}
        task |= {"satisfies": ["FR-1"], "command": "true"}
        ask, backend = asker({"tasks": [task]}, {"tasks": [{**task, "id": "T-1"}]})
        assert ask.ask(PlanTasks(objective="o", requirements=("r",))).tries == 2
        assert "'../T-1' is no id of a task" in backend.asked[1].prompt

    def test_what_cannot_be_reached_is_not_asked_again(self) -> None:
        ask, backend = asker(ModelError("away"), GOOD)
        with pytest.raises(ModelError, match="away"):
            ask.ask(ReviewBudget(request="r"))
        assert len(backend.asked) == 1


class TestWhatItCost:
    def test_answers_that_cannot_be_used_were_paid_for_too(self) -> None:
        ask, _ = asker({}, {}, {})
        with pytest.raises(ModelError, match="no usable answer") as caught:
            ask.ask(ReviewBudget(request="r"))
        ((name, lost),) = caught.value.answers
        assert (name, lost.usage.total, lost.cost_usd, lost.tries) == ("review_budget", 33, 1.5, 3)
        assert ask.paid == list(caught.value.answers)

    def test_what_was_asked_before_the_model_went_away_is_told(self) -> None:
        ask, _ = asker({}, ModelError("away"))
        with pytest.raises(ModelError, match="away") as caught:
            ask.ask(ReviewBudget(request="r"))
        assert [lost.cost_usd for _, lost in caught.value.answers] == [0.5]
        never, _ = asker(ModelError("away"))
        with pytest.raises(ModelError) as caught:
            never.ask(ReviewBudget(request="r"))
        assert caught.value.answers == ()


def test_answers_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScriptError, match="is not YAML"):
        asker_for(f"scripted:{path}")


class TestCache:
    def test_the_same_question_is_asked_once(self, tmp_path: Path) -> None:
        ask, backend = asker(GOOD, {**GOOD, "guidance": "other"}, cache=tmp_path)
        first, again = ask.ask(ReviewBudget(request="r")), ask.ask(ReviewBudget(request="r"))
        other = ask.ask(ReviewBudget(request="r2"))
        assert (first.cached, again.cached, other.cached) == (False, True, False)
        assert again.value == first.value != other.value
        assert again.usage.total == 0
        assert len(backend.asked) == 2

    def test_the_environment_names_the_folder_of_a_replay(self, tmp_path: Path) -> None:
        path = tmp_path / "answers.yaml"
        path.write_text("- {question: review_budget, answer: {verdict: approved, guidance: first}}")
        env = {"TOUCHLINE_MODEL_CACHE": str(tmp_path / "kept")}
        asked = [asker_for(f"scripted:{path}", env=env).ask(ReviewBudget(request="r"))]
        path.write_text("- {question: review_budget, answer: {verdict: approved, guidance: second}}")
        asked += [asker_for(f"scripted:{path}", env=each).ask(ReviewBudget(request="r")) for each in (env, {})]
        assert [(each.value.guidance, each.cached) for each in asked] == [
            ("first", False),
            ("first", True),
            ("second", False),
        ]

    def test_a_broken_file_or_one_of_another_shape_is_asked_anew(self, tmp_path: Path) -> None:
        ask, _ = asker(GOOD, GOOD, GOOD, cache=tmp_path)
        ask.ask(ReviewBudget(request="r"))
        (file,) = tmp_path.rglob("*.json")
        for broken in ("{", '{"verdict": "old"}'):
            file.write_text(broken)
            assert not ask.ask(ReviewBudget(request="r")).cached
        assert ask.ask(ReviewBudget(request="r")).cached

    def test_a_cache_that_cannot_be_written_does_no_harm(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        ask, _ = asker(GOOD, cache=tmp_path / "file" / "below")
        assert ask.ask(ReviewBudget(request="r")).value.guidance == "Stop fetching."


class TestLines:
    def test_every_example_is_read(self) -> None:
        assert [parse_model(line).backend for line in EXAMPLES] == [
            "provider",
            "provider",
            "compatible",
            "cli",
            "scripted",
        ]
        assert parse_model("cli:codex#gpt-5.5").model == "gpt-5.5"

    @pytest.mark.parametrize(
        ("line", "says"), [("", "No model is configured"), ("gpt-5", "is no model"), ("x:", "is no model")]
    )
    def test_what_fits_nothing_says_what_to_set(self, line: str, says: str) -> None:
        with pytest.raises(ModelError, match=says) as caught:
            parse_model(line)
        assert "cli:claude" in caught.value.hint

    def test_a_url_needs_a_model(self) -> None:
        with pytest.raises(ModelError, match="names no model"):
            parse_model("http://127.0.0.1:1/v1")

    def test_an_unknown_agent_is_named(self) -> None:
        with pytest.raises(ModelError, match="cli:nobody: There is no agent 'nobody'"):
            asker_for("cli:nobody")


class TestScripted:
    def test_the_first_entry_that_fits_answers(self, tmp_path: Path) -> None:
        file = tmp_path / "answers.yaml"
        file.write_text(
            "- question: review_budget\n  when: [git fetch, planning]\n"
            "  answer: {verdict: needs_changes, guidance: no}\n"
            "- question: review_budget\n  answer: {verdict: approved, guidance: go on}\n"
        )
        ask = asker_for(f"scripted:{file}")
        assert ask.ask(ReviewBudget(request="planning: git fetch fails")).value.verdict == "needs_changes"
        assert ask.ask(ReviewBudget(request="coding")).value.verdict == "approved"
        with pytest.raises(ModelError, match="has no answer to review_code"):
            ask.ask(ReviewCode(task="t", diff="d"))

    @pytest.mark.parametrize(
        ("text", "says"), [("x: 1", "must be a list"), ("- 1", "answer 1 needs"), ("- [", "is not YAML")]
    )
    def test_broken_files_are_named(self, tmp_path: Path, text: str, says: str) -> None:
        file = tmp_path / "answers.yaml"
        file.write_text(text)
        with pytest.raises(ScriptError, match=says):
            asker_for(f"scripted:{file}")
        with pytest.raises(ScriptError, match="cannot be read"):
            asker_for(f"scripted:{tmp_path / 'none.yaml'}")


def test_json_is_found_in_a_message() -> None:
    assert json_in('{"a": 1}') == {"a": 1}
    assert json_in('Here:\n```json\n{"a": 1}\n```\n') == {"a": 1}
    assert json_in('So {"a": {"b": 2}} it is.') == {"a": {"b": 2}}
    assert json_in("no json") == "no json"
