"""What does this package need, and how is it installed? One wording for every message; no package index has it."""

from __future__ import annotations


def how_to_install(extra: str = "") -> str:
    """The words of a hint. `--force`, because who reads it has Touchline already, without what is missing."""
    what = f"'.[{extra}]'" if extra else "."
    return (
        f"In a checkout of Touchline: pipx install --force {what}   "
        f"(with a virtual environment there: .venv/bin/pip install {what})"
    )


def needed(extra: str = "") -> tuple[str, ...]:
    """The packages that it needs, or that an extra adds; none where it runs from files that nobody installed."""
    import re
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("touchline") or []
    except PackageNotFoundError:
        return ()
    found = (re.fullmatch(r"([\w.-]+)[^;]*(?:;\s*extra\s*==\s*['\"](\w+)['\"])?", line) for line in lines)
    return tuple(match[1] for match in found if match is not None and (match[2] or "") == extra)
