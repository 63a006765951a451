"""A disk that can lose power: SQLite's files in memory, where only what was synced is sure to be there afterwards.

A write stays in the disk's cache until the file is synced. At the cut the cache is lost; of each unsynced write any
512-byte sectors may nevertheless have reached the disk, in any order, as with real disks.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from pathlib import Path

import apsw

SECTOR = 512
_names = itertools.count()


class PowerLoss(Exception):
    """The power is gone; every later operation fails as well."""


@dataclass
class Contents:
    """One file: what is on the platters, what programs see, and what happened since the last sync."""

    durable: bytes | None = None
    """None while the file was never synced: it would not even exist."""
    seen: bytearray = field(default_factory=bytearray)
    unsynced: list[tuple[int, bytes]] = field(default_factory=list)


class Disk(apsw.VFS):
    """A file system whose power fails after a given number of writes, syncs, truncations and deletions."""

    def __init__(self, files: dict[str, bytes], *, cut_at: int | None, chance: random.Random, survives: float) -> None:
        self.name = f"disk{next(_names)}"
        self.files = {name: Contents(durable=data, seen=bytearray(data)) for name, data in files.items()}
        self.cut_at, self.chance, self.survives = cut_at, chance, survives
        self.operations = 0
        super().__init__(self.name, "")

    def step(self) -> None:
        """Count an operation; at the cut, and ever after, there is no power."""
        self.operations += 1
        if self.cut_at is not None and self.operations >= self.cut_at:
            raise PowerLoss

    def after_power_loss(self) -> dict[str, bytes]:
        """What a machine finds on the disk when the power is back."""
        return {name: self._left(file) for name, file in self.files.items() if file.durable is not None}

    def _left(self, file: Contents) -> bytes:
        left = bytearray(file.durable or b"")
        for start, data in file.unsynced:
            for offset in range(0, len(data), SECTOR):
                if self.chance.random() < self.survives:
                    piece = data[offset : offset + SECTOR]
                    end = start + offset + len(piece)
                    left.extend(bytes(max(0, end - len(left))))
                    left[start + offset : end] = piece
        return bytes(left)

    def xFullPathname(self, name: str) -> str:  # noqa: N802 (SQLite's name)
        return name

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: N802
        return pathname in self.files

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.step()
        self.files.pop(filename, None)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> DiskFile:  # noqa: N802
        known = name.filename() if isinstance(name, apsw.URIFilename) else name
        if known is None:
            raise apsw.CantOpenError("temporary files belong in memory")
        flags[1] = flags[0]
        return DiskFile(self, self.files.setdefault(known, Contents()))


class DiskFile(apsw.VFSFile):
    """An open file on such a disk."""

    def __init__(self, disk: Disk, file: Contents) -> None:  # the real file system is not touched, so no super()
        self.disk, self.file = disk, file

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        return bytes(self.file.seen[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self.disk.step()
        kept = bytes(data)
        seen = self.file.seen
        seen.extend(bytes(max(0, offset - len(seen))))
        seen[offset : offset + len(kept)] = kept
        self.file.unsynced.append((offset, kept))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        # Kept at once: a file that shrinks too early is the worse case for the reader.
        self.disk.step()
        del self.file.seen[newsize:]
        self.file.unsynced = [(start, data[: max(0, newsize - start)]) for start, data in self.file.unsynced]
        if self.file.durable is not None:
            self.file.durable = self.file.durable[:newsize]

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.disk.step()
        self.file.durable = bytes(self.file.seen)
        self.file.unsynced.clear()

    def xFileSize(self) -> int:  # noqa: N802
        return len(self.file.seen)

    def xLock(self, level: int) -> None: ...  # noqa: N802

    def xUnlock(self, level: int) -> None: ...  # noqa: N802

    def xCheckReservedLock(self) -> bool:  # noqa: N802
        return False

    def xSectorSize(self) -> int:  # noqa: N802
        return 4096

    def xDeviceCharacteristics(self) -> int:  # noqa: N802
        # What SQLite itself assumes of disks on Linux: a torn write harms no byte outside of it.
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE

    def xFileControl(self, op: int, ptr: int) -> bool:  # noqa: N802
        return False

    def xClose(self) -> None: ...  # noqa: N802


def put(files: dict[str, bytes], folder: Path) -> None:
    """Write what was left on the disk into a real folder."""
    for name, data in files.items():
        (folder / Path(name).name).write_bytes(data)
