"""What becomes of an exception in a step? A value with its reason, so that the workflow ends well and the same on
replay."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from touchline.errors import DatabaseUnreachable, TouchlineError
from touchline.roles.build.failures import Failure, classify_failure
from touchline.store.outages import patiently


class Faulty(Exception):
    """A step did not come to its end; `why` is what the task's run ends with."""

    def __init__(self, why: Mapping[str, Any]) -> None:
        super().__init__(why["detail"])
        self.why = dict(why)


def guarded(work: Callable[..., Any], *args: Any) -> Any:
    """What the work returns, or `{"fault": ...}`. A database that is away is no result of anything: it is waited for,
    and in the end its error raised."""
    try:
        return patiently(work, *args)
    except DatabaseUnreachable:
        raise
    except TouchlineError as error:
        return {"fault": _fault(str(error), _word_of(error))}
    except OSError as error:
        return {"fault": _fault(f"{type(error).__name__}: {error}", "environment")}
    except Exception as error:
        logging.getLogger("touchline.build").exception("a step of a build")
        return {"fault": _fault(f"{type(error).__name__}: {error}", "internal_error")}


def _fault(detail: str, word: str) -> dict[str, Any]:
    """Facts in the message rank above the exception's type: a full disk looks like many things."""
    found = classify_failure(detail)
    reason = str(found) if found in (Failure.ENVIRONMENT, Failure.TRANSIENT) else word
    return {"how": "failed", "reason": reason, "detail": detail}


def _word_of(error: TouchlineError) -> str:
    """`WorkspaceError` is `workspace_error`."""
    name = type(error).__name__
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
