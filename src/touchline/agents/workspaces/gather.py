"""What has the agent done in its clone? Makes a bundle of it: its commits, and what it did not commit as one more.

Runs as a program of its own, inside the sandbox where there is one. Git runs here with a repository of ours that
merely borrows the clone's objects, so that no setting, hook or attribute of the agent's counts; files are read by
`agent_files`. Whatever comes out is checked again by `collect`. Standard library only.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from touchline.agents.workspaces.agent_files import AgentFiles, TooLarge, store_blob
from touchline.agents.workspaces.agent_refs import AgentRefs, read_refs
from touchline.agents.workspaces.hardening import hardened_command, hardened_environment, make_repository
from touchline.agents.workspaces.names import refused_name

BUNDLE = "work.bundle"
REQUEST = "request.json"
ANSWER = "gathered.json"
REF = "refs/heads/work"
_LINK = "160000"
_LISTED_BYTES = 64 * 1024 * 1024
_NAMED = 100
_DEPTH = 5


class Refused(Exception):
    """The work cannot be gathered; the argument says why, for a person."""


@dataclass(slots=True, kw_only=True)
class Gathering:
    """One gathering, as `collect` asks for it. Plain values only: it travels as JSON."""

    clone: str
    outbox: str
    base: str
    hash_name: str
    objects: str
    """The user's objects: the base is there even when the agent has wrecked its own."""
    shallow: str
    excludes: str
    commits: bool
    """False takes the files alone, as one commit on the base."""
    left_out: list[str]
    """Files that stay as they were at the start."""
    name: str
    email: str
    message: str
    files: int
    file_bytes: int
    bundle_bytes: int
    remarks: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def git_dir(self) -> Path:
        return Path(self.outbox) / "scratch.git"

    def run(self) -> dict[str, Any]:
        refs = read_refs(Path(self.clone)) if self.commits else None
        self._begin(refs)
        start = self._start(refs)
        tree, changed = self._tree(start)
        head = start
        if tree != self._git("rev-parse", f"{start}^{{tree}}"):
            head = self._git("commit-tree", "--no-gpg-sign", tree, "-p", start, "-m", self.message)
        if head != self.base:
            self._git("update-ref", REF, head)
            self._git("bundle", "create", "--quiet", str(Path(self.outbox, BUNDLE)), REF, f"^{self.base}")
        if refs is not None:
            self._note_branches(refs, head)
        return {
            "head": head,
            "agent_head": start,
            "uncommitted": changed if head != start else 0,
            "remarks": self.remarks,
            "refused": self.refused,
            "ignored": self._ignored(),
        }

    def _begin(self, refs: AgentRefs | None) -> None:
        shutil.rmtree(self.git_dir, ignore_errors=True)
        Path(self.outbox, BUNDLE).unlink(missing_ok=True)
        make_repository(self.git_dir, self.hash_name)
        stores = [self.objects]
        if refs is not None:
            self.remarks.extend(refs.remarks)
            stores += [str(refs.objects)] if refs.objects else []
        (self.git_dir / "objects/info/alternates").write_text("".join(f"{_quoted(each)}\n" for each in stores))
        if self.shallow:
            (self.git_dir / "shallow").write_text(self.shallow, encoding="ascii")
        (self.git_dir / "nothing").mkdir(exist_ok=True)
        (self.git_dir / "info/exclude").write_text(self.excludes, encoding="utf-8", errors="surrogateescape")

    def _start(self, refs: AgentRefs | None) -> str:
        """The last of the agent's commits, when they build on the base; else the base."""
        head = refs.head if refs is not None else None
        if head is None or head == self.base:
            return self.base
        if self._code("cat-file", "-e", f"{head}^{{commit}}"):
            self.remarks.append(f"its commit {head[:12]} cannot be read; the files were taken as one commit")
        elif self._code("merge-base", "--is-ancestor", self.base, head):
            self.remarks.append("it rewrote the history it was given; the files were taken as one commit")
        elif self._code("rev-list", "--objects", "--quiet", head, f"^{self.base}"):
            self.remarks.append("parts of its commits are missing; the files were taken as one commit")
        else:
            return head
        return self.base

    def _tree(self, start: str) -> tuple[str, int]:
        """A tree of the files as they are now, and how many of them differ from the start."""
        before, at_base = self._entries(start), self._entries(self.base)
        self._git("read-tree", start)
        links = {path for path, (mode, _) in before.items() if mode == _LINK}
        lines: list[str] = []
        for path in sorted(links):
            if before[path] != at_base.get(path):
                self.remarks.append(f"{path}: a submodule that the agent made or moved was not taken")
                links.discard(path)
                known = at_base.get(path, ("0", self.base))
                lines.append(f"{known[0] if known[0] == _LINK else '0'} {known[1]}\t{path}")
        self._update(lines)
        changed = len(lines)
        lines = []
        with AgentFiles(Path(self.clone), hash_name=self.hash_name, file_bytes=self.file_bytes) as files:
            for path in sorted(links):
                if files.is_filled(path):
                    self.remarks.append(f"{path}: files in the folder of a submodule were not taken")
            for path in sorted({*before} - links | set(self._new_files())):
                line = self._line(files, path, before.get(path))
                if line:
                    lines.append(line)
                    if len(lines) > self.files:
                        raise Refused(f"more than {self.files} files differ from the agent's last commit")
        # What went must go first: a folder may have taken a file's place.
        self._update(sorted(lines, key=lambda line: not line.startswith("0 ")))
        return self._git("write-tree"), changed + len(lines)

    def _line(self, files: AgentFiles, path: str, known: tuple[str, str] | None) -> str:
        """What to tell the index of a path; empty when it is as it was."""
        mode, blob = known or ("", "")
        gone = f"0 {'0' * len(self.base)}\t{path}" if known and mode != _LINK else ""
        if path in self.left_out:
            return ""
        why = refused_name(path)
        try:
            found = None if why else files.find(path, expected=blob)
        except TooLarge as error:
            found, why = None, f"{error.args[0]} bytes are over the limit of {self.file_bytes} for a file"
        except PermissionError:
            found, why = None, "it cannot be read"
        if why:
            self.refused.append(f"{path}: {why}")
            return gone if known is None or refused_name(path) else ""
        if found is None:
            return gone
        if (found.mode, found.blob) == (mode, blob):
            return ""
        if found.content is not None:
            store_blob(self.git_dir / "objects", found.blob, found.content)
        return f"{found.mode} {found.blob}\t{path}"

    def _new_files(self, inside: str = "", depth: int = 0) -> Iterable[str]:
        """Files that git does not know and nobody ignores; of a repository within the folder, its files."""
        root = Path(self.clone, inside)
        empty = {"GIT_INDEX_FILE": str(self.git_dir / "no-index")} if inside else {}
        listed = self._list("ls-files", "-z", "--others", "--exclude-standard", GIT_WORK_TREE=str(root), **empty)
        for path in listed:
            path = f"{inside}{path}"
            if not path.endswith("/"):
                yield path
            elif depth < _DEPTH:
                self.remarks.append(f"{path}: a repository of its own; its files were taken, its history was not")
                yield from self._new_files(path, depth + 1)

    def _ignored(self) -> list[str]:
        listed = self._list(
            "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", GIT_WORK_TREE=self.clone
        )
        return listed[:_NAMED]

    def _note_branches(self, refs: AgentRefs, head: str) -> None:
        for name, commit in refs.branches.items():
            if self._code("cat-file", "-e", f"{commit}^{{commit}}") == 0 and self._code(
                "merge-base", "--is-ancestor", commit, head
            ):
                what = "a stash" if name == "refs/stash" else f"the branch {name.removeprefix('refs/heads/')}"
                self.remarks.append(f"{what} holds commits that were not taken")

    def _entries(self, commit: str) -> dict[str, tuple[str, str]]:
        found: dict[str, tuple[str, str]] = {}
        for entry in self._list("ls-tree", "-r", "-z", "--full-tree", commit):
            about, _, path = entry.partition("\t")
            mode, _, blob = about.split(" ")
            found[path] = (mode, blob)
        return found

    def _update(self, lines: list[str]) -> None:
        if lines:
            given = b"".join(os.fsencode(line) + b"\0" for line in lines)
            _run(hardened_command("update-index", "-z", "--index-info"), self._env(), given)

    def _list(self, *arguments: str, **env: str) -> list[str]:
        out = _run(hardened_command(*arguments), {**self._env(), **env})
        return [os.fsdecode(part) for part in out.split(b"\0")[:-1]]

    def _git(self, *arguments: str) -> str:
        return _run(hardened_command(*arguments), self._env()).decode("utf-8", "replace").strip()

    def _code(self, *arguments: str) -> int:
        return subprocess.run(  # noqa: S603 - our own arguments; no shell
            hardened_command(*arguments),
            env=self._env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        ).returncode

    def _env(self) -> dict[str, str]:
        who = {"NAME": self.name, "EMAIL": self.email}
        return {
            **hardened_environment(os.environ),
            "GIT_DIR": str(self.git_dir),
            # An empty folder: no attribute of the agent's is read.
            "GIT_WORK_TREE": str(self.git_dir / "nothing"),
            **{f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()},
        }


