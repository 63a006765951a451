"""What is one program called for, given its arguments?

The tables are in `commands.json`; here is only how they are read: sub-commands, goals of `make` and its kin, scripts of
package managers, modules of `python -m`, formatters that only check. `commands` splits lines and takes off wrappers.
"""

from __future__ import annotations

from touchline.supervision.evidence import VERIFYING, CommandKind
from touchline.supervision.prepared import shape
from touchline.supervision.prepared import table as data_table
from touchline.supervision.remembering import cache, lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

Kinds = frozenset[CommandKind]
Words = tuple[str, ...]

NOTHING: Kinds = frozenset()
LOOK: Kinds = frozenset({"look"})
RUN: Kinds = frozenset({"run"})
_SENDS: Kinds = frozenset({"commit", "push", "pr"})

INTERPRETED = (".py", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".rb", ".pl", ".php", ".lua", ".r", ".jl", ".exs")
_TEST_SCRIPTS = r"(?i:(?:run|all)[-_]?(?:\w+[-_])?tests?|tests?[-_]?(?:runner|all|suite))"


@cache
def tables() -> dict[str, Any]:
    """The tables of `commands.json`, their word lists made ready for look-ups."""
    told: dict[str, Any] = data_table("commands.json", _made_ready)
    return told


def _made_ready(raw: dict[str, Any]) -> dict[str, Any]:
    raw["programs"] = {name: kind for kind, names in raw["programs"].items() for name in names.split()}
    raw["script_words"] = [(kind, frozenset(words.split())) for kind, words in raw["script_words"]]
    for each in ("formatters", "valued_options", "asks_only_short"):
        raw[each] = {name: frozenset(words.split()) for name, words in raw[each].items()}
    raw["wrapper_heads"] = frozenset(key.split(" ")[0] for key in raw["two_word_wrappers"])
    for words in ("asks_only", "idles", "shells", "moves", "prints", "unpacks", "detaches"):
        raw[words] = frozenset(raw[words].split())
    return raw


def name_of(words: Words) -> str:
    """A program's name without its folder and without the version in `python3.11` or `pip3`."""
    if not words:
        return ""
    return _base(words[0])


@lru_cache(maxsize=4_096)
def _base(word: str) -> str:
    name = word.rsplit("/", 1)[-1].removesuffix(".exe").removesuffix(".cmd")
    if name.startswith(("python", "pypy", "pip")):
        return shape(r"^(python|pypy|pip)[\d.]*$").sub(lambda found: found[1], name).replace("pypy", "python")
    return name


def after_options(words: Words, owner: str) -> Words:
    """The words from the first one that is no option, and no option's value, on."""
    if not words or words[0][:1] not in ("-", "+"):
        return words
    options = tables()["valued_options"]
    valued = options.get(owner) or options.get(owner.split(" ")[0], ())
    at = 0
    while at < len(words) and words[at].startswith(("-", "+")):
        if words[at] == "--":
            return words[at + 1 :]
        at += 2 if words[at] in valued else 1
    return words[at:]


def classify(words: Words) -> tuple[Kinds, str]:
    """Kinds of one simple command, and the runner's name when it runs tests."""
    kinds, runner = _classify(words, 0)
    if kinds & VERIFYING and _only_asks(words, running=kinds == RUN):
        return LOOK, ""
    return kinds, runner if "test" in kinds else ""


def _only_asks(words: Words, *, running: bool) -> bool:
    """`--collect-only`, `--help` and `--version` show something; they run no work."""
    table, name = tables(), name_of(words)
    if "--help" in words or "--version" in words:
        return True
    if not running and any(word in table["asks_only"] for word in words[1:]):
        return True
    short, two = table["asks_only_short"], " ".join((name, *words[1:2]))
    return words[1:2] != () and (words[1] in short.get(name, ()) or any(w in short.get(two, ()) for w in words[2:]))


