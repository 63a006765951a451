"""What can be answered without loading the rules? One hook event: read, remembered, answered.

Most calls repeat nothing and fail nowhere; for them this module is all that runs. `thorough` and `stopping` load the
rules when something may be found.
"""

from __future__ import annotations

import posix
import sys
from time import time

from touchline.digests import digest
from touchline.hooks import glance
from touchline.hooks.dialects import EVENTS, Heard, answer
from touchline.hooks.memory import Memory, forget_old, note
from touchline.plain_json import dumps, loads
from touchline.plain_os import environment, home_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from signal import ITIMER_REAL, SIGALRM, setitimer, signal
    from typing import Any
else:
    # What `signal` is made of, without the enumerations that it loads.
    from _signal import ITIMER_REAL, SIGALRM, setitimer, signal

SECONDS = 8.0
"""After this the agent goes on without an answer. The agent's own patience (`TIMEOUT` in `install`) is longer."""
SUPERVISED = "TOUCHLINE_CHILD"
"""In the environment of an agent that Touchline itself runs, and coaches: a second coach would speak past the first."""
INPUT_BYTES = 32 * 1024 * 1024
TASK_CHARS = 8_000
LOOK_BACK = 2_000_000
"""Bytes read of a transcript that was there before the hooks were."""
CALLS_TOLD = 30
"""Ids of calls remembered as told: more than ever run at once."""
TEXT_KEPT = 8_000
"""As `transcripts.bounds`: a longer result keeps its head and tail."""
WRITES = frozenset(
    {"Write", "Edit", "MultiEdit", "NotebookEdit", "write_file", "replace", "apply_patch", "write", "edit"}
)
DOCUMENTS = (".md", ".mdx", ".rst", ".adoc", ".txt")
PATCHED = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
"""How a patch of Codex names its files, which stand in no field of their own."""


def main(arguments: list[str], env: Mapping[str, str]) -> None:
    """Answer the event on standard input for the agent that `arguments` names."""
    if env.get(SUPERVISED):
        return
    signal(SIGALRM, _give_up)
    setitimer(ITIMER_REAL, SECONDS)
    said = loads(sys.stdin.buffer.read(INPUT_BYTES))
    agent = arguments[0] if arguments else "claude"
    if agent not in EVENTS or not isinstance(said, dict):
        note(env, f"hook {' '.join(arguments)} let the agent go on: unknown input")
        return
    heard = Heard(agent, said)
    words = respond(heard, env) if heard.event and heard.session else None
    if words is not None:
        sys.stdout.write(dumps(words))
        sys.stdout.flush()


def _give_up(*_: object) -> None:
    note(environment(), f"hook {' '.join(sys.argv[1:])} let the agent go on: not done within {SECONDS} s")
    posix._exit(0)


def respond(heard: Heard, env: Mapping[str, str]) -> dict[str, Any] | None:
    """The answer to an event, or None to say nothing."""
    if heard.event == "start":
        return _start(heard, env)
    with Memory(env, heard.agent, heard.session, heard.helper) as memory:
        if heard.event == "stop":
            return _stop(heard, memory, env)
        if heard.event == "prompt" or "limits" not in memory.state:
            _keep_up(heard, memory, env)
        if heard.event == "prompt":
            return _prompt(heard, memory, env)
        if heard.event == "before":
            return _before(heard, memory, env)
        return _after(heard, memory, env)


def _keep_up(heard: Heard, memory: Memory, env: Mapping[str, str]) -> None:
    from touchline.hooks.limits_kept import keep_up

    keep_up(memory, env, heard.cwd)


def _start(heard: Heard, env: Mapping[str, str]) -> dict[str, Any] | None:
    from touchline.hooks.lessons import lessons_of

    with Memory(env, heard.agent, heard.session) as memory:
        # A session seen from its beginning is read from there, however long its first turn gets.
        if "begun" not in memory.state:
            memory.state["begun"] = max(0, _size(heard.transcript) - LOOK_BACK)
            memory.keep()
    forget_old(env, now=time())
    words = lessons_of(heard.cwd, home_of(env))
    return answer(heard, "tell", words) if words else None


