"""How is a question put to a model? Rendered, sent, checked against its type, asked again when it does not fit.

No database and no clock of its own: what it cost is in the answer, and the caller books it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol

from pydantic import ValidationError

from touchline.errors import ModelError
from touchline.models.cache import Cache
from touchline.models.naming import ModelName
from touchline.models.question import Question, R
from touchline.supervision.facts import Usage

TRIES = 3
SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompted:
    """One request to a model."""

    question: str
    """The question's name."""
    instructions: str
    prompt: str
    schema: Mapping[str, Any]
    """JSON schema of the answer."""
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """What came back."""

    value: Any
    """The JSON value the model gave, not yet checked."""
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    model: str = ""


class Backend(Protocol):
    """A way to reach a model. Raises `ModelError` when it cannot be asked, and
    returns what the model said, however wrong, in `Raw.value`: checking is the caller's."""

    def reply(self, prompted: Prompted) -> Raw: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[R]):
    """A model's answer, checked."""

    value: R
    model: str
    usage: Usage = field(default_factory=Usage)
    """Of all tries together."""
    cost_usd: float | None = None
    tries: int = 1
    cached: bool = False


@dataclass(slots=True)
class Asker:
    """Asks one configured model. Made by `opening.asker_for`."""

    name: ModelName
    backend: Backend
    cache: Cache | None = None
    seconds: float = SECONDS
    paid: list[tuple[str, Answer[Any]]] = field(default_factory=list)
    """All that was asked so far, what brought no usable answer included."""

    def ask(self, question: Question[R]) -> Answer[R]:
        """The answer, of the question's type. ModelError when the model cannot be reached in time, or gave nothing that
        fits in three tries."""
        instructions, prompt = question.parts()
        prompted = Prompted(
            question=question.name,
            instructions=instructions,
            prompt=prompt,
            schema=question.reply.model_json_schema(),
            seconds=self.seconds,
        )
        if self.cache is not None and (kept := self.cache.get(self.name.line, prompted)) is not None:
            try:
                return Answer(value=_checked(question, kept), model=self.name.line, cached=True)
            except ValueError:
                pass  # kept by an older version of the question
        try:
            answer = self._ask(question, prompted)
        except ModelError as error:
            self.paid += error.answers
            raise
        self.paid.append((question.name, answer))
        if self.cache is not None:
            self.cache.put(self.name.line, prompted, answer.value.model_dump(mode="json"))
        return answer

    def _ask(self, question: Question[R], prompted: Prompted) -> Answer[R]:
        usage, cost, wrong = Usage(), None, ""
        for number in range(1, TRIES + 1):
            again = f"\n\nYour last answer could not be used: {wrong}" if wrong else ""
            try:
                raw = self.backend.reply(replace(prompted, prompt=prompted.prompt + again))
            except ModelError as error:
                error.answers = self._paid(question, usage, cost, number - 1)
                raise
            usage += raw.usage
            cost = cost if raw.cost_usd is None else (cost or 0.0) + raw.cost_usd
            try:
                value = _checked(question, raw.value)
            except ValueError as error:
                wrong = str(error)
                continue
            return Answer(value=value, model=raw.model or self.name.line, usage=usage, cost_usd=cost, tries=number)
        unusable = ModelError(
            f"{self.name.line} gave no usable answer to {question.name} in {TRIES} tries: {wrong}",
            hint="Try another model, or look at its answers with a rehearsal.",
        )
        unusable.answers = self._paid(question, usage, cost, TRIES)
        raise unusable

    def _paid(
        self, question: Question[R], usage: Usage, cost: float | None, tries: int
    ) -> tuple[tuple[str, Answer[Any]], ...]:
        """What tries have cost that brought no answer."""
        if not tries:
            return ()
        lost: Answer[Any] = Answer(value=None, model=self.name.line, usage=usage, cost_usd=cost, tries=tries)
        return ((question.name, lost),)


def _checked(question: Question[R], value: Any) -> R:
    """The value as the question's answer; ValueError, with what is wrong in words for the model, when it is none."""
    try:
        reply: Any = question.reply.model_validate(value)
    except ValidationError as error:
        raise ValueError(
            "; ".join(f"{'.'.join(map(str, each['loc'])) or 'answer'}: {each['msg']}" for each in error.errors()[:5])
        ) from error
    if wrong := question.refused(reply):
        raise ValueError(wrong)
    return reply  # type: ignore[no-any-return]
