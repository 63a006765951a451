"""What is added to a task before an agent reads it? Pure transforms of the prompt; their words are in `prompts.toml`.

A completion marker is unique per invocation, so that one quoted from the prompt, an old log or a file proves nothing.
"""

from __future__ import annotations

import secrets
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from touchline.errors import DataFileError, InputError
from touchline.supervision.contract import Contract, Token

_DATA = Path(__file__).with_name("prompts.toml")
_BLOCKS = ("working_directory", "submodules", "read_only", "folders", "tokens", "marker")


def new_marker() -> str:
    """A completion marker that no text written before can hold."""
    return f"TASK-COMPLETE-{secrets.token_hex(8)}"


def with_skill(prompt: str, skill: str | None) -> str:
    """The prompt as a call of one of the CLI's skills (`/name` before it). A prompt that calls one already is kept."""
    if not skill or prompt.lstrip().startswith("/"):
        return prompt
    name = skill.removeprefix("/")
    if not name or any(c.isspace() for c in name):
        raise InputError(f"{skill!r} is no name of a skill.", hint="Give one word, such as /review.")
    return f"/{name} {prompt}"


def with_working_directory(prompt: str, workspace: Path) -> str:
    """Says where to work: an agent that finds another checkout of the project would else edit that."""
    return _joined(prompt, _words()["working_directory"].format(workspace=workspace))


def with_submodules(prompt: str, submodules: Sequence[str]) -> str:
    """Says which folders are empty, and why: an agent would else look for what is wrong."""
    if not submodules:
        return prompt
    return _joined(prompt, _words()["submodules"].format(submodules=", ".join(submodules)))


def with_folders(prompt: str, folders: Sequence[Path]) -> str:
    """Names the other folders that may be used."""
    if not folders:
        return prompt
    return _joined(prompt, _words()["folders"].format(folders=", ".join(map(str, folders))))


def with_read_only(prompt: str) -> str:
    """Says that nothing may be changed, which the sandbox enforces anyway."""
    return _joined(prompt, _words()["read_only"])


def with_completion(prompt: str, contract: Contract | None) -> str:
    """Says how to end: the tokens the contract asks for, and its marker alone on the last line.

    A JSON schema is not mentioned: the CLI is given it by its own means (`Request.schema`).
    """
    if contract is None:
        return prompt
    if contract.tokens:
        tokens = "\n".join(f"{token.name} = <{_kind(token)}>" for token in contract.tokens)
        prompt = _joined(prompt, _words()["tokens"].format(tokens=tokens))
    if contract.marker:
        prompt = _joined(prompt, _words()["marker"].format(marker=contract.marker))
    return prompt


def prepared(
    prompt: str,
    *,
    workspace: Path,
    submodules: Sequence[str] = (),
    folders: Sequence[Path] = (),
    skill: str | None = None,
    read_only: bool = False,
    contract: Contract | None = None,
) -> str:
    """A task's first prompt with everything added. Later prompts of the session go as they are."""
    prompt = with_working_directory(with_skill(prompt, skill), workspace)
    prompt = with_folders(with_submodules(prompt, submodules), folders)
    if read_only:
        prompt = with_read_only(prompt)
    return with_completion(prompt, contract)


def _kind(token: Token) -> str:
    return " or ".join(token.choices) or ("absolute path" if token.type == "path" else token.type)


@cache
def _words() -> Mapping[str, str]:
    try:
        data = tomllib.loads(_DATA.read_text("utf-8"))
        return {name: str(data[name]).strip() for name in _BLOCKS}
    except (OSError, ValueError, KeyError) as error:
        raise DataFileError(f"{_DATA.name} cannot be read: {error}.", hint="Install Touchline again.") from error


def _joined(prompt: str, block: str) -> str:
    return f"{prompt.rstrip()}\n\n{block}"