def _prompt(heard: Heard, memory: Memory, env: Mapping[str, str]) -> dict[str, Any] | None:
    """A person spoke: counting begins anew, and the phase is what they say."""
    state = memory.state
    if not heard.person or heard.prompt == state.get("sent"):
        # Gemini CLI hands what we sent back to the agent as a new prompt: nobody spoke.
        return None
    glance.forget(state)
    memory.append_call(["told", int(state.get("calls", 0))])
    state["task"] = heard.prompt[:TASK_CHARS]
    state["phase"] = None
    for name in ("work", "refused", "shown", "sent"):
        state.pop(name, None)
    if any(word.startswith("/") for word in heard.prompt[:TASK_CHARS].split()):
        from touchline.supervision.own_words import look_in_settings
        from touchline.supervision.phases import phase_of

        look_in_settings(env)
        phase = phase_of(state["task"])
        state["phase"] = phase.name if phase else None
    memory.keep()
    return None


def _before(heard: Heard, memory: Memory, env: Mapping[str, str]) -> dict[str, Any] | None:
    state = memory.state
    if (
        heard.tool in WRITES
        and (heard.planning or _phase(heard, memory, env) == "plan")
        and not _is_document(heard.args)
    ):
        with _Prepared(env):
            from touchline.hooks.thorough import planning_refusal

            return answer(heard, "refuse", planning_refusal())
    if not glance.may_refuse(state, glance.call_key(heard.tool, glance.kept_args(heard.args))):
        return None
    with _Prepared(env):
        from touchline.hooks.thorough import before

        return before(heard, memory)


def _phase(heard: Heard, memory: Memory, env: Mapping[str, str]) -> object:
    """What the person said the work is; a helper of the agent is bound by it, too."""
    if not heard.helper:
        return memory.state.get("phase")
    asked = Memory(env, heard.agent, heard.session).load("state.json")
    return asked.get("phase") if isinstance(asked, dict) else None


def _after(heard: Heard, memory: Memory, env: Mapping[str, str]) -> dict[str, Any] | None:
    if heard.interrupted or _told_twice(heard, memory):
        return None
    state, whole = memory.state, digest(heard.response)
    index = int(state.get("calls", 0))
    text = heard.response
    if len(text) > TEXT_KEPT:
        text = f"{text[:2_000]}\n[... {len(text) - TEXT_KEPT} characters cut ...]\n{text[-6_000:]}"
    args = glance.kept_args(heard.args)
    key = glance.call_key(heard.tool, args)
    memory.append_call([index, heard.tool, args, text, whole, heard.failed])
    doubtful = glance.take(state, key, whole, heard.failed)
    if doubtful or (heard.failed and heard.planning):
        with _Prepared(env):
            from touchline.hooks.thorough import after

            words = after(heard, memory)
        memory.keep()
        return words
    memory.keep()
    return None


def _told_twice(heard: Heard, memory: Memory) -> bool:
    """Hooks in a project's settings and in the person's own may both be asked about the same call."""
    if not heard.call:
        return False
    told = memory.state.setdefault("told", [])
    if heard.call in told:
        return True
    told.append(heard.call)
    del told[:-CALLS_TOLD]
    return False


def _stop(heard: Heard, memory: Memory, env: Mapping[str, str]) -> dict[str, Any] | None:
    if memory.state.get("shown"):
        # The cap was reached and the person told; nothing more is said until they speak.
        return None
    with _Prepared(env):
        from touchline.hooks.stopping import stop

        _keep_up(heard, memory, env)
        return stop(heard, memory, env)


class _Prepared:
    """While the rules are loaded and asked, their patterns come from the store of an earlier hook."""

    def __init__(self, env: Mapping[str, str]) -> None:
        from touchline.supervision import prepared

        self.prepared = prepared
        prepared.use(prepared.store_path(env))
        from touchline.supervision import own_words  # only now: it may come from the store

        own_words.look_in_settings(env)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self.prepared.keep()


def _is_document(args: Mapping[str, Any]) -> bool:
    """Whether the call writes documents alone."""
    path = args.get("file_path") or args.get("filePath") or args.get("path")
    paths = [path] if path else [line.partition(": ")[2] for line in _lines(args) if line.startswith(PATCHED)]
    return bool(paths) and all(isinstance(p, str) and p.strip().lower().endswith(DOCUMENTS) for p in paths)


def _lines(args: Mapping[str, Any]) -> list[str]:
    return [line for text in args.values() if isinstance(text, str) for line in text.splitlines()]


def _size(path: str) -> int:
    try:
        return posix.stat(path).st_size
    except OSError:
        return 0
