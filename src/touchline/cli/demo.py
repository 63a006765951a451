"""`touchline demo`: the audit of the sample sessions that come with Touchline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Where the page is written; made when it is missing.")
    ] = Path("out"),
) -> None:
    """Audit sample sessions of real agents, and write the report as a page. Opens nothing.

    Among them are a false completion, a loop, an honest completion and a crash.
    """
    from touchline.audit.run import audit
    from touchline.audit.samples import SAMPLES
    from touchline.audit.selection import choose
    from touchline.cli.audit import show
    from touchline.errors import InputError

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: {out} cannot be made ({error.strerror}).", hint="Name another folder.") from error
    show(audit(choose([SAMPLES])), as_json=False, html=out / "audit.html")
