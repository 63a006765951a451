"""Was this asked before, word for word? Answers kept by the hash of all that went into them, for replays."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from touchline.models.asking import Prompted


class Cache:
    """A folder of answers. A file that cannot be read is no answer; one that cannot be written is not kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, model: str, prompted: Prompted) -> Any | None:
        try:
            return json.loads(self._path(model, prompted).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def put(self, model: str, prompted: Prompted, value: Any) -> None:
        path = self._path(model, prompted)
        part = path.with_suffix(f".{os.getpid()}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
            part.replace(path)
        except OSError:
            with suppress(OSError):
                part.unlink(missing_ok=True)

    def _path(self, model: str, prompted: Prompted) -> Path:
        told = json.dumps(
            [model, prompted.question, prompted.instructions, prompted.prompt, prompted.schema], sort_keys=True
        )
        digest = hashlib.sha256(told.encode()).hexdigest()
        return self._folder / digest[:2] / f"{digest}.json"
