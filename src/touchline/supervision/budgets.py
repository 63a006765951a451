"""Is there budget left? Turns, tokens, money, time and failures of a task, against what it may spend."""

from __future__ import annotations

from touchline.supervision.values import Literal, Value

Resource = Literal["turns", "tokens", "usd", "seconds", "failures"]
RESOURCES: tuple[Resource, ...] = Resource.__args__  # type: ignore[attr-defined]


class Budget(Value):
    """What a task may spend; None is no limit."""

    turns: int | None = None
    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None
    failures: int | None = None
    """Consecutive failures that are retried; the next one exhausts the budget."""


class Spending(Value):
    """What a task has spent so far. A cost nobody could tell is None and never exhausts a budget by itself."""

    turns: int = 0
    tokens: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0
    failures: int = 0


class Exhausted(Value):
    """One resource at its limit."""

    resource: Resource
    spent: float
    limit: float

    def __str__(self) -> str:
        return f"{self.resource}: {self.spent:g} of {self.limit:g}"


def exhausted(budget: Budget, spending: Spending) -> tuple[Exhausted, ...]:
    """Every resource that is used up. Failures may reach their limit; one more exhausts it."""
    found: list[Exhausted] = []
    for resource in RESOURCES:
        limit, spent = getattr(budget, resource), getattr(spending, resource)
        if limit is None or spent is None:
            continue
        if spent > limit or (spent == limit and resource != "failures"):
            found.append(Exhausted(resource=resource, spent=spent, limit=limit))
    return tuple(found)


def unknown_cost(budget: Budget, spending: Spending) -> bool:
    """A money limit is set, but what was spent is not known: the caller must say so rather than go on in silence."""
    return budget.usd is not None and spending.usd is None
