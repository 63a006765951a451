"""What is this shell command for, and whose exit code does the caller see?

`plan_of` reads a command line into its parts, each with its kinds. The names of runners, linters, builders and so on
are in `commands.json`. Nothing is executed; a program nobody listed counts as `run`, since it executes something.
"""

from __future__ import annotations

from touchline.supervision.evidence import VERIFYING
from touchline.supervision.prepared import shape
from touchline.supervision.programs import LOOK, NOTHING, Kinds, Words, after_options, classify, name_of, tables
from touchline.supervision.remembering import lru_cache
from touchline.supervision.shell import MAX_DEPTH, Simple, split
from touchline.supervision.values import Literal, Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

Seen = Literal["own", "zero", "hidden"]
"""Whose exit code the line gives: the part's `own`; the part's when it is `zero`, perhaps another's else; not its."""

CACHED_CHARACTERS = 2_000
"""Longer lines are read each time they come: they hardly repeat, and would fill the memory."""


NEAR = 20
"""So many parts further on a line may show what a part in the background printed."""

EDIT: Kinds = frozenset({"edit"})
LOST: Kinds = VERIFYING - {"test"}
"""What proves nothing where its end is not seen. Tests are told apart by their runs: those need counts or a code."""


class Part(Value):
    """One simple command of a line, wrappers taken off."""

    words: tuple[str, ...]
    kinds: Kinds
    runner: str = ""
    """For a test run, the runner's name as the command says it."""
    exit: Seen = "own"
    folder: str = ""
    """Where an earlier `cd` of the line went."""
    targets: tuple[str, ...] = ()
    appends: bool = False
    heredoc: str = ""
    out: str = ""
    """Where its output goes, when it is not shown."""
    err: str = ""
    """The same for its error output."""
    piped: bool = False
    """True when its output goes into the next part."""
    code: str = ""
    """The program that the line itself hands to an interpreter, after `-c` or in a here-document."""
    alone: bool = False
    """True when the line leaves it to the background and does not wait for it: how it ends is not known."""


class Plan(Value):
    """A whole command line."""

    parts: tuple[Part, ...] = ()
    kinds: Kinds = frozenset()


_DETACHED = "&!"
"""The operator after what `setsid` began: like `&`, but for that one command."""


def plan_of(text: str) -> Plan:
    """Read a command line. Never raises, and takes time in proportion to the length."""
    return _remembered(text) if len(text) <= CACHED_CHARACTERS else _plan(text)


def kinds_of(text: str) -> Kinds:
    """What the whole line is for: the union over its parts."""
    return plan_of(text).kinds


@lru_cache(maxsize=4_096)
def _remembered(text: str) -> Plan:
    return _plan(text)


def _plan(text: str) -> Plan:
    simples: list[tuple[Simple, tuple[str, ...]]] = []
    for simple in split(text):
        simples.extend(_unwrapped(simple, 0))
    strict = pipefail = False
    folder = ""
    defined = _defined(text)
    parts: list[Part] = []
    operators = [simple.then for simple, _ in simples]
    # `|| exit 0` is no way to tell of a failure.
    heads = ["" if words[1:2] == ("0",) else words[0] if words else "" for _, words in simples]
    last_wait = max((at for at, head in enumerate(heads) if head == "wait"), default=-1)
    lists = _ends_of_lists(operators)
    for at, (simple, words) in enumerate(simples):
        if words and words[0] == "set":
            strict = strict or any(shape(r"-[a-z]*e").match(w) for w in words[1:])
            pipefail = pipefail or "pipefail" in words
        if words and words[0] in ("cd", "pushd") and len(words) > 1:
            folder = _joined(folder, words[-1])
        kinds, runner = classify(words)
        if words and words[0] in defined:
            kinds, runner = LOOK, ""  # what it does is what its body says, which is read too
        if kinds <= LOOK and _fills_file(simple, words):
            kinds = EDIT
        code = _code(words, simple.heredoc, simples[at - 1] if at else None) if "run" in kinds else ""
        if code and not simple.elsewhere and _writes(name_of(words), code):
            kinds |= EDIT
        parts.append(
            Part(
                words=words,
                kinds=kinds,
                runner=runner,
                exit="hidden" if simple.negated else _exit(at, operators, heads, strict=strict, pipefail=pipefail),
                folder=folder,
                targets=simple.targets,
                appends=simple.appends,
                heredoc=simple.heredoc,
                out=simple.out,
                err=simple.err,
                piped=simple.then == "|",
                code=code,
                alone=bool(kinds & LOST) and lists[at] > last_wait and _left_alone(at, lists[at], simples),
            )
        )
    kinds = frozenset().union(*(p.kinds for p in parts)) if parts else NOTHING
    return Plan(parts=tuple(parts), kinds=kinds)


