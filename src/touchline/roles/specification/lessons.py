"""Which lessons does a repository bring along? Markdown files in its `.touchline/lessons`, each with a small head."""

from __future__ import annotations

from pathlib import Path

from touchline.errors import SpecError
from touchline.roles.specification.front_matter import split_document
from touchline.roles.specification.gotchas import Gotcha

FOLDER = Path(".touchline") / "lessons"
_KEYS = {"pattern", "action", "confidence", "kind"}


def load_lessons(repository: Path) -> tuple[Gotcha, ...]:
    """All of them, by file name. SpecError, with file and line, for one that cannot be used."""
    return tuple(_lesson(path) for path in sorted((repository / FOLDER).glob("*.md")))


def _lesson(path: Path) -> Gotcha:
    name = f"{FOLDER}/{path.name}"
    try:
        document = split_document(path.read_text(encoding="utf-8"), file=name)
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{name}:1: it cannot be read: {error}.") from error
    text = document.body.strip()
    if not text:
        raise SpecError(f"{name}:{document.body_line}: the lesson says nothing.", hint="Write it below the head.")
    if unknown := sorted(set(document.head) - _KEYS):
        raise SpecError(f"{name}:2: {unknown[0]!r} is not known here.", hint=f"Known: {', '.join(sorted(_KEYS))}.")
    confidence = document.head.get("confidence", 0.7)
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise SpecError(f"{name}:2: the confidence {confidence!r} is no number from 0 to 1.")
    return Gotcha(
        text=" ".join(text.split()),
        pattern=str(document.head.get("pattern") or ""),
        action=str(document.head.get("action") or ""),
        confidence=float(confidence),
        source=name,
    )


def write_lesson(repository: Path, name: str, gotcha: Gotcha) -> Path:
    """Keep a lesson as a file of its own, where people can read and change it."""
    from touchline.roles.specification.front_matter import write_yaml

    folder = repository / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    head = {"kind": "gotcha", "confidence": gotcha.confidence}
    head |= {key: value for key in ("pattern", "action") if (value := getattr(gotcha, key))}
    path = folder / f"{name}.md"
    path.write_text(f"---\n{write_yaml(head)}---\n{gotcha.text}\n", encoding="utf-8")
    return path
