"""The `touchline` command: starts the command line, and turns errors into a message and exit code 2."""

from __future__ import annotations

import sys

_EXTRA = frozenset({"typer", "rich"})
"""What the command line needs beyond the standard library."""


def main() -> None:
    """Run the command line and leave with its exit code."""
    from touchline.cli.exits import Exit
    from touchline.errors import TouchlineError

    try:
        from touchline.cli.app import app

        app(prog_name="touchline")
    except TouchlineError as error:
        from touchline.audit.visible import visible

        print(f"touchline: {visible(error.message)}", file=sys.stderr)
        if error.hint:
            print(visible(error.hint), file=sys.stderr)
        raise SystemExit(Exit.USAGE) from None
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        print(f"touchline: the command line needs {error.name!r}, which is not installed.", file=sys.stderr)
        print('Install it with: pip install "touchline[cli]"', file=sys.stderr)
        raise SystemExit(Exit.USAGE) from None


if __name__ == "__main__":
    main()
