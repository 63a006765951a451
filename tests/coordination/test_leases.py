"""Leases: all or nothing, a token per grant, expiry, fencing, and what is told about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.coordination.noon import at

from touchline.coordination.leases import (
    Denied,
    Granted,
    acquire,
    all_leases,
    check_token,
    expire,
    file_resource,
    in_process,
    release,
    release_dead,
    renew,
)
from touchline.coordination.section import time_of
from touchline.errors import InputError, LeaseError
from touchline.store.columns import now as machine_time
from touchline.store.database import Database
from touchline.store.events import read
from touchline.store.migrate import open_database


def granted(database: Database, holder: str, *resources: str, **more: Any) -> Granted:
    answer = acquire(database, holder=holder, resources=resources, **more)
    assert isinstance(answer, Granted), answer
    return answer


def denied(database: Database, holder: str, *resources: str, **more: Any) -> Denied:
    answer = acquire(database, holder=holder, resources=resources, **more)
    assert isinstance(answer, Denied), answer
    return answer


def held(database: Database, seconds: float | None = None) -> dict[str, str]:
    moment = None if seconds is None else at(seconds)
    with database.reading() as connection:
        return {lease.resource: lease.holder for lease in all_leases(connection, now=moment)}


def story(database: Database) -> list[tuple[str, str, str]]:
    return [
        (event.type.removeprefix("lock."), event.payload["resource"], event.payload["holder"])
        for event in read(database, patterns=["lock.*"])
    ]


def test_a_request_is_granted_whole_or_not_at_all(database: Database) -> None:
    first = granted(database, "ann", "b", "a", "a", now=at(0))
    assert first.resources == ("a", "b")
    assert first.expires_at == at(1800)
    answer = denied(database, "bob", "b", "c", now=at(1))
    assert (answer.resource, answer.holder) == ("b", "ann")
    assert [(b.resource, b.holder, b.until, b.reason) for b in answer.blockers] == [("b", "ann", at(1800), "held")]
    assert held(database, 1) == {"a": "ann", "b": "ann"}
    assert story(database) == [("granted", "a", "ann"), ("granted", "b", "ann"), ("denied", "b", "bob")]


def test_a_second_denial_of_the_same_request_is_not_told_again(database: Database) -> None:
    granted(database, "ann", "a", now=at(0))
    for second in range(3):
        denied(database, "bob", "a", now=at(second))
    assert [kind for kind, _, _ in story(database)] == ["granted", "denied"]


def test_tokens_only_grow_also_over_a_restart(database: Database) -> None:
    tokens: list[int] = []
    for _ in range(3):
        with open_database(database.url, purpose="test") as opened:
            tokens += [granted(opened, "ann", resource).token for resource in ("a", "b", "a")]
            release(opened, holder="ann")
    assert tokens == sorted(set(tokens))
    assert len(tokens) == 9


def test_the_same_holder_may_ask_again_and_the_old_token_is_stale_then(database: Database) -> None:
    old = granted(database, "ann", "a", "b", now=at(0)).token
    new = granted(database, "ann", "b", "c", now=at(1)).token
    with database.writing() as connection:
        check_token(connection, "a", old, now=at(2))
        check_token(connection, "b", new, now=at(2))
        with pytest.raises(LeaseError, match="stale"):
            check_token(connection, "b", old, now=at(2))
    assert release(database, holder="ann", token=old, now=at(3)) == ("a",)
    assert held(database, 3) == {"b": "ann", "c": "ann"}


def test_a_lease_lives_as_long_as_it_is_renewed_and_then_is_free(database: Database) -> None:
    token = granted(database, "ann", "a", now=at(0), seconds=60).token
    assert renew(database, holder="ann", token=token, seconds=60, now=at(59)) == at(119)
    denied(database, "bob", "a", now=at(118))
    taken = granted(database, "bob", "a", now=at(119))
    assert taken.token > token
    with pytest.raises(LeaseError, match="no longer ann's"):
        renew(database, holder="ann", token=token, now=at(120))
    assert [kind for kind, _, _ in story(database)] == ["granted", "denied", "expired", "granted"]


@pytest.mark.parametrize(("holder", "wrong"), [("ann", 1), ("bob", 0)])
def test_only_the_holder_with_the_right_token_renews(database: Database, holder: str, wrong: int) -> None:
    token = granted(database, "ann", "a", now=at(0)).token
    with pytest.raises(LeaseError):
        renew(database, holder=holder, token=token + wrong, now=at(1))


def test_an_expired_lease_is_lost_even_before_somebody_takes_it(database: Database) -> None:
    token = granted(database, "ann", "a", now=at(0), seconds=10).token
    with pytest.raises(LeaseError):
        renew(database, holder="ann", token=token, now=at(10))
    with database.writing() as connection, pytest.raises(LeaseError, match="has expired"):
        check_token(connection, "a", token, now=at(10))
    assert release(database, holder="ann", token=token, now=at(11)) == ()
    assert story(database)[-1] == ("expired", "a", "ann")


def test_expiry_frees_what_the_dead_hold_and_nothing_else(database: Database) -> None:
    granted(database, "dead", "a", "b", now=at(0), seconds=10)
    granted(database, "alive", "c", now=at(0), seconds=100)
    assert expire(database, at(9)) == ()
    assert expire(database, at(10)) == ("a", "b")
    assert expire(database, at(11)) == ()
    assert held(database, 11) == {"c": "alive"}


def test_releasing_twice_or_what_is_anothers_frees_nothing(database: Database) -> None:
    token = granted(database, "ann", "a", now=at(0)).token
    assert release(database, holder="bob", token=token, now=at(1)) == ()
    assert release(database, holder="ann", token=token, now=at(1)) == ("a",)
    assert release(database, holder="ann", token=token, now=at(1)) == ()
    assert story(database) == [("granted", "a", "ann"), ("released", "a", "ann")]


def test_a_stale_writer_is_refused_and_its_transaction_leaves_nothing(database: Database) -> None:
    from touchline.store.log_tables import meta

    old = granted(database, "ann", "a", seconds=10, now=at(0)).token
    new = granted(database, "bob", "a", now=at(20)).token

    def write(who: str, token: int) -> None:
        with database.writing() as connection:
            connection.execute(meta.insert().values(key=who, value=str(token)))
            check_token(connection, "a", token, now=at(21))

    write("bob", new)
    with pytest.raises(LeaseError, match="went to another grant"):
        write("ann", old)
    release(database, holder="bob", now=at(22))
    with pytest.raises(LeaseError, match="held by nobody"):
        write("bob2", new)
    with database.reading() as connection:
        found = connection.execute(sa.select(meta.c.key).where(meta.c.key != "purpose")).scalars().all()
    assert found == ["bob"]


def test_the_time_is_the_databases_and_has_a_zone(database: Database) -> None:
    with database.reading() as connection:
        told = time_of(connection)
    assert told.utcoffset() is not None
    assert abs((told - machine_time()).total_seconds()) < 60
    assert granted(database, "ann", "a", seconds=60).expires_at > told


@pytest.mark.parametrize(
    ("holder", "resources"),
    [("ann", []), ("ann", "src/app.py"), ("", ["a"]), ("x" * 201, ["a"]), ("ann", [""]), ("ann", ["a", "x" * 401])],
)
def test_names_that_cannot_be_kept_are_refused(database: Database, holder: str, resources: Any) -> None:
    with pytest.raises(InputError):
        acquire(database, holder=holder, resources=resources)
    assert held(database) == {}


def test_one_file_has_one_name() -> None:
    spellings = ["src/app.py", "./src/app.py", "src//app.py", "src/x/../app.py", "src\\app.py"]
    here = Path("/repositories/here")
    (name,) = {file_resource(each, here) for each in spellings}
    assert name.endswith(":src/app.py")
    assert name != file_resource("src/app.py", Path("/repositories/there")), "each repository has a file of its own"


@pytest.mark.parametrize("path", ["/etc/passwd", "../up.py", "a/../../up.py", ".", ""])
def test_a_path_outside_of_the_repository_has_no_name(path: str) -> None:
    with pytest.raises(InputError):
        file_resource(path, Path("/repositories/here"))


def test_what_a_dead_process_held_is_given_back_at_once_and_what_a_job_holds_is_not(database: Database) -> None:
    granted(database, in_process("host.1.ab", "merge"), "queue", "port", now=at(0))
    granted(database, "job-7", "file:a", now=at(0))  # it goes on elsewhere, under the same name
    granted(database, in_process("host.1.abc", "merge"), "other", now=at(0))
    granted(database, in_process("HOST.1.AB", "merge"), "third", now=at(0))
    denied(database, "next", "port", now=at(1))
    denied(database, in_process("host.1.ab", "reader"), "file:a", now=at(1))
    assert release_dead(database, "host.1.ab", now=at(2)) == ("port", "queue")
    assert set(held(database, 2)) == {"file:a", "other", "third"}
    told = {event.payload["resource"]: event.payload for event in read(database, patterns=["lock.released"])}
    assert set(told) == {"port", "queue"}
    assert told["port"]["reason"] == "holder_died"
    assert told["port"]["waiters"] == ["next"]
    # It waits for nothing any more: what is freed is not kept for it.
    release(database, holder="job-7", now=at(3))
    granted(database, "late", "file:a", now=at(3))
    assert release_dead(database, "host.1.ab", now=at(4)) == ()
