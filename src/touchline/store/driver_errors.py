"""What does a driver's error mean, and what is to be done? Each in plain words, with the address but no password."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from sqlalchemy import exc

from touchline.errors import DatabaseUnreachable, DiskFull, ServerAway, ServerDown, StoreError
from touchline.store.place import Place


class _Meaning(NamedTuple):
    """Which errors, and what they mean."""

    signs: tuple[str, ...]
    """Words of SQLite or PostgreSQL in small letters; or PostgreSQL's codes, which no language changes."""
    kind: type[StoreError]
    message: str
    hint: str


# The first that fits is told. `{where}` is the address, `{words}` what the driver said.
_MEANINGS = (
    _Meaning(
        ("database or disk is full", "no space left", "53100"),
        DiskFull,
        "The disk of {where} is full; nothing was written.",
        "Free some space and go on.",
    ),
    _Meaning(
        ("attempt to write a readonly", "25006"),
        StoreError,
        "{where} is read-only.",
        "Give this user the right to write there, or name another place with --database.",
    ),
    _Meaning(
        ("is locked",),
        StoreError,
        "{where} is locked by another program for over {seconds:g} s.",
        "End that program, then try again.",
    ),
    _Meaning(
        ("40p01", "40001", "55p03"),
        StoreError,
        "Two writers stood in each other's way in {where}; nothing of this one was written.",
        "Try again.",
    ),
    _Meaning(
        ("unable to open database file",),
        DatabaseUnreachable,
        "{where} cannot be opened.",
        "Check that its folder is there and that this user may write in it, or name another place with --database.",
    ),
    _Meaning(
        ("file is not a database", "malformed", "is not a database"),
        StoreError,
        "{where} is damaged or no SQLite database ({words}).",
        "Name another one with --database, or restore a backup: touchline db backup makes them.",
    ),
    _Meaning(
        ("disk i/o error",),
        StoreError,
        "The disk of {where} failed ({words}); nothing was written.",
        "Check the disk and its free space, then: touchline db check",
    ),
    _Meaning(
        ("password authentication failed", "no password supplied", "28p01", "28000"),
        DatabaseUnreachable,
        "{where} refuses this user or password.",
        "Check both in the address; a password may also stand in ~/.pgpass.",
    ),
    _Meaning(
        ("3d000", '" does not exist'),
        DatabaseUnreachable,
        "The server of {where} answers, but has no such database or user.",
        "Check the name, or make the database with: createdb",
    ),
    _Meaning(
        ("permission denied", "42501"),
        StoreError,
        "This user may not do that in {where} ({words}).",
        "Let the owner of the database grant it: create and use on its schema.",
    ),
    _Meaning(
        ("too many clients", "remaining connection slots", "53300"),
        DatabaseUnreachable,
        "{where} takes no more connections.",
        "Raise max_connections of the server, or run fewer workers.",
    ),
    _Meaning(
        ("invalid connection option", "bad value for", "invalid sslmode value", "invalid integer value"),
        DatabaseUnreachable,
        "An option in the address of {where} does not fit: {words}.",
        "Correct what follows the question mark in the address.",
    ),
    _Meaning(
        ("failed to resolve host", "could not translate host name", "name or service not known"),
        DatabaseUnreachable,
        "The host in {where} is not known.",
        "Check the host's name in the address.",
    ),
    _Meaning(
        ("timeout expired", "timed out", "network is unreachable", "no route to host"),
        ServerAway,
        "Nothing answers at {where}.",
        "Check host and port, and that PostgreSQL runs there and listens.",
    ),
    _Meaning(
        ("connection refused",),
        ServerDown,
        "Nothing answers at {where}.",
        "Check host and port, and that PostgreSQL runs there and listens.",
    ),
    _Meaning(
        ("the database system is", "57p03"),
        ServerDown,
        "{where} broke off; what was not committed is not written.",
        "Start PostgreSQL again if it is down, then go on.",
    ),
    _Meaning(
        (
            *("server closed the connection", "terminating connection", "connection is lost", "57p01", "57p02"),
            *("the connection is closed", "connection already closed", "08006", "08003"),
        ),
        ServerAway,
        "{where} broke off; what was not committed is not written.",
        "Start PostgreSQL again if it is down, then go on.",
    ),
)


def explained(error: exc.DBAPIError, url: str, seconds: float = 30) -> StoreError:
    """The error of a driver, in words that name the next step. `seconds` is how long a lock was waited for."""
    words = str(error.orig).strip() or str(error)
    lower = f"{words.lower()} {(getattr(error.orig, 'sqlstate', None) or '').lower()}"
    told = {"where": Place(url=url, origin="given"), "words": words.splitlines()[0], "seconds": seconds}
    for meaning in _MEANINGS:
        if any(sign in lower for sign in meaning.signs):
            return meaning.kind(meaning.message.format(**told), hint=meaning.hint)
    return DatabaseUnreachable(
        "{where} does not answer as it should: {words}".format(**told), hint="touchline doctor says more."
    )


def is_away(error: exc.DBAPIError) -> bool:
    """Does nothing answer now, and may it come back?"""
    return is_explained(error) and isinstance(explained(error, ""), ServerAway)


def none_left(url: str) -> StoreError:
    """All connections that this process may have are in use."""
    return StoreError(
        f"All connections of this process to {Place(url=url, origin='given')} are in use; nothing was written.",
        hint="Too much is done at once, or another program holds the database. Wait for it, then try again.",
    )


def is_explained(error: exc.DBAPIError) -> bool:
    """Is it about the database as such? Broken constraints and wrong statements are not; they stay what they are."""
    if isinstance(error, exc.OperationalError):
        return True
    if isinstance(error.orig, sqlite3.DatabaseError):
        # SQLite's way to say that a file is no database; its other errors are of classes below this one.
        return type(error.orig) is sqlite3.DatabaseError
    if error.statement is None and getattr(error.orig, "sqlstate", None) is None:
        # The address itself: psycopg refuses it before it asks the server.
        return True
    return getattr(error.orig, "sqlstate", None) in ("42501", "25006")