def _run(command: list[str], env: dict[str, str], given: bytes | None = None) -> bytes:
    process = subprocess.Popen(  # noqa: S603 - our own arguments; no shell
        command,
        env=env,
        cwd="/",
        stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        if given is not None:
            # These commands answer nothing, so that writing all of it first cannot block.
            assert process.stdin is not None
            process.stdin.write(given)
            process.stdin.close()
        assert process.stdout is not None
        out = process.stdout.read(_LISTED_BYTES + 1)
        if len(out) > _LISTED_BYTES:
            process.kill()
            raise Refused("there are too many files")
    if process.returncode:
        verb = next(part for part in command[1:] if "=" not in part and part != "-c")
        raise Refused(f"git {verb} ended with code {process.returncode}")
    return out


def _quoted(path: str) -> str:
    """As git reads a line of `alternates`: quoted where a name would be taken for a comment or for something quoted."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def main() -> None:
    """Gather as the file in the first argument says, and leave the answer in the outbox."""
    work = Gathering(**json.loads(Path(sys.argv[1]).read_text(encoding="ascii")))
    # A file that git or we write beyond this is not written: the disk is not the agent's to fill.
    resource.setrlimit(resource.RLIMIT_FSIZE, (work.bundle_bytes, work.bundle_bytes))
    try:
        answer = work.run()
    except Refused as error:
        answer = {"failed": str(error)}
    except OSError as error:  # the folder itself was taken away or swapped; the disk is full
        answer = {"failed": f"{error.filename or 'a file'}: {error.strerror}"}
    Path(work.outbox, ANSWER).write_text(json.dumps(answer), encoding="ascii")
