"""What tokens cost where the CLI does not say: the list price of known models, and nothing for others."""

from __future__ import annotations

import pytest

from touchline.agents.pricing import price_of, priced, prices_of
from touchline.supervision.facts import Event, Spent, Usage

TOKENS = Usage(input=800, cache_read=200, output=50)


@pytest.mark.parametrize(
    ("model", "usd"),
    [
        ("gpt-5.5", 800 * 5e-6 + 200 * 0.5e-6 + 50 * 30e-6),
        ("gemini-2.5-pro", 800 * 1.25e-6 + 200 * 0.125e-6 + 50 * 10e-6),
        ("claude-sonnet-4-5", 800 * 3e-6 + 200 * 0.3e-6 + 50 * 15e-6),
        ("anthropic/claude-sonnet-4-5", 800 * 3e-6 + 200 * 0.3e-6 + 50 * 15e-6),
    ],
)
def test_the_models_of_the_captures(model: str, usd: float) -> None:
    assert price_of(model, TOKENS) == pytest.approx(usd)


@pytest.mark.parametrize("model", ["codex", "scripted/scripted-model", "<synthetic>", "gpt-999", "", None])
def test_nothing_is_guessed(model: str | None) -> None:
    assert price_of(model, TOKENS) is None


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    assert prices_of({"gpt-5.5": TOKENS, "nobody-knows": TOKENS}) is None
    assert prices_of({}) is None
    assert list(prices_of({"gpt-5.5": TOKENS}) or ()) == ["gpt-5.5"]


def test_what_the_cli_tells_counts_and_not_the_price_beside_it() -> None:
    heard: list[Event] = []
    observe = priced(heard.append)
    observe(Spent(usage=TOKENS, model="gpt-5.5"))
    observe(Spent(usage=Usage(), model="gpt-5.5", cost_usd=0.5))
    observe(Spent(usage=TOKENS, model="gpt-5.5"))
    costs = [event.cost_usd for event in heard if isinstance(event, Spent)]
    assert costs == [pytest.approx(0.0056), 0.5, None]
