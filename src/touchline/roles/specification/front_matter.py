"""What stands at the head of a document? The YAML between two `---` lines, and where the rest begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from touchline.errors import SpecError


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document's head and body."""

    head: Mapping[str, Any]
    body: str
    body_line: int
    """The line of the file with which the body begins, counted from 1."""


def split_document(text: str, *, file: str) -> Document:
    """Head and body. A document without a head has an empty one; a head that is not closed is an error."""
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].rstrip() != "---":
        return Document(head={}, body=text, body_line=1)
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == "---":
            head = read_yaml("".join(lines[1:number]), file=file, line=2)
            return Document(head=head, body="".join(lines[number + 1 :]), body_line=number + 2)
    raise SpecError(f"{file}:1: the front matter is not closed.", hint="End it with a line of three dashes.")


def read_yaml(text: str, *, file: str, line: int) -> dict[str, Any]:
    """A YAML mapping that begins at that line of the file. SpecError, with the line, when it is broken."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        value = YAML(typ="safe", pure=True).load(text)
    except MarkedYAMLError as error:
        at = line + (error.problem_mark.line if error.problem_mark is not None else 0)
        what = " ".join(filter(None, (error.context, error.problem)))
        raise SpecError(f"{file}:{at}: this is not YAML: {what}.", hint="Mend the block and try again.") from error
    except YAMLError as error:
        raise SpecError(f"{file}:{line}: this is not YAML: {error}.", hint="Mend the block and try again.") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SpecError(f"{file}:{line}: this must be `name: value` lines, not a {type(value).__name__}.")
    return {str(key): each for key, each in value.items()}


def write_yaml(value: Mapping[str, Any]) -> str:
    """A mapping as YAML, in the order given; texts of several lines as blocks."""
    import io

    from ruamel.yaml import YAML
    from ruamel.yaml.scalarstring import LiteralScalarString

    def shaped(each: Any) -> Any:
        if isinstance(each, str) and "\n" in each:
            return LiteralScalarString(each if each.endswith("\n") else each + "\n")
        if isinstance(each, Mapping):
            return {key: shaped(under) for key, under in each.items()}
        if isinstance(each, list | tuple):
            return [shaped(under) for under in each]
        return each

    yaml = YAML()
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO()
    yaml.dump(shaped(dict(value)), out)
    return out.getvalue()
