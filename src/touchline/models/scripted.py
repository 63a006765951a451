"""What would a model say? Answers from a file, chosen by question and by words in the prompt; for rehearsals and tests.

The file is YAML: a list of `question`, optional `when` (words that the prompt must contain), and `answer`. The first
entry that fits is taken, so the same prompt always gets the same answer, whoever asks and however often.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from touchline.errors import ModelError, ScriptError
from touchline.models.asking import Prompted, Raw
from touchline.supervision.facts import Usage


class ScriptedModel:
    """A backend that reads its answers from a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries = _load(path)

    def reply(self, prompted: Prompted) -> Raw:
        text = f"{prompted.instructions}\n{prompted.prompt}"
        for entry in self._entries:
            if entry["question"] == prompted.question and all(word in text for word in entry["when"]):
                size = len(text) // 4
                return Raw(value=entry["answer"], usage=Usage(input=size, output=50), cost_usd=0.0, model="scripted")
        raise ModelError(
            f"{self._path} has no answer to {prompted.question} for this prompt: {prompted.prompt[:200]!r}",
            hint="Add an entry with that question, and `when:` words from the prompt.",
        )


def _load(path: Path) -> list[dict[str, Any]]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        entries = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScriptError(f"The answers {path} cannot be read: {error.strerror}.", hint="Check the path.") from error
    except (YAMLError, UnicodeDecodeError) as error:
        raise ScriptError(f"{path} is not YAML: {error}") from error
    if not isinstance(entries, list):
        raise ScriptError(f"{path}:1: it must be a list of answers.", hint="Each with question, when, answer.")
    loaded = []
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict) or "question" not in entry or "answer" not in entry:
            raise ScriptError(f"{path}: answer {number} needs `question` and `answer`.")
        when = entry.get("when") or []
        words = [when] if isinstance(when, str) else [str(word) for word in when]
        loaded.append({"question": str(entry["question"]), "when": words, "answer": entry["answer"]})
    return loaded
