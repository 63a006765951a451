"""`touchline decide`: the library for programs in other languages. One situation in, one decision out, as JSON."""

from __future__ import annotations


def decide() -> None:
    """Decide about one stop of an agent: a situation as JSON on standard input, the decision as JSON out.

    \b
    The smallest situation is a final message. With the calls, claims are checked against them:
      echo '{"text": "All tests pass."}' | touchline decide
      touchline decide < situation.json

    \b
    Exit codes:
      0  decided
      2  the input is wrong; the message names the field

    Fields in and out: docs/reference/decide-json.md
    """
    import os

    from touchline.supervision import prepared

    # Programs wait for this at every stop; the rules ask for their patterns as they are imported.
    prepared.use(prepared.store_path(os.environ))
    from touchline.cli.decision_output import run

    run()
    prepared.keep()
