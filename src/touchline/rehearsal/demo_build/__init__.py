"""What does `touchline demo --build` play? A brief, what the models say about it, and an empty repository.

Only the words of the models are made up. The specification is written, clones are made, commands run, checks fail and
pass, commits are merged and the whole is validated for real.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
BRIEF = HERE / "brief.md"
ANSWERS = HERE / "answers.yaml"
"""What the model says that writes the specification and reviews."""
SCRIPT = HERE / "script.yaml"
"""What the agents' model says."""


@cache
def narration() -> Mapping[str, str]:
    """What is told when something happens, with places for what really happened."""
    import tomllib

    return tomllib.loads((HERE / "narration.toml").read_text(encoding="utf-8"))


def make_repository(folder: Path, env: Mapping[str, str]) -> Path:
    """A repository with a README and nothing else, in one commit."""
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("# split\n\nShares a bill between friends.\n", encoding="utf-8")
    (folder / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")
    who = ("-c", "user.name=Demo", "-c", "user.email=demo@touchline.invalid", "-c", "commit.gpgsign=false")
    for command in (("init", "--quiet", "--template="), ("add", "-A"), (*who, "commit", "--quiet", "-m", "Begin")):
        subprocess.run(  # noqa: S603
            ["git", *command],  # noqa: S607 - the user's own git
            cwd=folder,
            env={**env, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"},
            check=True,
            capture_output=True,
        )
    return folder
