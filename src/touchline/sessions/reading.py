"""Who reads a stop that the rules cannot? A reader that another room registered by the name of the session's reviewer.

He is asked once per stop, and only where the rules are unsure. He can overrule neither the record nor how the process
ended; when he cannot be asked, the rules stand and a person sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from touchline.errors import ModelError
from touchline.sessions.records import SessionRecord
from touchline.supervision.judge import Question, Verdict

if TYPE_CHECKING:
    from touchline.models.asking import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclear:
    """A stop that the rules are unsure of."""

    question: Question
    evidence: tuple[str, ...]
    """What was observed, in words."""
    proved: bool
    """Whether the record shows that the work was checked after its last change."""
    session: SessionRecord
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reader says."""

    verdict: Verdict
    answers: tuple[tuple[str, Answer[Any]], ...] = ()
    """What a model was asked for it, for the books."""


Reader = Callable[[Unclear], Reading]
"""Like a reviewer: slow, may raise, after a crash perhaps asked twice."""

READERS: dict[str, Reader] = {}
"""The hook point: by the name that the session has as its reviewer."""


class Judge:
    """A reader as `classify` asks him: the same stop again gets the same verdict."""

    def __init__(
        self, reader: Reader, session: SessionRecord, env: Mapping[str, str], shown: Mapping[str, Any]
    ) -> None:
        self._reader, self._session, self._env, self._shown = reader, session, env, shown
        self._verdict: Verdict | None = None
        self.answers: tuple[tuple[str, Answer[Any]], ...] = ()
        """What it cost, for the books."""

    def __call__(self, question: Question) -> Verdict:
        if self._verdict is None:
            try:
                read = self._reader(self._unclear(question))
            except ModelError as error:
                self.answers += error.answers
                raise
            self.answers += read.answers
            self._verdict = read.verdict
        return self._verdict

    def _unclear(self, question: Question) -> Unclear:
        told = {name: value for name, value in self._shown.items() if value not in (None, [], "", {})}
        return Unclear(
            question=question,
            evidence=tuple(f"{name}: {value}" for name, value in told.items()),
            proved=bool(self._shown.get("verified_after_last_edit")),
            session=self._session,
            env=self._env,
        )


def judge_for(session: SessionRecord, env: Mapping[str, str], shown: Mapping[str, Any]) -> Judge | None:
    """Who reads this session's unclear stops; None when nobody does."""
    reader = READERS.get(session.asked.reviewer or "")
    return None if reader is None else Judge(reader, session, env, shown)
