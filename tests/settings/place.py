"""A project and a user's folders, as files; settings are read from them as a door does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from touchline.settings.loading import Found, find_settings


@dataclass(frozen=True, kw_only=True)
class Desk:
    """A repository below a folder, and the home of the person who works on it."""

    home: Path
    root: Path

    @property
    def env(self) -> dict[str, str]:
        return {"XDG_CONFIG_HOME": str(self.home / "config"), "XDG_STATE_HOME": str(self.home / "state")}

    @property
    def project(self) -> Path:
        return self.root / "touchline.toml"

    @property
    def user(self) -> Path:
        return self.home / "config" / "touchline" / "config.toml"

    def write_user(self, text: str) -> None:
        self.user.parent.mkdir(parents=True, exist_ok=True)
        self.user.write_text(text, encoding="utf-8")

    def found(self, flags: Mapping[str, Any] | None = None, **env: str) -> Found:
        """What holds in a folder below the root."""
        below = self.root / "src"
        below.mkdir(exist_ok=True)
        return find_settings(flags or {}, {**self.env, **env}, below, self.home)


def desk_at(folder: Path) -> Desk:
    desk = Desk(home=folder / "home", root=folder / "project")
    (desk.root / ".git").mkdir(parents=True)
    desk.home.mkdir()
    return desk
