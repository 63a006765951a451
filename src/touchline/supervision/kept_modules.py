"""May a module be loaded from what an earlier start kept, instead of being looked for? As long as its file is the same.

Python looks for each module in turn, which for the fifty of a stop takes as long as loading them. Kept together they
are read at once. A module whose file has another time or size is loaded as ever.
"""

from __future__ import annotations

import os
import sys

from touchline.supervision.kept_file import stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    Kept = tuple[tuple[str, tuple[int, int], bool], bytes | memoryview]
    """A module's file, its stamp, whether it is a package; and its code as `marshal` writes it."""

_OURS = "touchline."


class KeptModules:
    """Finds and loads our own modules from the kept ones; stands before Python's finders."""

    def __init__(self, kept: dict[str, Kept]) -> None:
        self.kept = kept
        self.missed = False
        """Whether a module was asked for that was not among them, or is no longer the same."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, __: object = None) -> ModuleSpec | None:
        if path is None or not name.startswith(_OURS):
            return None
        found = self.kept.get(name)
        if found is None or not _is_same(found):
            self.missed = True
            self.kept.pop(name, None)
            return None
        made: type[ModuleSpec] = type(sys.__spec__)
        file, _, package = found[0]
        spec = made(name, self, origin=file, is_package=package)  # type: ignore[arg-type]
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(file.rpartition(os.sep)[0])
        return spec

    def create_module(self, _: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        from marshal import loads

        (file, *_), code = self.kept[module.__name__]
        # By hand: given to the spec, Python would work out where a compiled file would be, for each module.
        module.__file__ = file
        exec(loads(code), module.__dict__)  # noqa: S102, S302 - what Python's own loader does

    def all_loaded(self) -> dict[str, Kept]:
        """Our modules that are loaded now, the kept ones among them."""
        from marshal import dumps

        found: dict[str, Kept] = {}
        for name, module in list(sys.modules.items()):
            spec = getattr(module, "__spec__", None)
            if not name.startswith(_OURS) or spec is None or not spec.origin:
                continue
            if name in self.kept:
                found[name] = self.kept[name]
            elif hasattr(spec.loader, "get_code") and (code := spec.loader.get_code(name)) is not None:
                package = spec.submodule_search_locations is not None
                found[name] = ((spec.origin, stamp(spec.origin), package), dumps(code))
        return found


def _is_same(kept: Kept) -> bool:
    file, then, _ = kept[0]
    try:
        return stamp(file) == then
    except OSError:
        return False
