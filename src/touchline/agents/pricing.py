"""What did tokens cost, where the CLI does not say? The model's list price, by data that came with the package.

An estimate, and to be shown as one: a subscription, a discount, or cached tokens that were not told apart change it.
Nothing is fetched. A model that is not in the list has no price: nothing is guessed from its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from touchline.supervision.facts import Event, Spent, Usage

T = TypeVar("T")


def price_of(model: str | None, usage: Usage) -> float | None:
    """US dollars, or None for a model without a known price."""
    if not model:
        return None
    import genai_prices  # most of a second: not before it is needed

    tokens = genai_prices.Usage(
        input_tokens=usage.input + usage.cache_read + usage.cache_write,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
        output_tokens=usage.output,
    )
    # Some CLIs put the provider before the model.
    for name in dict.fromkeys((model, model.rpartition("/")[2])):
        try:
            return float(genai_prices.calc_price(tokens, name).total_price)
        except LookupError:
            continue
    return None


def prices_of(spent: Mapping[str, Usage]) -> dict[str, float] | None:
    """The price of each model's tokens; None when one of them has none, or nothing was spent."""
    found: dict[str, float] = {}
    for model, usage in spent.items():
        price = price_of(model, usage)
        if price is None:
            return None
        found[model] = price
    return found or None


def priced(observe: Callable[[Event], T]) -> Callable[[Event], T]:
    """An observer that is told the cost with the tokens. Once the CLI tells costs itself, only those count."""
    told = False

    def seen(event: Event) -> T:
        nonlocal told
        if isinstance(event, Spent):
            told = told or event.cost_usd is not None
            if not told:
                event = replace(event, cost_usd=price_of(event.model, event.usage))
        return observe(event)

    return seen