def _classify(words: Words, depth: int) -> tuple[Kinds, str]:
    if not words or depth > 4:
        return NOTHING, ""
    table, name = tables(), name_of(words)
    if name == "test" and words[0] != "test" and not words[0].startswith(("/bin/", "/usr/bin/")):
        return frozenset({"test"}), name
    if "/" in words[0] and _is_stand_in(words[0], name, table):
        return LOOK, ""
    special = _SPECIAL.get(name)
    if special is not None:
        return special(words, depth)
    if name in table["formatters"]:
        return _formatter(words, name), ""
    if name in table["subcommands"]:
        return _subcommand(words, name, table["subcommands"][name])
    if name in table["script_managers"]:
        return _package_script(words, name, table["script_managers"][name])
    if name in table["goal_programs"]:
        return _goals(words, name)
    if name in table["programs"]:
        kinds = _only(table["programs"][name])
        if "lint" in kinds and "--fix" in words:
            kinds |= {"edit"}
        return kinds, name
    if name in table["shells"]:
        return _shell(words)
    return _executable(words, name)


def _is_stand_in(path: str, name: str, table: dict[str, Any]) -> bool:
    """A file that only bears a known checker's name, such as `./pytest`: real ones are installed in a `bin` folder."""
    if name not in table["programs"]:
        return False
    return path.rsplit("/", 2)[-2] not in ("bin", ".bin", "sbin", "Scripts")


def _only(kind: str) -> Kinds:
    return frozenset(kind.split()) if kind else NOTHING  # type: ignore[arg-type]


def _subcommand(words: Words, name: str, table: dict[str, str]) -> tuple[Kinds, str]:
    rest = after_options(words[1:], name)
    plain = plain_words(words, name)
    kind = table["*"]
    for size in (3, 2, 1):
        key = " ".join(plain[:size])
        if len(plain) >= size and key in table:
            kind = table[key]
            break
    head = plain[0] if plain else ""
    if f"{name} {head}" in tables()["formatters"]:
        return _formatter(words, f"{name} {head}"), ""
    if kind == "?script":
        return script_kinds(*plain, *_targets(words)), f"{name} {head}"
    if kind == "?task":
        # A plug-in that nobody listed: what it is told may say what for, else it only shows something.
        kinds = script_kinds(*plain[1:])
        return (kinds, f"{name} {head}") if kinds - RUN else (LOOK, "")
    kinds = _only(kind)
    if kinds & _SENDS and "--dry-run" in rest:
        return LOOK, ""
    if name == "git":
        kinds = _git(head, rest, kinds)
    if "lint" in kinds and "--fix" in words:
        kinds |= {"edit"}
    return kinds, f"{name} {head}"


def plain_words(words: Words, name: str) -> list[str]:
    """The first three words after a program's name, without the options before and between them."""
    found: list[str] = []
    rest, owner = words[1:], name
    while len(found) < 3 and (rest := after_options(rest, owner)):
        found.append(rest[0])
        rest, owner = rest[1:], f"{owner} {rest[0]}"
    return found


def _targets(words: Words) -> list[str]:
    """What `nx run-many --target=test` names in an option."""
    return [w.partition("=")[2] for w in words if w.startswith(("--target=", "--targets=", "-t="))]


def _git(head: str, rest: Words, kinds: Kinds) -> Kinds:
    if head == "push" and "-n" in rest[1:]:
        return LOOK
    if head == "stash" and rest[1:2] and rest[1] in ("list", "show"):
        return LOOK
    if head == "apply" and ("--check" in rest or "--stat" in rest):
        return LOOK
    if head == "reset" and "--hard" not in rest:
        return NOTHING
    return kinds


def _package_script(words: Words, name: str, table: dict[str, str]) -> tuple[Kinds, str]:
    rest = after_options(words[1:], name)
    if not rest:
        return _only(table.get("", table["*"].replace("?script", ""))), ""
    head = rest[0]
    if head in ("run", "run-script", "workspace", "workspaces"):
        scripts = after_options(rest[1:], name)
        if name == "bun" and scripts and scripts[0].endswith(INTERPRETED):
            return RUN, ""
        picked = scripts[1:2] if head == "workspace" else scripts[:1]
        return (script_kinds(*picked) if picked else LOOK), " ".join((name, *picked))
    kind = table.get(head, table["*"])
    if kind == "?script":
        known = head in tables()["programs"] or head in tables()["subcommands"]
        return _classify(rest, 1) if known else (script_kinds(head), f"{name} {head}")
    return _only(kind), f"{name} {head}"


