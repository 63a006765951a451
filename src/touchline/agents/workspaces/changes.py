"""What does a commit change? Files with their state before and after, and lines added and taken away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from touchline.agents.workspaces.host_git import OUTPUT_BYTES, HostGit

Status = Literal["added", "changed", "deleted", "renamed", "type"]
"""`type`: a file became a link or a submodule, or the other way round."""
_STATUS: dict[str, Status] = {"A": "added", "M": "changed", "D": "deleted", "R": "renamed", "T": "type"}
_RENAMES = "1000"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One file of a difference."""

    path: str
    status: Status
    old_path: str
    """Where it was; the path itself unless it was renamed."""
    insertions: int | None
    """Lines; None for a binary file."""
    deletions: int | None
    old_mode: str
    """As git writes it: `100644`, `100755`, `120000` a link, `160000` a submodule, `000000` not there."""
    new_mode: str
    old_blob: str
    new_blob: str

    @property
    def binary(self) -> bool:
        return self.insertions is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """A difference between two commits."""

    base: str
    commit: str
    files: tuple[FileChange, ...] = ()

    @property
    def insertions(self) -> int:
        return sum(file.insertions or 0 for file in self.files)

    @property
    def deletions(self) -> int:
        return sum(file.deletions or 0 for file in self.files)


def changes_between(git: HostGit, base: str, commit: str) -> Changes:
    """The difference, with renames found; `git` is best a desk."""
    answer = git.run(
        "diff-tree",
        "-r",
        "-z",
        "--raw",
        "--numstat",
        "--no-abbrev",
        "--no-ext-diff",
        "--no-textconv",
        "-M",
        f"-l{_RENAMES}",
        base,
        commit,
    )
    fields = iter(answer.parts())
    raw: list[tuple[list[str], str, str]] = []
    counts: dict[str, tuple[int | None, int | None]] = {}
    for each in fields:
        if each.startswith(":"):
            about = each[1:].split(" ")
            old = next(fields)
            raw.append((about, old, next(fields) if about[4][0] in "RC" else old))
        else:
            path, plus, minus = _counted(each, fields)
            counts[path] = (plus, minus)
    return Changes(base=base, commit=commit, files=tuple(_file(*each, counts) for each in raw))


def patch_text(git: HostGit, base: str, commit: str, *, limit: int) -> str:
    """The whole difference as a patch; `WorkspaceError` when it is longer than `limit` bytes."""
    answer = git.run(
        "diff-tree", "-r", "-p", "-M", "--no-ext-diff", "--no-textconv", "--no-color", base, commit, limit=limit
    )
    return answer.out.decode("utf-8", "replace")


def _file(about: list[str], old: str, new: str, counts: dict[str, tuple[int | None, int | None]]) -> FileChange:
    plus, minus = counts.get(new, (0, 0))
    return FileChange(
        path=new,
        status=_STATUS.get(about[4][0], "changed"),
        old_path=old,
        insertions=plus,
        deletions=minus,
        old_mode=about[0],
        new_mode=about[1],
        old_blob=about[2],
        new_blob=about[3],
    )


def _counted(each: str, fields: Iterator[str]) -> tuple[str, int | None, int | None]:
    plus, minus, path = each.split("\t", 2)
    if not path:
        next(fields)
        path = next(fields)
    return path, None if plus == "-" else int(plus), None if minus == "-" else int(minus)


def contents_of(git: HostGit, changes: Changes, *, limit: int, total: int) -> dict[str, bytes]:
    """The contents before and after, by their hash; those longer than `limit`, or beyond `total`, are left out."""
    blobs = {
        blob
        for file in changes.files
        for mode, blob in ((file.old_mode, file.old_blob), (file.new_mode, file.new_blob))
        if mode not in ("000000", "160000")
    }
    sizes = git.run("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=_lines(blobs)).text.splitlines()
    wanted: list[str] = []
    for line in sizes:
        blob, _, size = line.partition(" ")
        if size.isdigit() and int(size) <= min(limit, total):
            total -= int(size)
            wanted.append(blob)
    out = git.run("cat-file", "--batch", stdin=_lines(wanted), limit=4 * OUTPUT_BYTES).out
    found: dict[str, bytes] = {}
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        name, _, size = out[at:end].decode("ascii").rpartition(" ")
        at = end + 1 + int(size)
        found[name.partition(" ")[0]] = out[end + 1 : at]
        at += 1
    return found


def _lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode("ascii")
