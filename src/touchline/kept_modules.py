"""May modules be loaded from what an earlier start kept, not looked for? As long as their files are the same.

Python looks for each module in turn, which for the fifty of a stop takes as long as loading them. What one import
brought with it then is kept as one bundle under the name that was asked for, in the order in which it was ready, and is
read and loaded at once. A bundle of which one file has another time or size is loaded as ever, and kept anew.
"""

import posix
import sys

from touchline.kept_file import PLACES, Pieces, path_of, read, stamp, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any

    Told = tuple[str, str, tuple[int, int], bool]
    """A module's name, its file, the stamp of that, and whether it is a package."""

_OURS = "touchline."
_SPEC: "type[ModuleSpec]" = type(sys.__spec__)
_MODULE = type(sys)


class KeptModules:
    """Finds and loads our own modules from the kept ones; stands before Python's finders."""

    def __init__(self, bundles: "Pieces") -> None:
        self.bundles = bundles
        self.missed: dict[str, list[ModuleType]] = {}
        """What was asked for and not kept, or is no longer the same; and all that its loading brought with it."""
        self._asked: list[ModuleType] | None = None

    def find_spec(self, name: str, path: "Sequence[str] | None" = None, target: "Any" = None) -> "ModuleSpec | None":
        if path is None or not name.startswith(_OURS):
            return None
        found = self.bundles.get(name)
        if found is not None and all(map(_is_same, found[0])):
            return _spec(self, found[0][-1])
        self.bundles.drop(name)
        # Those that stand behind this one: a second of its kind, asked and asking back, would find no end.
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :] if self in sys.meta_path else ():
            if isinstance(finder, KeptModules):
                continue
            if (spec := finder.find_spec(name, path, target)) is not None:
                if hasattr(spec.loader, "get_code"):
                    spec.loader = _Watched(self, spec.loader)  # type: ignore[assignment]
                return spec
        return None

    def create_module(self, _: "ModuleSpec") -> None:
        return None

    def exec_module(self, module: "ModuleType") -> None:
        from marshal import loads

        kept = self.bundles.get(module.__name__)
        if kept is None:
            raise ImportError(f"{module.__name__} is not kept")
        told, codes = kept[0], loads(kept[1])  # noqa: S302 - what Python's own loader does
        builtins = {**sys.modules["builtins"].__dict__, "__import__": _loaded_or_found}
        for each, code in zip(told[:-1], codes[:-1], strict=True):
            if each[0] not in sys.modules:
                _load(_spec(self, each), code, builtins)
        # By hand: given to the spec, Python would work out where a compiled file would be.
        module.__file__ = told[-1][1]
        _run(codes[-1], module, builtins)

    def watch(self, module: "ModuleType", load: "Any") -> None:
        """Load a module as Python does, and note when it is ready, and what asked for it first."""
        outermost = self._asked is None
        ready = self._asked = [] if self._asked is None else self._asked
        try:
            load(module)
        finally:
            if outermost:
                self._asked = None
        ready.append(module)
        if outermost:
            self.missed[module.__name__] = ready

    def take_missed(self) -> None:
        """Put what was missed among the kept. Raises `OSError`, `ImportError` or `ValueError`."""
        from marshal import dumps

        for name, modules in self.missed.items():
            told: list[Told] = []
            codes: list[CodeType] = []
            for module in modules:
                spec: Any = module.__spec__
                # The stamp first: a file that changes now is noticed at the next start.
                told.append((spec.name, spec.origin, stamp(spec.origin), spec.submodule_search_locations is not None))
                codes.append(spec.loader.get_code(spec.name))
            self.bundles.added[name] = (tuple(told), dumps(tuple(codes)))
        self.missed.clear()


class _Watched:
    """Python's own loader of one module, watched; nobody finds it on the module afterwards."""

    def __init__(self, modules: "KeptModules", loader: "Any") -> None:
        self.modules, self.loader = modules, loader

    def create_module(self, spec: "ModuleSpec") -> "Any":
        return self.loader.create_module(spec)

    def exec_module(self, module: "ModuleType") -> None:
        spec: Any = module.__spec__
        spec.loader = module.__loader__ = self.loader
        self.modules.watch(module, self.loader.exec_module)


def _is_same(told: "Told") -> bool:
    try:
        return stamp(told[1]) == told[2]
    except OSError:
        return False


def _spec(loader: "Any", told: "Told") -> "ModuleSpec":
    name, file, _, package = told
    spec = _SPEC(name, loader, origin=file, is_package=package)
    if spec.submodule_search_locations is not None:
        spec.submodule_search_locations.append(file.rpartition("/")[0])
    return spec


def _load(spec: "ModuleSpec", code: "CodeType", builtins: "dict[str, Any]") -> None:
    """What an import does, once it has found the module: the import statements that follow find it loaded."""
    name = spec.name
    package, _, last = name.rpartition(".")
    if package not in sys.modules:  # it was loaded already when the bundle was made
        _find(package)
    made = _MODULE(name)
    made.__spec__, made.__loader__, made.__package__, made.__file__ = spec, spec.loader, spec.parent, spec.origin
    if spec.submodule_search_locations is not None:
        made.__path__ = spec.submodule_search_locations
    sys.modules[name] = made
    try:
        _run(code, made, builtins)
    except BaseException:
        del sys.modules[name]
        raise
    setattr(sys.modules[package], last, made)


def _run(code: "CodeType", module: "ModuleType", builtins: "dict[str, Any]") -> None:
    """Run a module's code, in which importing is quick; what is imported later, in a function, is found so too."""
    module.__dict__["__builtins__"] = builtins
    exec(code, module.__dict__)  # noqa: S102


_FUTURE = _MODULE("__future__")
_FUTURE.__dict__["annotations"] = None  # told to the compiler; nobody looks at it again
_find = __import__


def _loaded_or_found(
    name: str, where: "Any" = None, local: "Any" = None, names: "Any" = (), level: int = 0
) -> "ModuleType":
    """What an import statement asks for. Of a module without others below it Python makes an error first, each time."""
    found = sys.modules.get(name)
    # With names to take from it, the module itself is asked for; without, the outermost package.
    if found is not None and names and not level and "__path__" not in found.__dict__:
        return found
    return _FUTURE if name == "__future__" else _find(name, where, local, names, level)


def use_kept(name: str) -> "Callable[[], None]":
    """Load from the kept file of that name from now on; what is given saves what was not in it, or gives up."""
    env = {each: posix.environ.get(each.encode(), b"").decode("utf-8", "surrogateescape") for each in PLACES}
    path = path_of(env, name)
    modules = KeptModules(((read(path) if path else None) or (Pieces(),))[0])
    sys.meta_path.insert(0, modules)

    def keep() -> None:
        if path and modules.missed:
            modules.take_missed()
            write(path, (modules.bundles,))

    return keep
