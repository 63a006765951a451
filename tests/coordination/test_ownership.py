"""Ownership: one owner at a time, change requests to it, transfer; a conflict is told with the request."""

from __future__ import annotations

import threading

import pytest

from touchline.coordination.ownership import (
    answer_change,
    end_change,
    own,
    owner_of,
    request_change,
    requests,
    transfer,
)
from touchline.errors import InputError, LeaseError, StatusError
from touchline.store.database import Database
from touchline.store.events import read


def test_what_nobody_owns_can_be_owned_by_one(database: Database) -> None:
    with database.writing() as connection:
        assert owner_of(connection, "brief.md") is None
        own(connection, "brief.md", "ideation")
        own(connection, "brief.md", "ideation")
        with pytest.raises(LeaseError, match="belongs to ideation"):
            own(connection, "brief.md", "build")
        assert owner_of(connection, "brief.md") == "ideation"


def test_of_many_who_come_at_once_one_is_the_owner(database: Database) -> None:
    barrier = threading.Barrier(6)
    won: list[str] = []

    def come(name: str) -> None:
        barrier.wait()
        try:
            with database.writing() as connection:
                own(connection, "brief.md", name)
        except LeaseError:
            return
        won.append(name)

    threads = [threading.Thread(target=come, args=(f"role{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    with database.reading() as connection:
        assert won == [owner_of(connection, "brief.md")]


def test_a_request_goes_to_the_owner_and_is_told_once(database: Database) -> None:
    with database.writing() as connection:
        own(connection, "spec.md", "specification")
        first = request_change(connection, resource="spec.md", requester="build", change="name the endpoint")
        again = request_change(connection, resource="spec.md", requester="build", change="name the endpoint")
    assert first == again
    assert (first.owner, first.status) == ("specification", "open")
    (event,) = read(database, patterns=["conflict.*"])
    assert event.payload["change_request"] == first.id
    assert (event.payload["requester"], event.payload["owner"]) == ("build", "specification")


def test_a_request_in_a_transaction_that_fails_leaves_neither_row_nor_event(database: Database) -> None:
    with database.writing() as connection:
        own(connection, "spec.md", "specification")

    def fail() -> None:
        with database.writing() as connection:
            request_change(connection, resource="spec.md", requester="build", change="x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with database.reading() as connection:
        assert requests(connection) == []
    assert read(database) == []


def test_only_the_owner_answers_and_only_once(database: Database) -> None:
    with database.writing() as connection:
        own(connection, "spec.md", "specification")
        request = request_change(connection, resource="spec.md", requester="build", change="x")
        with pytest.raises(LeaseError, match="specification's to answer"):
            answer_change(connection, request.id, by="build", accept=True)
        answered = answer_change(connection, request.id, by="specification", accept=True, answer="go on")
        assert (answered.status, answered.answer) == ("accepted", "go on")
        with pytest.raises(StatusError):
            answer_change(connection, request.id, by="specification", accept=False)
        assert end_change(connection, request.id, how="done").status == "done"
        with pytest.raises(StatusError):
            end_change(connection, request.id, how="withdrawn")


def test_the_manager_may_overrule_and_a_denial_is_final(database: Database) -> None:
    with database.writing() as connection:
        own(connection, "spec.md", "specification")
        request = request_change(connection, resource="spec.md", requester="build", change="x")
        assert answer_change(connection, request.id, by="manager", accept=False, overrule=True).status == "denied"
        anew = request_change(connection, resource="spec.md", requester="build", change="x")
        assert anew.id != request.id


def test_what_nobody_owns_goes_to_whoever_wants_to_change_it(database: Database) -> None:
    with database.writing() as connection:
        request = request_change(connection, resource="new.md", requester="ux", change="begin it")
        assert request.status == "accepted"
        assert owner_of(connection, "new.md") == "ux"
        with pytest.raises(InputError, match="owns new"):
            request_change(connection, resource="new.md", requester="ux", change="go on")
    assert read(database, patterns=["conflict.*"]) == []


def test_a_transfer_takes_the_open_requests_along(database: Database) -> None:
    with database.writing() as connection:
        own(connection, "spec.md", "specification")
        mine = request_change(connection, resource="spec.md", requester="build", change="x")
        other = request_change(connection, resource="spec.md", requester="ux", change="y")
        with pytest.raises(LeaseError, match="not to ideation"):
            transfer(connection, "spec.md", to="build", expect="ideation")
        assert transfer(connection, "spec.md", to="build", expect="specification") == "specification"
        assert owner_of(connection, "spec.md") == "build"
        found = {each.id: each for each in requests(connection, resource="spec.md")}
        assert found[mine.id].status == "accepted"
        assert (found[other.id].status, found[other.id].owner) == ("open", "build")
        assert transfer(connection, "free.md", to="ux") is None
        assert owner_of(connection, "free.md") == "ux"


def test_an_unknown_request_and_names_that_cannot_be_kept_are_refused(database: Database) -> None:
    with database.writing() as connection:
        with pytest.raises(InputError, match="no change request"):
            answer_change(connection, "change_nope", by="x", accept=True)
        for resource, owner in (("", "a"), ("x" * 401, "a"), ("a", ""), ("a", "x" * 201)):
            with pytest.raises(InputError):
                own(connection, resource, owner)
