"""Which files of a workspace differ between two moments? Shows what a script did that no call's words tell."""

from __future__ import annotations

from touchline.supervision.tools import Change, is_by_product
from touchline.supervision.values import Literal, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Snapshot(Value):
    """The files of a workspace before and after, each with its size and its time of change or its hash."""

    before: Mapping[str, tuple[int, float | str]]
    after: Mapping[str, tuple[int, float | str]]
    root: str = ""
    """Where the workspace is, for calls that name files from the root."""

    def changes(self) -> tuple[Change, ...]:
        """Files made, changed or taken away, in order of path; caches and build results left out."""
        found: list[Change] = []
        for path in sorted(self.before.keys() | self.after.keys()):
            if self.before.get(path) == self.after.get(path) or is_by_product(path):
                continue
            what: Literal["created", "changed", "deleted"] = (
                "created" if path not in self.before else "deleted" if path not in self.after else "changed"
            )
            found.append(Change(path=path, what=what))
        return tuple(found)

    def stamp(self, path: str) -> float | None:
        """When the file changed, where the snapshot holds times."""
        stamp = self.after.get(path, (0, ""))[1]
        return float(stamp) if isinstance(stamp, int | float) else None
