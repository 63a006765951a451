"""Providers over real HTTP: the rehearsal server plays Anthropic and OpenAI on the loopback, Pydantic AI asks it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from touchline.errors import ModelError
from touchline.models.asking import Asker
from touchline.models.opening import asker_for, model_line
from touchline.models.questions import ReviewBudget
from touchline.rehearsal.script import parse_script
from touchline.rehearsal.server import RehearsalServer, serving

pytestmark = pytest.mark.timeout(60)

ANSWER = "{verdict: needs_changes, guidance: Stop fetching and read the code.}"
LINES = ("anthropic:claude-sonnet-5-5", "openai:gpt-6-sol", "compatible")


@pytest.fixture(scope="module")
def server() -> Iterator[RehearsalServer]:
    with serving() as running:
        yield running


def asker(server: RehearsalServer, monkeypatch: pytest.MonkeyPatch, line: str, script: str, *, name: str) -> Asker:
    """An asker whose provider is the rehearsal server."""
    url = server.url(name, parse_script(script), workspace="/w")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
    for proxy in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(proxy, raising=False)
    return asker_for(f"{url}/v1#local-model" if line == "compatible" else line, seconds=20)


@pytest.mark.parametrize("line", LINES)
def test_a_typed_answer_comes_back_with_what_it_used(
    server: RehearsalServer, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    script = f"turns:\n  - json: {ANSWER}\n    usage: {{input: 700, cached: 300, output: 40}}\n"
    ask = asker(server, monkeypatch, line, script, name=f"good-{line.partition(':')[0]}")
    answer = ask.ask(ReviewBudget(request="Task T-1: git fetch fails again and again."))
    assert (answer.value.verdict, answer.value.guidance) == ("needs_changes", "Stop fetching and read the code.")
    assert answer.model == ask.name.line
    assert (answer.usage.input, answer.usage.cache_read, answer.usage.output) == (700, 300, 40)
    assert (answer.tries, answer.cached) == (1, False)
    if line == LINES[0]:
        assert answer.cost_usd is not None
        assert answer.cost_usd > 0


def test_a_provider_whose_package_is_missing_is_a_model_error() -> None:
    with pytest.raises(ModelError, match="groq:llama-3 needs a package that is not installed") as caught:
        asker_for("groq:llama-3").ask(ReviewBudget(request="r"))
    assert "cli:claude" in caught.value.hint


@pytest.mark.parametrize("line", LINES)
def test_an_answer_that_does_not_fit_is_asked_for_once_more(
    server: RehearsalServer, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    wrong = "{json: {verdict: perhaps, guidance: x}}"
    script = f"turns:\n  - heard: could not be used\n    json: {ANSWER}\n    else: {wrong}\n"
    name = f"again-{line.partition(':')[0]}"
    answer = asker(server, monkeypatch, line, script, name=name).ask(ReviewBudget(request="r"))
    assert (answer.value.verdict, answer.tries) == ("needs_changes", 2)
    assert answer.usage.output == 100, "both tries were paid for"
    assert len(server.played(name)) == 2


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(("fault", "says"), [("401", "401"), ("500", "500")])
def test_a_provider_that_refuses_is_named_with_the_next_step(
    server: RehearsalServer, monkeypatch: pytest.MonkeyPatch, line: str, fault: str, says: str
) -> None:
    script = f"turns:\n  - error: {fault}\n    times: always\n  - json: {ANSWER}\n"
    ask = asker(server, monkeypatch, line, script, name=f"fault-{fault}-{line.partition(':')[0]}")
    with pytest.raises(ModelError) as caught:
        ask.ask(ReviewBudget(request="r"))
    assert ask.name.line in caught.value.message
    assert says in caught.value.message
    assert "key" in caught.value.hint or "again" in caught.value.hint


def test_a_model_that_takes_too_long_is_given_up(server: RehearsalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = asker(server, monkeypatch, LINES[0], f"turns:\n  - json: {ANSWER}\n    delay: 30\n", name="slow")
    ask.seconds = 0.5
    with pytest.raises(ModelError, match=r"did not answer within 0\.5 s") as caught:
        ask.ask(ReviewBudget(request="r"))
    assert caught.value.hint


def test_nobody_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    ask = asker_for("http://127.0.0.1:9/v1#local", seconds=10)
    with pytest.raises(ModelError, match="cannot be asked"):
        ask.ask(ReviewBudget(request="r"))


def test_a_key_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ModelError, match="ANTHROPIC_API_KEY"):
        asker_for("anthropic:claude-sonnet-5-5").ask(ReviewBudget(request="r"))


def test_a_provider_nobody_knows_is_told() -> None:
    with pytest.raises(ModelError, match="nosuch:model"):
        asker_for("nosuch:model").ask(ReviewBudget(request="r"))


def test_the_line_comes_from_the_environment_unless_one_is_given() -> None:
    assert model_line({"TOUCHLINE_MODEL": " cli:claude "}) == "cli:claude"
    assert model_line({"TOUCHLINE_MODEL": "cli:claude"}, "openai:gpt-6-sol") == "openai:gpt-6-sol"
    assert model_line({}) == ""
