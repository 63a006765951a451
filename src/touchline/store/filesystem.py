"""Can a SQLite database live on this file system? One on a network file system cannot: WAL needs shared memory.

Processes on two machines would each see a shared memory of their own and overwrite each other, without any error.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from touchline.errors import DatabaseUnreachable

MOUNTS = Path("/proc/self/mounts")
"""Linux lists here what is mounted; elsewhere the file system's kind stays unknown."""
NETWORK = frozenset(
    "nfs nfs4 cifs smb3 smbfs 9p afs ceph lustre gfs2 ocfs2 glusterfs beegfs gpfs fuse.sshfs fuse.glusterfs "  # noqa: SIM905
    "fuse.ceph fuse.s3fs fuse.rclone fuse.gcsfuse fuse.davfs fuse.curlftpfs fuse.juicefs fuse.vmhgfs-fuse "
    "vboxsf prl_fs drvfs virtiofs".split()
)
"""Kinds that are shared between machines, or between a virtual machine and its host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A mounted file system."""

    point: str
    kind: str

    @property
    def network(self) -> bool:
        return self.kind in NETWORK


def mount_of(path: Path, mounts: str | None = None) -> Mount | None:
    """The file system that holds the path, or would hold it; None where the system does not say."""
    listed = _listed() if mounts is None else mounts
    real = os.path.realpath(path)
    found: Mount | None = None
    for line in listed.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = _unescaped(fields[1])
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        # A later mount on the same point covers the earlier one.
        if inside and (found is None or len(point) >= len(found.point)):
            found = Mount(point=point, kind=fields[2])
    return found


def refuse_network(path: Path) -> None:
    """Raise when a SQLite file at this path would lie on a network file system."""
    mount = mount_of(path)
    if mount is not None and mount.network:
        raise DatabaseUnreachable(
            f"{path} lies on a network file system ({mount.kind} at {mount.point}), where SQLite loses data.",
            hint="Name a file on a local disk with --database; for several machines, PostgreSQL: "
            "--database postgresql://user@host/name",
        )


def _listed() -> str:
    try:
        return MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def _unescaped(point: str) -> str:
    """Spaces and the like stand as octal numbers in the list."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), point)
