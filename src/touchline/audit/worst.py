"""Which sessions deserve a look, and what happened in them? The page's second part: the worst, loops, unread files."""

from __future__ import annotations

from touchline.audit.figures import count, dollars, moment, plain, share, short_ids, size, tokens
from touchline.audit.findings import ClaimFinding, LoopFinding, SessionFinding, TurnFinding, Verdict
from touchline.audit.markup import Markup, element, join
from touchline.audit.plots import path_end
from touchline.audit.run import Audit
from touchline.audit.summary import BAD_ENDS, NO_PROJECT, Ranked

_MAX_LOOPS = 200
_MAX_FILES = 500
_MAX_TURNS = 40
_LOOK_WORDS = {
    Verdict.PROVED: "proved",
    Verdict.NOTHING_TO_PROVE: "nothing to prove",
    Verdict.UNPROVED: "unproved",
    Verdict.CONTRADICTED: "contradicted",
}


def worst(audit: Audit) -> Markup:
    """The sessions most worth a look, each with its turns behind a fold."""
    ranked = audit.summary.worst
    items = [
        element("li", _session(place, one, audit.sessions[one.session])) for place, one in enumerate(ranked, start=1)
    ]
    return element(
        "section",
        element(
            "div",
            element("h2", "Sessions worth a look", id="worst-title"),
            element("button", "Open all", type="button", data_toggle_all="", aria_pressed="false", hidden="")
            if items
            else None,
            class_="bar-head",
        ),
        element(
            "p",
            "The highest scores first. Open one to see each claim, what the log shows, and what the coach would "
            "have said.",
            class_="intro",
        ),
        element("ol", *items, class_="worst") if items else element("p", "Nothing stands out.", class_="panel none"),
        id="worst",
        aria_labelledby="worst-title",
    )


def loops(audit: Audit) -> Markup:
    """Every loop, the costliest first."""
    found = sorted(
        ((session, loop) for session in audit.sessions for loop in session.loops),
        key=lambda pair: (-pair[1].tokens_after, pair[0].id, pair[1].began),
    )
    if not found:
        body = element("p", "No loop was found.", class_="panel none")
    else:
        names = short_ids(session.id for session in audit.sessions)
        rows = [
            element(
                "tr",
                element(
                    "th",
                    element("span", names[session.id], class_="mono"),
                    element("br"),
                    element("span", f"{session.agent}, turn {loop.turn}", class_="quiet"),
                    scope="row",
                ),
                element("td", plain(loop.rule)),
                element("td", element("code", loop.call), class_="path"),
                element("td", str(loop.began), class_="r"),
                element("td", f"{loop.recognised}{' (refused)' if loop.refused else ''}", class_="r"),
                element("td", tokens(loop.tokens_after), class_="r"),
                element("td", dollars(loop.cost_after_usd), class_="r"),
            )
            for session, loop in found[:_MAX_LOOPS]
        ]
        heads = ("Session", "Rule", "Began with", "At call", "Seen at", "Tokens after", "Cost after")
        head = element(
            "tr", *(element("th", name, scope="col", class_="r" if n > 2 else None) for n, name in enumerate(heads))
        )
        rest = len(found) - len(rows)
        caption = count(len(found), "loop") + (f", the costliest {len(rows)} shown" if rest else "")
        table = element("table", element("caption", caption), element("thead", head), element("tbody", *rows))
        body = element("div", table, class_="scroll", tabindex="0", role="region", aria_label="Loops, table")
    return element(
        "section",
        element("h2", "Loops", id="loops-title"),
        element("p", "Where repetition set in, and what was spent after that point.", class_="intro"),
        body,
        aria_labelledby="loops-title",
    )


def unreadable(audit: Audit) -> Markup | str:
    """Files that could not be audited; nothing is passed over in silence."""
    files = audit.unreadable
    if not files:
        return ""
    rows = [
        element(
            "tr",
            element("th", one.path, scope="row", class_="path"),
            element("td", one.why),
            element("td", size(one.size), class_="r"),
        )
        for one in files[:_MAX_FILES]
    ]
    rest = len(files) - len(rows)
    head = element(
        "tr",
        element("th", "File", scope="col"),
        element("th", "Why", scope="col"),
        element("th", "Size", scope="col", class_="r"),
    )
    table = element(
        "table", element("caption", "Files not audited", class_="clip"), element("thead", head), element("tbody", *rows)
    )
    return element(
        "section",
        element("h2", "Not audited", id="unread-title"),
        element(
            "p", "Files that could not be read as a session log. They are in none of the numbers above.", class_="intro"
        ),
        element(
            "details",
            element("summary", count(len(files), "file")),
            element("div", table, class_="scroll-inner"),
            element("p", f"and {rest:,} more", class_="none") if rest else None,
            class_="plain",
        ),
        aria_labelledby="unread-title",
    )


