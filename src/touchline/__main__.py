"""The `touchline` command: starts the command line, and turns errors into a message and an exit code."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import NoReturn

from touchline.cli.exits import Exit
from touchline.errors import TouchlineError

_OURS = frozenset({"typer", "rich", "sqlalchemy", "alembic", "dbos", "genai_prices", "psycopg", "pydantic", "ruamel"})
"""What commands need beyond the standard library; comes with the package, and may be missing beside a bare checkout."""


def main() -> None:
    """Run the command line and leave with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # Text from logs may hold any character; a terminal that cannot show one gets its number instead.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    output = sys.stdout
    try:
        from touchline.cli.app import run

        try:
            run(sys.argv[1:])
        finally:
            sys.stdout.flush()
    except SystemExit as leaving:
        # The command-line library answers a closed pipe itself: it swaps the output and leaves with 1.
        if leaving.code == 1 and sys.stdout is not output:
            raise SystemExit(Exit.PIPE_CLOSED) from None
        raise
    except TouchlineError as error:
        _leave(Exit.USAGE, error.message, _hint_of(error))
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _OURS:
            _unexpected()
        from touchline.own_package import how_to_install

        _leave(Exit.USAGE, f"this needs {missing!r}, which is not installed.", how_to_install())
    except KeyboardInterrupt:
        _leave(Exit.INTERRUPTED, "interrupted")
    except BrokenPipeError:
        _give_up_output()
        raise SystemExit(Exit.PIPE_CLOSED) from None
    except (OSError, RuntimeError) as error:
        from touchline.cli.machine_faults import told

        if (said := told(error)) is not None:
            _leave(Exit.USAGE, *said)
        if not isinstance(error, OSError) or error.errno not in (errno.ENOSPC, errno.EIO):
            _unexpected()
        _give_up_output()
        _leave(Exit.OUTPUT, f"the output could not be written ({error.strerror}).")
    except Exception:
        _unexpected()


def _hint_of(error: TouchlineError) -> str:
    if not error.then:
        return error.hint
    from touchline.cli.place import hint_of

    return hint_of(error)


def _leave(code: Exit, words: str, hint: str = "") -> NoReturn:
    from touchline.audit.visible import visible

    print(f"touchline: {visible(words)}", file=sys.stderr)
    if hint:
        print(visible(hint), file=sys.stderr)
    raise SystemExit(code) from None


def _give_up_output() -> None:
    """Nothing more can be written; without this the interpreter would try again when it ends, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _unexpected() -> NoReturn:
    import traceback

    traceback.print_exc()
    from touchline.cli.log_file import log_file

    if (file := log_file("touchline")) is not None:
        file.write(f"touchline {' '.join(sys.argv[1:2])}: {traceback.format_exc()}")
    _leave(Exit.UNEXPECTED, "this is a fault of Touchline itself. Please report it with the lines above.")


if __name__ == "__main__":
    main()
