"""How does a hook begin and end? Whatever goes wrong here, the agent goes on: the exit code is 0."""

from __future__ import annotations

import gc
import posix

from touchline.plain_os import environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def run(arguments: list[str], keep: Callable[[], None]) -> None:
    """Answer the event on standard input, keep what was loaded for it, and end this process."""
    gc.disable()
    try:
        from touchline.hooks.quick import main

        main(arguments, environment())
        keep()
    except BaseException:  # a person's session ranks above our fault
        from touchline.hooks.memory import note_fault

        note_fault(environment(), arguments)
    finally:
        # On every path, the fault of a fault too. Skips tidying up: nothing is left to write, and somebody waits.
        posix._exit(0)
