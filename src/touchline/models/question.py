"""What is a question to a model? A typed value with a prompt file of its own, and a type for the answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from touchline.errors import DataFileError

_PROMPTS = Path(__file__).with_name("prompts")


class Reply(BaseModel):
    """An answer. Unknown fields are refused: a model that invents one has not understood the question."""

    model_config = ConfigDict(frozen=True, extra="forbid")


R = TypeVar("R", bound=Reply)


class Question(BaseModel, Generic[R]):
    """A question. Its fields fill the placeholders of `prompts/<name>.md`, which begins with the role to answer in."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: ClassVar[str]
    reply: ClassVar[type[Reply]]

    def refused(self, reply: R) -> str:
        """Why this answer cannot be true to the question, though its type fits; empty when it can. Asked once more."""
        del reply
        return ""

    def parts(self) -> tuple[str, str]:
        """Instructions and prompt."""
        instructions, _, prompt = template(self.name).partition("\n---\n")
        values = {name: shown(getattr(self, name)) for name in type(self).model_fields}
        try:
            return instructions.strip(), Template(prompt).substitute(values).strip()
        except (KeyError, ValueError) as error:
            raise DataFileError(f"prompts/{self.name}.md: the placeholder {error} has no field.") from error


@cache
def template(name: str) -> str:
    """The text of a prompt file."""
    try:
        return (_PROMPTS / f"{name}.md").read_text(encoding="utf-8")
    except OSError as error:
        raise DataFileError(f"The prompt of the question {name!r} cannot be read: {error.strerror}.") from error


def shown(value: Any) -> str:
    """A field as it stands in a prompt."""
    if isinstance(value, str):
        return value.strip() or "(none)"
    if isinstance(value, BaseModel):
        return shown(value.model_dump())
    if isinstance(value, Mapping):
        return "\n".join(f"- {name}: {_line(each)}" for name, each in value.items()) or "(none)"
    if isinstance(value, Iterable):
        return "\n".join(f"- {_line(each)}" for each in value) or "(none)"
    return str(value)


def _line(value: Any) -> str:
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_line(each)}" for name, each in value.items() if each not in ("", None, [], ()))
    if isinstance(value, list | tuple):
        return ", ".join(_line(each) for each in value)
    return " ".join(str(value).split())