def _code(words: Words, heredoc: str, before: tuple[Simple, Words] | None) -> str:
    """The program that an interpreter gets as an argument, from a here-document or by a pipe; not that of a file."""
    name = name_of(words)
    option = tables()["code_options"].get(name)
    if option is None:
        return ""
    valued, at = tables()["valued_options"].get(name, ()), 1
    while at < len(words) and words[at] != "-":
        if shape(option).fullmatch(words[at]):
            return words[at + 1] if at + 1 < len(words) else ""
        if not words[at].startswith("-"):
            return ""
        at += 2 if words[at] in valued else 1
    if heredoc or before is None or before[0].then != "|":
        return heredoc
    return before[0].heredoc or (" ".join(before[1][1:]) if name_of(before[1]) in ("echo", "printf") else "")


def _writes(name: str, code: str) -> bool:
    from touchline.supervision.code_writes import writes_of  # hooks count milliseconds

    return bool(writes_of(name, code))


def names_in(text: str) -> str:
    """A line without the programs that it hands to interpreters, but for the tests which those call by name.

    What such a program says and prints is the agent's own words.
    """
    parts = plan_of(text).parts
    if not any(part.code for part in parts):
        return text
    from touchline.supervision.code_writes import called_tests_in

    told: list[str] = []
    for part, after in zip(parts, (*parts[1:], None), strict=True):
        if after is None or not after.code or after.code not in (part.heredoc, " ".join(part.words[1:])):
            told += (word for word in part.words if word != part.code)
        told.append(called_tests_in(part.code))
    return " ".join(told)


def _ends_of_lists(operators: list[str]) -> list[int]:
    """For each part the last one of its list, which goes to the background as a whole."""
    ends = list(range(len(operators)))
    for at in range(len(operators) - 2, -1, -1):
        if operators[at] in ("&&", "||", "|"):
            ends[at] = ends[at + 1]
    return ends


def _left_alone(at: int, end: int, simples: list[tuple[Simple, Words]]) -> bool:
    """Whether a part goes to the background, by itself or with its list, and the line does not show what it printed."""
    simple = simples[at][0]
    if simple.then != _DETACHED and simples[end][0].then != "&":
        return False
    return not simple.out or not any(simple.out in words for _, words in simples[end + 1 : end + 1 + NEAR])


def is_idle(plan: Plan) -> bool:
    """Whether the line does nothing but move about and wait."""
    return all(name_of(part.words) in tables()["idles"] for part in plan.parts)


def ends_unseen(plan: Plan) -> bool:
    """Whether nothing that the line runs to its end could show a fault: it only began what could."""
    checks = [part.alone for part in plan.parts if part.kinds & VERIFYING]
    return bool(checks) and all(checks)


def _defined(text: str) -> frozenset[str]:
    """Commands that the line itself makes: shell functions and aliases."""
    if "(" not in text and "alias" not in text and "function" not in text:
        return frozenset()
    return frozenset(name for found in shape(_DEFINES).findall(text) for name in found if name)


_DEFINES = (
    r"(?<![\w.-])([A-Za-z_][\w.-]{0,80})\s*\(\s*\)\s*[{(]"
    r"|\bfunction\s+([A-Za-z_][\w.-]*)|\balias\s+([A-Za-z_][\w.-]*)="
)


def _fills_file(simple: Simple, words: Words) -> bool:
    files = (*simple.targets, *(words[1:] if words[:1] == ("tee",) else ()))
    return any(not f.startswith(("-", "/dev/", "/tmp/", "&")) for f in files)  # noqa: S108


def _joined(folder: str, path: str) -> str:
    return path if not folder or path.startswith(("/", "~", "$")) else f"{folder.rstrip('/')}/{path}"


def _exit(at: int, operators: list[str], heads: list[str], *, strict: bool, pipefail: bool) -> Seen:
    """Follow the operators after a part to see whether its exit code reaches the end of the line."""
    seen: Seen = "own"
    hopped = False
    for index in range(at, len(operators)):
        match operators[index]:
            case "":
                return seen
            case "&&":
                seen, hopped = "zero", True
            case "|" if hopped or pipefail:
                pass
            case ";" if strict:
                seen, hopped = "zero", True
            case "||" if heads[index + 1 : index + 2] and heads[index + 1] in ("exit", "false", "return"):
                return seen
            case _:
                return "hidden"
    return seen


