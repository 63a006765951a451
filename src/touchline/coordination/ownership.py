"""Whose is this file or document, and how does somebody else get a change into it?

A lease says who touches a thing right now; ownership says who answers for it. Others ask for a change, the owner says
yes or no. All of this happens in the caller's transaction; a conflict is told in the same one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from touchline.coordination.lock_events import SOURCE
from touchline.coordination.section import time_of
from touchline.errors import InputError, LeaseError
from touchline.store.append import append
from touchline.store.events import Ids, NewEvent
from touchline.store.statuses import create, move
from touchline.store.tables import change_requests, owners


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRequest:
    """Somebody wants something changed that is another's."""

    id: str
    resource: str
    requester: str
    owner: str
    """Who answers it."""
    change: str
    """What is to be changed, in words."""
    status: str
    answer: str
    created_at: datetime
    updated_at: datetime


def owner_of(connection: sa.Connection, resource: str) -> str | None:
    """Who answers for it; None when nobody does."""
    return connection.execute(sa.select(owners.c.owner).where(owners.c.resource == resource)).scalar()


def own(connection: sa.Connection, resource: str, owner: str) -> None:
    """Become the owner of what nobody owns; again is no error. LeaseError when it is another's."""
    _checked(resource, owner)
    insert = (sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert)(owners)
    connection.execute(
        insert.values(resource=resource, owner=owner, since=time_of(connection)).on_conflict_do_nothing(
            index_elements=["resource"]
        )
    )
    # Asked afterwards: of two who come at once, one finds the other.
    found = _locked_owner(connection, resource)
    if found != owner:
        raise LeaseError(f"{resource} belongs to {found}, not to {owner}.", hint="Ask for a change instead.")


def transfer(connection: sa.Connection, resource: str, *, to: str, expect: str | None = None) -> str | None:
    """Make somebody the owner, and return who was. `expect` is who should be; LeaseError when it is another.

    Requests that are still open are the new owner's to answer; its own are accepted.
    """
    _checked(resource, to)
    before = _locked_owner(connection, resource)
    if expect is not None and before != expect:
        raise LeaseError(f"{resource} belongs to {before or 'nobody'}, not to {expect}.", hint="Look at it again.")
    if before is None:
        own(connection, resource, to)
    elif before != to:
        moment = time_of(connection)
        connection.execute(owners.update().where(owners.c.resource == resource).values(owner=to, since=moment))
    for request in requests(connection, resource=resource, status="open"):
        if request.requester == to:
            move(connection, "change_requests", request.id, "accepted", answer=f"{to} owns {resource} now", owner=to)
        elif request.owner != to:
            connection.execute(change_requests.update().where(change_requests.c.id == request.id).values(owner=to))
    return before


def request_change(
    connection: sa.Connection, *, resource: str, requester: str, change: str, ids: Ids | None = None
) -> ChangeRequest:
    """Ask the owner for a change. The same open request again is the same request, and told once.

    What nobody owns becomes the requester's, and the request is accepted. The owner needs no request (InputError).
    """
    _checked(resource, requester)
    owner = _locked_owner(connection, resource)
    if owner is None:
        own(connection, resource, requester)
        accepted = {"status": "accepted", "answer": f"nobody owned {resource}"}
        return _created(connection, resource, requester, requester, change, **accepted)
    if owner == requester:
        raise InputError(f"{requester} owns {resource} already.", hint="Change it, with a lease on it.")
    for known in requests(connection, resource=resource, status="open"):
        if (known.requester, known.change) == (requester, change):
            return known
    request = _created(connection, resource, requester, owner, change)
    payload = {
        "resource": resource,
        "requester": requester,
        "owner": owner,
        "kind": "ownership",
        "change_request": request.id,
        "text": change,
    }
    append(connection, [NewEvent(type="conflict.detected", payload=payload, source=SOURCE, ids=ids or Ids())])
    return request


def answer_change(
    connection: sa.Connection, id: str, *, by: str, accept: bool, answer: str = "", overrule: bool = False
) -> ChangeRequest:
    """Say yes or no to an open request. Only its owner may, or whoever may `overrule` the owner."""
    request = request_of(connection, id)
    if by != request.owner and not overrule:
        raise LeaseError(f"{id} is {request.owner}'s to answer, not {by}'s.", hint="Let the owner answer.")
    move(connection, "change_requests", id, "accepted" if accept else "denied", expect="open", answer=answer)
    return request_of(connection, id)


def end_change(connection: sa.Connection, id: str, *, how: Literal["done", "withdrawn"]) -> ChangeRequest:
    """An accepted change is done, or the requester no longer wants it."""
    move(connection, "change_requests", id, how)
    return request_of(connection, id)


def request_of(connection: sa.Connection, id: str) -> ChangeRequest:
    """The request with this id; InputError when there is none."""
    row = connection.execute(sa.select(change_requests).where(change_requests.c.id == id)).mappings().first()
    if row is None:
        raise InputError(f"There is no change request {id!r}.", hint="Check the id.")
    return ChangeRequest(**row)


def requests(
    connection: sa.Connection, *, resource: str | None = None, owner: str | None = None, status: str | None = None
) -> list[ChangeRequest]:
    """Change requests, oldest first."""
    question = sa.select(change_requests).order_by(change_requests.c.created_at, change_requests.c.id)
    wanted = {"resource": resource, "owner": owner, "status": status}
    for name, value in wanted.items():
        if value is not None:
            question = question.where(change_requests.c[name] == value)
    return [ChangeRequest(**row) for row in connection.execute(question).mappings()]


def _created(
    connection: sa.Connection, resource: str, requester: str, owner: str, change: str, **also: str
) -> ChangeRequest:
    moment = time_of(connection)
    id = create(
        connection,
        "change_requests",
        resource=resource,
        requester=requester,
        owner=owner,
        change=change,
        created_at=moment,
        updated_at=moment,
        **also,
    )
    return request_of(connection, id)


def _locked_owner(connection: sa.Connection, resource: str) -> str | None:
    """The owner, who stays it until this transaction ends."""
    question = sa.select(owners.c.owner).where(owners.c.resource == resource).with_for_update()
    return connection.execute(question).scalar()


def _checked(resource: str, who: str) -> None:
    for value, kind, most in ((resource, "resource", 400), (who, "owner or requester", 200)):
        if not value or len(value) > most:
            raise InputError(f"{value[:60]!r} is no name of a {kind}.", hint=f"Use 1 to {most} characters.")