def _goals(words: Words, name: str) -> tuple[Kinds, str]:
    """Several goals may follow: `mvn clean test`, `make lint test`."""
    table = tables()
    valued = table["valued_options"].get(name, ())
    kinds: Kinds = NOTHING
    found = False
    for at, word in enumerate(words[1:], 1):
        if word.startswith("-") or "=" in word or word.isdigit() or words[at - 1] in valued:
            continue
        found = True
        goal = word.rsplit(":", 1)[-1] if name.startswith("gradle") else word
        kinds |= _only(table["goals"][goal]) if goal in table["goals"] else script_kinds(goal, camel=True)
    if not found:
        kinds = _only(table["goal_programs"][name]["default"])
    if "test" in kinds and any(w.startswith(("-DskipTests", "-Dmaven.test.skip")) for w in words):
        kinds = (kinds - {"test"}) | {"build"}
    return kinds, f"{name} test"


def script_kinds(*names: str, camel: bool = False, own: bool = False) -> Kinds:
    """What a project's own script is for, by the words of its name: `test:unit`, `lint`, `build-docs`.

    What only starts a server or cleans says so with every word, as `start:dev`; a program of one's `own` never does.
    """
    for name in names:
        if camel:
            name = shape(r"(?<=[a-z])(?=[A-Z])").sub("-", name)
        words = set(shape(r"[^A-Za-z0-9]+").split(name.lower()))
        if "check" in words:
            words |= {"type": {"typecheck"}, "types": {"typecheck"}}.get(
                next(iter(words & {"type", "types"}), ""), set()
            )
            words |= {"lint"} if words & {"format", "fmt", "style"} else set()
        for kind, known in tables()["script_words"]:
            if words & known and (kind or (words <= known and not own)):
                return _only(kind)
    return RUN if names and "check" not in words else frozenset({"lint"}) if names else NOTHING


def _formatter(words: Words, key: str) -> Kinds:
    """A formatter that only checks is a linter. Prettier and gofmt print unless told to write."""
    if any(word in tables()["formatters"][key] for word in words):
        return frozenset({"lint"})
    writes = {
        "prettier": ("--write", "-w"),
        "gofmt": ("-w",),
        "clang-format": ("-i",),
        "autopep8": ("-i", "--in-place"),
    }
    if key in writes and not any(word in writes[key] for word in words):
        return LOOK
    return frozenset({"edit"})


def _python(words: Words, depth: int) -> tuple[Kinds, str]:
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        if words[at] in ("-W", "-X"):
            at += 2
        elif words[at] == "-m":
            return _module(words[at + 1 :], depth)
        elif words[at] == "-c" or words[at].startswith("-m"):
            return (RUN, "") if words[at] == "-c" else _module((words[at][2:], *words[at + 1 :]), depth)
        else:
            at += 1
    if at >= len(words):
        return RUN, ""
    return _script_file(words[at:])


def _module(words: Words, depth: int) -> tuple[Kinds, str]:
    table = tables()
    if not words:
        return NOTHING, ""
    name = words[0].removesuffix(".__main__")
    if name in table["modules"] and name != "pip":
        return _only(table["modules"][name]), name
    if name in table["programs"] or name in table["subcommands"] or name in _SPECIAL or name in table["formatters"]:
        return _classify((name, *words[1:]), depth + 1)
    return RUN, ""


def _script_file(words: Words) -> tuple[Kinds, str]:
    """A script given to an interpreter. `test_x.py` is only run: whether it tests anything, its output tells."""
    stem = words[0].rsplit("/", 1)[-1].rsplit(".", 1)[0]
    verbs = [w for w in words[1:] if not w.startswith("-")][:1]
    verb = verbs[0] if verbs else ""
    if stem in ("manage", "setup", "artisan", "waf"):
        known: dict[str, CommandKind] = {"test": "test", "check": "lint", "install": "install", "develop": "install"}
        known |= {"build": "build", "build_ext": "build", "bdist_wheel": "build", "sdist": "build"}
        return frozenset({known.get(verb, "run")}), f"{stem} {verb}"
    if shape(_TEST_SCRIPTS).fullmatch(stem):
        return frozenset({"test"}), stem
    return RUN, ""