def _session(place: int, ranked: Ranked, session: SessionFinding) -> Markup:
    project = session.project or NO_PROJECT
    reasons = ", ".join(reason.why for reason in ranked.because)
    spent = f"{tokens(session.usage.total)} tokens" + (
        f", {dollars(session.cost_usd)}" if session.cost_usd is not None else ""
    )
    facts = (
        ("Session", element("code", session.id)),
        ("Agent", join(session.agent, *([" · ", ", ".join(session.models)] if session.models else []))),
        ("From", moment(session.started_at)),
        ("To", moment(session.ended_at)),
        ("Spent", spent),
        ("Log", element("span", session.path, class_="path")),
    )
    told = [turn for turn in session.turns if _worth_telling(turn, session)]
    quiet = len(session.turns) - len(told[:_MAX_TURNS])
    return element(
        "details",
        element(
            "summary",
            element("span", str(place), class_="rank"),
            element("span", path_end(project, 60), element("span", f"  {session.agent}", class_="quiet"), class_="who"),
            element("span", reasons, class_="why"),
            element("span", element("b", f"{ranked.score:g}"), "score", class_="score"),
        ),
        element(
            "div",
            element(
                "dl",
                *(element("div", element("dt", name), element("dd", value)) for name, value in facts),
                class_="facts",
            ),
            *(_turn(turn, session) for turn in told[:_MAX_TURNS]),
            element("p", f"{count(quiet, 'further turn')} without a finding.", class_="more") if quiet else None,
            class_="inside",
        ),
        id=f"session-{place}",
    )


def _worth_telling(turn: TurnFinding, session: SessionFinding) -> bool:
    return bool(
        turn.verdict is not None or turn.ended in BAD_ENDS or any(loop.turn == turn.number for loop in session.loops)
    )


def _turn(turn: TurnFinding, session: SessionFinding) -> Markup:
    tone = turn.verdict.value if turn.verdict else ""
    # One sentence often makes several claims of the same standing; it is quoted once.
    shown = list(dict.fromkeys(_claim(claim) for claim in turn.claims))
    shown += [element("li", element("span", "Evidence", class_="tag"), element("span", line)) for line in turn.evidence]
    shown += [
        element(
            "li",
            element("span", "Loop", class_="tag unproved"),
            element(
                "span",
                f"{plain(loop.rule)}, from call {loop.began}: ",
                element("code", loop.call),
                f" – {tokens(loop.tokens_after)} tokens followed",
            ),
        )
        for loop in session.loops
        if loop.turn == turn.number
    ]
    return element(
        "article",
        element(
            "div",
            element("h3", f"Turn {turn.number}"),
            element("span", _LOOK_WORDS[turn.verdict], class_=f"tag {tone}") if turn.verdict else None,
            element("span", f"{plain(turn.kind)} · {share(turn.confidence)} sure", class_="tag"),
            element(
                "span",
                f"ended: {plain(turn.ended)}" + (f" ({turn.end_detail})" if turn.end_detail else ""),
                class_="tag",
            ),
            element("span", count(turn.calls, "call"), class_="tag"),
            class_="turn-head",
        ),
        element("p", "Asked", class_="lead") if turn.prompt else None,
        element("p", turn.prompt) if turn.prompt else None,
        element("p", "The agent's last words", class_="lead") if turn.final_text else None,
        element("blockquote", turn.final_text, class_="said") if turn.final_text else None,
        element("p", "What the log shows", class_="lead") if shown else None,
        element("ul", *shown, class_="shown") if shown else None,
        *(_stopped(loop) for loop in session.loops if loop.turn == turn.number and loop.coaching),
        element("p", f"At its end Touchline would: {plain(turn.action)} ({plain(turn.reason)})", class_="lead"),
        element("blockquote", turn.coaching, class_="coach") if turn.coaching else None,
        element("p", turn.notice, class_="told") if turn.notice else None,
        class_=f"turn {tone}",
        aria_label=f"Turn {turn.number}",
    )


def _stopped(loop: LoopFinding) -> Markup:
    how = "refused, with the words" if loop.refused else "answered with the words"
    return join(
        element("p", f"Call {loop.recognised} would have been {how}", class_="lead"),
        element("blockquote", loop.coaching, class_="coach"),
    )


def _claim(claim: ClaimFinding) -> Markup:
    because = f" – {claim.because}" if claim.because else ""
    return element(
        "li",
        element("span", claim.standing, class_=f"tag {claim.standing}"),
        element("span", f"“{claim.quote}”", element("span", because, class_="quiet")),
    )
