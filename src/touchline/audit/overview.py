"""What are the headline numbers, drawn? The page's first part: one sentence, the figures, the plots, the tables."""

from __future__ import annotations

from collections.abc import Sequence

from touchline.audit.figures import count, dollars, share, size, tokens
from touchline.audit.markup import Child, Markup, element, join
from touchline.audit.plots import Part, columns, waste_bars, whole_bar
from touchline.audit.run import Audit
from touchline.audit.summary import Tally


def overview(audit: Audit) -> Markup:
    """From the headline to the plots."""
    total = audit.summary.total
    return join(
        element("div", element("h1", *_headline(total)), element("p", _scope(audit)), class_="hero"),
        _cards(total),
        element(
            "section",
            element("h2", "What the claims rest on", id="claims-title"),
            element(
                "p",
                "Every turn that said “done”, held against the calls the agent really made.",
                class_="intro",
            ),
            element("div", _standing(total), class_="panel"),
            element(
                "div",
                element(
                    "div",
                    element("h3", "Sessions over time"),
                    element("p", *_time_legend(), class_="sub"),
                    columns("Sessions over time", audit.summary.by_day)
                    if audit.summary.by_day
                    else element("p", "No session carries a time.", class_="sub"),
                    class_="panel",
                ),
                element(
                    "div",
                    element("h3", "Tokens spent after a loop began"),
                    element("p", "By project, the most first.", class_="sub"),
                    waste_bars(audit.summary.by_project)
                    if total.tokens_wasted
                    else element("p", "No tokens were spent after a loop began.", class_="sub"),
                    class_="panel",
                ),
                class_="pair",
            ),
            aria_labelledby="claims-title",
        ),
    )


def groups(audit: Audit) -> Markup:
    """The tables by project and by agent."""
    return element(
        "section",
        element("h2", "By project and by agent", id="groups-title"),
        element("p", "Shares are of the completions claimed.", class_="intro"),
        _table("Projects", "Project", audit.summary.by_project),
        _table("Agents", "Agent", audit.summary.by_agent),
        aria_labelledby="groups-title",
    )


def _headline(total: Tally) -> tuple[Child, ...]:
    doubtful = total.unproved + total.contradicted
    if not total.sessions:
        return ("Nothing to audit yet.",)
    if not total.completions:
        return ("No agent claimed to be done.",)
    if not doubtful:
        return (
            element("em", f"All {total.completions:,}" if total.completions > 1 else "The only one", class_="good"),
            " claimed to be done, and the log bears it out.",
        )
    return (
        element("em", f"{doubtful:,} of {total.completions:,}"),
        " claims to be done are not borne out by what the agent did.",
    )


def _scope(audit: Audit) -> str:
    total = audit.summary.total
    days = audit.summary.by_day
    span = ""
    if days:
        first, last = days[0].day, days[-1].day
        span = f" of {first}" if first == last else f" from {first} to {last}"
    filters = audit.filters
    narrowed = [
        *([f"active since {filters.since:%Y-%m-%d %H:%M}"] if filters.since else []),
        *([f"project “{filters.project}”"] if filters.project else []),
        *([f"agents {', '.join(filters.agents)}"] if filters.agents else []),
    ]
    only = f" Only: {'; '.join(narrowed)}." if narrowed else ""
    return (
        f"{count(total.sessions, 'session')}{span}, {count(total.turns, 'turn')} and "
        f"{count(total.calls, 'tool call')}, read from {count(audit.files, 'file')} ({size(audit.bytes)}).{only}"
    )


def _cards(total: Tally) -> Markup:
    cards = (
        (
            "Unproved",
            share(total.share_unverified),
            f"{total.unproved:,} of {count(total.completions, 'completion')}",
            "warn" if total.unproved else "",
        ),
        (
            "Contradicted",
            share(total.share_contradicted),
            f"{total.contradicted:,} of {count(total.completions, 'completion')}",
            "alarm" if total.contradicted else "",
        ),
        ("Loops", f"{total.loops:,}", f"in {count(total.looping_sessions, 'session')}", "warn" if total.loops else ""),
        (
            "Spent after a loop began",
            tokens(total.tokens_wasted),
            f"{share(total.share_wasted)} of {tokens(total.tokens)} tokens{_money(total)}",
            "warn" if total.tokens_wasted else "",
        ),
    )
    return element(
        "ul",
        *(
            element(
                "li",
                element("span", name, class_="name"),
                element("span", figure, class_="figure"),
                element("span", note, class_="note"),
                class_=tone or None,
            )
            for name, figure, note, tone in cards
        ),
        class_="cards",
        aria_label="Headline numbers",
    )


def _money(total: Tally) -> str:
    if total.cost_usd is None:
        return "; cost not in the logs"
    return f"; {dollars(total.cost_wasted_usd)} of {dollars(total.cost_usd)} known"


def _standing(total: Tally) -> Markup:
    if not total.completions:
        return element("p", "No turn claimed a completion.", class_="none")
    parts = (
        Part(name="proved", number=total.proved, tone="proved"),
        Part(name="nothing to prove", number=total.nothing_to_prove, tone="answer"),
        Part(name="unproved", number=total.unproved, tone="unproved"),
        Part(name="contradicted", number=total.contradicted, tone="contradicted"),
    )
    return whole_bar("Completions by how they stand", parts)


def _time_legend() -> tuple[Markup, ...]:
    return (
        element("span", "", class_="key bad"),
        element("span", "with findings", class_="gap"),
        element("span", "", class_="key calm"),
        element("span", "without"),
    )


def _table(caption: str, first: str, tallies: Sequence[Tally]) -> Markup:
    heads = (
        "Sessions",
        "Turns",
        "Completions",
        "Unproved",
        "Contradicted",
        "Loops",
        "Cut off",
        "Tokens",
        "After a loop",
        "Cost",
    )
    rows = [
        element(
            "tr",
            element("th", t.name, scope="row", class_="path"),
            *(
                element("td", cell, class_="r")
                for cell in (
                    f"{t.sessions:,}",
                    f"{t.turns:,}",
                    f"{t.completions:,}",
                    share(t.share_unverified),
                    share(t.share_contradicted),
                    f"{t.loops:,}",
                    f"{t.bad_ends:,}",
                    tokens(t.tokens),
                    share(t.share_wasted),
                    dollars(t.cost_usd),
                )
            ),
        )
        for t in tallies
    ]
    head = element(
        "tr", element("th", first, scope="col"), *(element("th", name, scope="col", class_="r") for name in heads)
    )
    table = element("table", element("caption", caption), element("thead", head), element("tbody", *rows))
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label=f"{caption}, table")
