"""Which file names may come out of an agent's folder? None that git, here or on another system, takes for its own.

Standard library only.
"""

from __future__ import annotations

import re

PATH_BYTES = 1_024
PART_BYTES = 255
_UNSEEN_BY_HFS = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_OWN = re.compile(r"(?:\.git|git~\d+)(?:[ .]*(?::.*)?)?", re.IGNORECASE | re.DOTALL)
_OWN_FILES = re.compile(r"(?:\.gitmodules|gitmod~\d+)(?:[ .]+(?::.*)?|:.*)", re.IGNORECASE | re.DOTALL)


def refused_name(path: str) -> str:
    """Why a path of a commit is refused; empty when it is fine. Paths have slashes and start in the repository."""
    raw = path.encode("utf-8", "surrogateescape")
    if not path or path.startswith("/") or "\0" in path:
        return "it is no path within a repository"
    if len(raw) > PATH_BYTES:
        return f"it is longer than {PATH_BYTES} bytes"
    for part in path.split("/"):
        if part in ("", ".", ".."):
            return "it leads out of its folder"
        if len(part.encode("utf-8", "surrogateescape")) > PART_BYTES:
            return f"a part of it is longer than {PART_BYTES} bytes"
        # On Windows a backslash parts names, too.
        for piece in part.split("\\"):
            plain = _UNSEEN_BY_HFS.sub("", piece)
            if _OWN.fullmatch(plain) or _OWN_FILES.fullmatch(plain):
                return "some systems take it for the folder that git keeps for itself"
            if piece == "..":
                return "it leads out of its folder"
    return ""
