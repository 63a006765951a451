"""Which statuses may a record have, and which may follow which? One table for all; `statuses` enforces it.

A line is `from -> to to ...`; the first word of each block is where a record starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

LIVES: Mapping[str, str] = {
    "ideas": """
        candidate  -> developing archived
        developing -> complete archived
        complete   -> developing archived
        archived   -> developing""",
    "specs": """
        draft      -> waiting superseded
        waiting    -> approved revision rejected superseded
        revision   -> draft waiting superseded
        approved   -> revision superseded
        rejected   ->
        superseded ->""",
    "builds": """
        requested -> primed running stopped failed
        primed    -> running stopped failed
        running   -> complete stopped failed
        stopped   -> running
        failed    -> running
        complete  ->""",
    "tasks": """
        pending     -> in_progress blocked skipped complete
        in_progress -> complete failed blocked skipped pending
        blocked     -> pending in_progress skipped failed
        failed      -> pending in_progress skipped blocked
        skipped     -> pending
        complete    ->""",
    "attempts": """
        running     -> passed failed unverified error interrupted
        passed      ->
        failed      ->
        unverified  ->
        error       ->
        interrupted -> running""",
    "sessions": """
        starting  -> running failed stopped
        running   -> waiting suspended delivered failed dropped stopped
        waiting   -> running failed dropped stopped
        suspended -> running failed dropped stopped
        stopped   -> running
        delivered -> running
        failed    -> running
        dropped   ->""",
    "questions": """
        open         -> answered expired acknowledged dismissed withdrawn
        answered     -> open
        expired      -> answered
        acknowledged ->
        dismissed    ->
        withdrawn    ->""",
    "reviews": """
        requested -> running complete failed withdrawn
        running   -> requested complete failed withdrawn
        failed    -> requested
        complete  ->
        withdrawn ->""",
    "lessons": """
        active     -> proposed promoted superseded
        proposed   -> active promoted superseded
        promoted   -> active superseded
        superseded ->""",
    "alerts": """
        open         -> acknowledged cleared
        acknowledged -> open cleared
        cleared      ->""",
    "change_requests": """
        open      -> accepted denied withdrawn
        accepted  -> done withdrawn
        denied    ->
        withdrawn ->
        done      ->""",
    "reservations": """
        held    -> settled
        settled -> held""",
    # A claim that ran out is claimed again. A late success counts wherever the row is by then: it was sent.
    "outbox": """
        pending -> sending sent
        sending -> sending sent pending failed
        failed  -> pending sent
        sent    ->""",
    "heartbeats": """
        alive      -> alive stopped recovering
        recovering -> recovering alive stopped
        stopped    -> alive""",
    # Not a table: the life of a role's instance.
    "roles": """
        idle     -> loading
        loading  -> active error
        active   -> complete error
        complete -> idle
        error    -> idle""",
}


@cache
def edges(kind: str) -> dict[str, tuple[str, ...]]:
    """What may follow each status. KeyError for a kind that has none."""
    lines = [line.split("->") for line in LIVES[kind].strip().splitlines()]
    return {before.strip(): tuple(after.split()) for before, after in lines}


def first_status(kind: str) -> str:
    """Where a new record starts."""
    return next(iter(edges(kind)))


def may_move(kind: str, before: str, after: str) -> bool:
    """Whether the one may follow the other."""
    return after in edges(kind).get(before, ())