def _unwrapped(simple: Simple, depth: int) -> list[tuple[Simple, tuple[str, ...]]]:
    """Take off `sudo`, `timeout 30`, `uv run` and the like; open `bash -c '...'` into its own commands."""
    data, words = tables(), simple.words
    for _ in range(8):
        name = name_of(words)
        if name in data["other_names"]:
            words = (*data["other_names"][name].split(" "), *words[1:])
            name = words[0]
        if name == "find" and (at := _index(words, "-exec", "-execdir", "-ok")):
            root = words[1] if len(words) > 1 and not words[1].startswith("-") else "."
            words = tuple(root if w == "{}" else w for w in words[at + 1 :] if w not in (";", "+"))
            continue
        script = _script(name, words, simple.heredoc)
        if script is not None and depth < MAX_DEPTH:
            inner = [found for s in split(script) for found in _unwrapped(_within(s, simple), depth + 1)]
            if name == "ssh":
                inner = [_elsewhere(*found) for found in inner]
            if simple.targets and inner:
                inner = _sent_to(simple, inner)
            if simple.then in ("&", _DETACHED):
                inner = [(replace(part, then=simple.then), each) for part, each in inner]
            elif inner:
                last, last_words = inner[-1]
                inner[-1] = (replace(last, then=simple.then), last_words)
            return inner
        key, size, skip = name, 1, data["wrappers"].get(name, -1)
        if name in data["wrapper_heads"]:
            key, size = _longer(words, name, data["two_word_wrappers"])
            skip = data["two_word_wrappers"].get(key, skip)
        if skip < 0:
            break
        if name in data["detaches"] and "--wait" not in words[1:2] and "-w" not in words[1:2]:
            simple = replace(simple, then=simple.then if simple.then == "&" else _DETACHED)
        rest = after_options(words[size:], key)[skip:]
        if skip:
            rest = after_options(rest, key)  # as in `kubectl exec pod -c app -- pytest`
        while rest and "=" in rest[0] and shape(r"\w+=").match(rest[0]):
            rest = rest[1:]
        if not rest:
            break
        # `hatch run test` and `pdm run lint:all` name the project's scripts, not the programs of that name.
        words = (f"./{rest[0]}", *rest[1:]) if size > 1 and (rest[0] == "test" or ":" in rest[0]) else rest
    return [(simple, words)]


def _within(inner: Simple, outer: Simple) -> Simple:
    """A command of a nested shell: what happens to that shell's output and exit code happens to its own."""
    return replace(
        inner, out=inner.out or outer.out, err=inner.err or outer.err, negated=inner.negated or outer.negated
    )


def _elsewhere(simple: Simple, words: Words) -> tuple[Simple, Words]:
    """A command on another machine: what it changes there is no change of the work here."""
    only_there = words[:1] in (("cd",), ("pushd",)) or "edit" in classify(words)[0]
    return replace(simple, targets=(), elsewhere=True), (":",) if only_there else words


def _sent_to(outer: Simple, inner: list[tuple[Simple, Words]]) -> list[tuple[Simple, Words]]:
    """The commands of a nested shell whose output goes to a file here: that of its check, if it has one."""
    checks = (at for at, (_, words) in enumerate(inner) if classify(words)[0] & VERIFYING)
    at = next(checks, len(inner) - 1)
    part, words = inner[at]
    sent = replace(part, targets=(*part.targets, *outer.targets), appends=part.appends or outer.appends)
    return [*inner[:at], (sent, words), *inner[at + 1 :]]


def _longer(words: Words, name: str, known: Mapping[str, int]) -> tuple[str, int]:
    """A wrapper of two or three words, the options between them left out, and where it ends; or the name alone."""
    key, at = name, 1
    while at < len(words) and key.count(" ") < 2:
        if f"{key} {words[at]}" not in known:  # else it is named by an option, as `command -v`
            at = len(words) - len(after_options(words[at:], key))
        if at >= len(words):
            break
        key, at = f"{key} {words[at]}", at + 1
        if key in known and at < len(words):
            return key, at
    return name, 1


def _script(name: str, words: Words, heredoc: str) -> str | None:
    if name == "eval":
        return " ".join(words[1:])
    if name == "ssh":
        return " ".join(after_options(words[1:], name)[1:]) or None
    if name in tables()["shells"]:
        if heredoc and set(words[1:]) <= {"-", "-s", "-e", "-x", "-ex", "-eu", "-eux"}:
            return heredoc
        for at, word in enumerate(words[1:], 1):
            if not word.startswith("-"):
                return None
            if not word.startswith("--") and "c" in word[1:] and at + 1 < len(words):
                return words[at + 1]
    return None


def _index(words: Words, *wanted: str) -> int:
    return next((at for at, word in enumerate(words) if word in wanted), 0)
