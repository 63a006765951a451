"""What do OpenAI's two APIs share? The names of errors and the counting of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from touchline.rehearsal.turns import Fault

ERRORS = {
    "bad_request": ("invalid_request_error", None),
    "login": ("invalid_request_error", "invalid_api_key"),
    "forbidden": ("invalid_request_error", "forbidden"),
    "not_found": ("invalid_request_error", "model_not_found"),
    "rate_limit": ("rate_limit_error", "rate_limit_exceeded"),
    "server": ("server_error", None),
    "overloaded": ("server_error", "server_is_overloaded"),
    "too_long": ("invalid_request_error", "context_length_exceeded"),
}


def refusal(fault: Fault) -> Mapping[str, Any]:
    """The body of an error."""
    kind, code = ERRORS[fault.kind]
    return {"error": {"message": fault.message, "type": kind, "param": None, "code": code}}
