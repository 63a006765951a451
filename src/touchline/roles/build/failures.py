"""A task failed: what now? Its error is put into a class by facts first, and each class has one decision."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, assert_never

from touchline.supervision.limits import Limits
from touchline.supervision.testruns import counts_of


class Failure(StrEnum):
    """What kind of failure it was."""

    SYNTAX = "syntax"
    MISSING_DEPENDENCY = "missing_dependency"
    CONFLICT = "conflict"
    VALIDATION = "validation"
    TRANSIENT = "transient"
    """A provider limit, the network, a crash, a program that could not be started: nobody's attempt."""
    ENVIRONMENT = "environment"
    ABANDONED = "abandoned"
    """The architect gave the attempt up, and said what it taught."""
    BUDGET = "budget"
    """What the build may spend is spent: no attempt, and the end of the build."""
    OTHER = "other"


Then = Literal["retry", "install", "rebase", "back_off", "skip", "escalate", "stop_build"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureDecision:
    """What follows from a failure."""

    then: Then
    failure: Failure
    why: str
    package: str = ""
    """For `install`: what is missing."""
    counts: bool = True
    """Whether this was an attempt of the task."""


SYNTAX_TRIES = 3
VALIDATION_TRIES = 2
CONFLICT_TRIES = 3
INSTALL_TRIES = 3
ABANDONED_TRIES = 2
BACK_OFF = (5.0, 15.0, 45.0, 120.0, 300.0, 600.0)
"""Seconds before each new try after an outage; when they are used up, a person is asked."""


def back_off(limits: Limits, outages: int) -> float:
    """How long to wait after as many outages. Shortened together with the sessions' own patience, in rehearsals."""
    delays = limits.retry_delays
    pace = min(1.0, delays[0] / BACK_OFF[0]) if delays else 1.0
    return BACK_OFF[min(outages, len(BACK_OFF) - 1)] * pace


def decide_failure(
    failure: Failure, *, attempts: int, detail: str = "", may_install: bool = False, outages: int = 0
) -> FailureDecision:
    """The decision; `attempts` counts those made so far, this one included; `outages` those waited out before."""
    first = detail.strip().partition("\n")[0][:300]

    def so(then: Then, why: str, *, package: str = "", counts: bool = True) -> FailureDecision:
        return FailureDecision(then=then, failure=failure, why=why, package=package, counts=counts)

    match failure:
        case Failure.SYNTAX:
            if attempts < SYNTAX_TRIES:
                return so("retry", f"The code does not parse; tried again with the error: {first}")
            return so("escalate", f"The code still does not parse after {attempts} attempts: {first}")
        case Failure.MISSING_DEPENDENCY:
            package = missing_package(detail)
            if package and may_install and attempts < INSTALL_TRIES:
                return so(
                    "install", f"{package} is missing; it is installed and the task tried again.", package=package
                )
            if package and may_install:
                return so("escalate", f"{package} is still missing after {attempts} attempts.")
            if package:
                return so(
                    "escalate", f"{package} is missing, and installing is not allowed (setting build.may_install)."
                )
            return so("escalate", f"Something is missing, and its name is not in the error: {first}")
        case Failure.CONFLICT:
            if attempts < CONFLICT_TRIES:
                return so("rebase", "The file was changed by another task; rebased and tried again.")
            return so("escalate", f"Still in conflict after {attempts} attempts: {first}")
        case Failure.VALIDATION:
            if attempts < VALIDATION_TRIES:
                return so("retry", f"The check did not pass; tried again with its output: {first}")
            return so("skip", f"The check did not pass in {attempts} attempts: {first}")
        case Failure.TRANSIENT:
            if outages < len(BACK_OFF):
                return so("back_off", f"It will pass by itself: {first}", counts=False)
            return so("escalate", f"It has not passed in {outages} tries: {first}", counts=False)
        case Failure.ENVIRONMENT:
            return so("stop_build", f"The machine must be mended first: {first}", counts=False)
        case Failure.BUDGET:
            return so("stop_build", f"The build's spending limit is reached: {first}", counts=False)
        case Failure.ABANDONED:
            if attempts < ABANDONED_TRIES:
                return so("retry", f"Given up by the architect; tried anew with the lesson: {first}")
            return so("escalate", f"Given up by the architect {attempts} times: {first}")
        case Failure.OTHER:
            # Whole: a person is to decide about it, and a reviewer's reasons may have many lines.
            return so("escalate", detail.strip()[:2000] or "It failed, and nothing says why.")
        case _:  # pragma: no cover
            assert_never(failure)


def classify_failure(
    detail: str,
    *,
    exit_code: int | None = None,
    checked: bool = False,
    is_own: Callable[[str], bool] = lambda name: False,  # noqa: ARG005
) -> Failure:
    """What kind of failure the output of a check or a tool shows; `checked`: it is the output of the task's check.
    `is_own` says whether a name is the project's own, so that its absence is no missing package."""
    for failure, pattern in _SIGNS if checked else (*_GIT_SIGNS, *_SIGNS):
        if not pattern.search(detail):
            continue
        if failure in (Failure.TRANSIENT, Failure.ENVIRONMENT) and checked and _tests_failed(detail):
            continue
        if failure is Failure.MISSING_DEPENDENCY and is_own(missing_package(detail)):
            continue
        return failure
    return Failure.VALIDATION if checked and exit_code != 0 else Failure.OTHER


def _tests_failed(output: str) -> bool:
    """A test that ran and failed will fail again, whatever it prints: it may be about limits or full disks itself."""
    counts = counts_of(output)
    return counts is not None and bool(counts.failed)


def missing_package(detail: str) -> str:
    """The name of what is missing, as the error gives it; empty when it does not."""
    for pattern in _MISSING:
        if found := pattern.search(detail):
            name = found[1]
            return "/".join(name.split("/")[:2]) if name.startswith("@") else re.split(r"[./]", name)[0]
    return ""


_MISSING = tuple(
    re.compile(pattern)
    for pattern in (
        r"ModuleNotFoundError: No module named ['\"]([\w.@/-]+)['\"]",
        r"Cannot find (?:module|package) ['\"](@?[\w][\w./-]*)['\"]",
        r"no required module provides package ([\w./-]+)",
        r"can't find crate for `([\w-]+)`",
    )
)
_GIT_SIGNS = (
    (Failure.ENVIRONMENT, re.compile(r"fatal: (?:bad object|loose object .* is corrupt|not a git repository)")),
)
"""Of our own use of git alone: a check runs in a clone that was made a moment ago, so what it prints is its own."""
_SIGNS = (
    (Failure.ENVIRONMENT, re.compile(r"No space left on device|Disk quota exceeded")),
    (Failure.CONFLICT, re.compile(r"^CONFLICT \(|<<<<<<< |Automatic merge failed", re.MULTILINE)),
    (Failure.MISSING_DEPENDENCY, re.compile("|".join(f"(?:{pattern.pattern})" for pattern in _MISSING))),
    (
        Failure.SYNTAX,
        re.compile(r"\b(?:SyntaxError|IndentationError|TabError)\b|error TS1\d{3}\b|syntax error[:,]|ParseError"),
    ),
    (
        Failure.TRANSIENT,
        re.compile(
            r"\b(?:ECONNRESET|ETIMEDOUT|EAI_AGAIN)\b|Temporary failure in name resolution|rate.?limit(?:ed)?\b",
            re.IGNORECASE,
        ),
    ),
)
