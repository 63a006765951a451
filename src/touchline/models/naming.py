"""Which model is meant? One line of configuration, read into a value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from touchline.errors import ModelError

Backend = Literal["provider", "compatible", "cli", "scripted"]
EXAMPLES = (
    "anthropic:claude-sonnet-5-5",
    "openai:gpt-6-sol",
    "http://127.0.0.1:8080/v1#qwen2.5-coder",
    "cli:claude",
    "scripted:answers.yaml",
)
SET = (
    "Set one: export TOUCHLINE_MODEL=cli:claude (or anthropic:..., openai:..., http://host/v1#model); "
    'in touchline.toml it is model = "cli:claude" under [judge].'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelName:
    """A model and how it is reached."""

    line: str
    """As it was configured; what is shown and recorded."""
    backend: Backend
    target: str
    """The provider and model, the base URL, the agent's name, or the file of answers."""
    model: str = ""
    """The model to ask there; empty leaves it to the backend."""


def parse_model(line: str) -> ModelName:
    """The model that a line names. ModelError, with what to set, for an empty line and for one that fits nothing."""
    text = line.strip()
    if not text:
        raise ModelError("No model is configured, and this needs one.", hint=SET)
    if re.match(r"https?://", text):
        url, _, model = text.partition("#")
        if not model:
            raise ModelError(f"{text!r} names no model.", hint="Put it behind a #: http://host/v1#model-name")
        return ModelName(line=text, backend="compatible", target=url.rstrip("/"), model=model)
    head, colon, rest = text.partition(":")
    if not colon or not rest.strip():
        raise ModelError(f"{text!r} is no model.", hint=f"Such lines work: {', '.join(EXAMPLES)}.")
    if head == "cli":
        agent, _, model = rest.partition("#")
        return ModelName(line=text, backend="cli", target=agent.strip(), model=model.strip())
    if head == "scripted":
        return ModelName(line=text, backend="scripted", target=rest.strip())
    return ModelName(line=text, backend="provider", target=text)