def _shell(words: Words) -> tuple[Kinds, str]:
    rest = after_options(words[1:], "")
    if "-n" in words[1:3]:
        return frozenset({"lint"}), ""
    if rest and name_of(rest) in tables()["programs"]:
        return LOOK, ""  # a script under a checker's name: `sh ./pytest`
    return _executable(rest, name_of(rest)) if rest else (RUN if len(words) == 1 else NOTHING, "")


def _executable(words: Words, name: str) -> tuple[Kinds, str]:
    if name.endswith(INTERPRETED):
        return _script_file(words)
    if "/" in words[0] or name.endswith((".sh", ".bash")):
        own = len(words) > 1 or not name.endswith((".sh", ".bash"))
        return script_kinds(name.rsplit(".", 1)[0] if "." in name else name, camel=True, own=own), name
    known = shape(r"[A-Za-z_][\w.+-]*").fullmatch(name) and not shape(r"[Cc]-[a-z]").fullmatch(name)
    return (RUN, "") if known else (NOTHING, "")


def _node(words: Words, _: int) -> tuple[Kinds, str]:
    if any(w == "--test" or w.startswith("--test-") for w in words[1:]):
        return frozenset({"test"}), "node --test"
    if "--check" in words or "-c" in words[1:2]:
        return frozenset({"lint"}), ""
    rest = after_options(words[1:], "node")
    return _script_file(rest) if rest else (RUN, "")


def _tsc(words: Words, _: int) -> tuple[Kinds, str]:
    return (frozenset({"typecheck"}) if "--noEmit" in words else frozenset({"typecheck", "build"})), ""


def _curl(words: Words, _: int) -> tuple[Kinds, str]:
    """Asking the work's own server runs the work; asking the world does not."""
    local = shape(r"(?i)^(?:https?://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|\$\w*(?:URL|HOST|PORT))\b")
    return (RUN if any(local.match(w) for w in words[1:]) else LOOK), ""


def _sed(words: Words, _: int) -> tuple[Kinds, str]:
    in_place = any(shape(r"-[a-zA-Z]*i|--in-place").match(w) for w in words[1:])
    return (frozenset({"edit"}) if in_place else LOOK), ""


def _perl(words: Words, _: int) -> tuple[Kinds, str]:
    # `-rfileutils` of Ruby is a library.
    in_place = any(shape(r"-[a-qs-z0-9]*i").match(w) for w in words[1:])
    return (frozenset({"edit"}) if in_place else RUN), ""


def _find(words: Words, _: int) -> tuple[Kinds, str]:
    return (frozenset({"edit"}) if "-delete" in words else LOOK), ""


def _coverage(words: Words, depth: int) -> tuple[Kinds, str]:
    if words[1:2] == ("run",):
        rest = words[2:]
        while rest and rest[0].startswith("-") and rest[0] != "-m":
            rest = rest[1:]
        return _python(("python", *rest), depth)
    return LOOK, ""


def _cmake(words: Words, _: int) -> tuple[Kinds, str]:
    if "--target" in words and words[-1] in ("test", "check"):
        return frozenset({"test"}), "ctest"
    return frozenset({"build"}), ""


_SPECIAL: dict[str, Callable[[Words, int], tuple[Kinds, str]]] = {
    "python": _python,
    "node": _node,
    "nodejs": _node,
    "tsc": _tsc,
    "curl": _curl,
    "wget": _curl,
    "sed": _sed,
    "gsed": _sed,
    "perl": _perl,
    "ruby": _perl,
    "find": _find,
    "coverage": _coverage,
    "cmake": _cmake,
    "php": lambda words, depth: _python(words, depth) if "-l" not in words else (frozenset({"lint"}), ""),
}
