"""How does an agent CLI answer as a model? One read-only turn in an empty folder, held to the answer's JSON schema.

For people with a subscription and no key. The agent has nothing to read there and may write nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from touchline.errors import AgentError, ModelError, TouchlineError
from touchline.models.asking import Prompted, Raw
from touchline.models.naming import ModelName
from touchline.supervision.facts import Ended


class AgentModel:
    """A backend over any agent that has a driver. `records` is where running children are written down."""

    def __init__(self, name: ModelName, *, env: Mapping[str, str], records: Path | None = None) -> None:
        from touchline.agents.registry import driver_named

        self._name = name
        self._env = dict(env)
        self._records = records
        try:
            self._driver = driver_named(name.target)
        except AgentError as error:
            raise ModelError(f"{name.line}: {error.message}", hint=error.hint) from error

    def reply(self, prompted: Prompted) -> Raw:
        try:
            return self._reply(prompted)
        except ModelError:
            raise
        except TouchlineError as error:
            # It cannot be confined, or not be started: then there is no answer, whatever the reason.
            raise ModelError(f"{self._name.line} cannot be asked: {error.message}", hint=error.hint) from error

    def _reply(self, prompted: Prompted) -> Raw:
        from touchline.agents.port import Request
        from touchline.agents.sandbox import choose, probe
        from touchline.agents.turns import TurnLimits, run_turn

        driver, env = self._driver, self._env
        found = driver.find(env)
        if found is None:
            raise ModelError(f"{self._name.line}: {driver.name} is not installed.", hint=driver.advice())
        prompt = f"{prompted.instructions}\n\n{prompted.prompt}"
        if not driver.abilities.schema:
            prompt += f"\n\nAnswer with one JSON object of this schema and nothing else:\n{json.dumps(prompted.schema)}"
        with TemporaryDirectory(prefix="touchline-model-") as folder:
            workspace = Path(folder) / "empty"
            workspace.mkdir()
            ran = run_turn(
                driver,
                Request(
                    prompt=prompt,
                    workspace=workspace,
                    model=self._name.model or None,
                    read_only=True,
                    schema=prompted.schema if driver.abilities.schema else None,
                ),
                found,
                level=choose(None, probe(env), driver.abilities, read_only=True).level,
                env=env,
                records=self._records or Path(folder) / "children",
                raw=Path(folder) / "raw.jsonl",
                limits=TurnLimits(seconds=prompted.seconds),
                observe=lambda _: None,
                must_stop=lambda: False,
                on_session=lambda _: None,
            )
        turn = ran.turn
        if turn.ended is not Ended.FINISHED:
            detail = f": {turn.fault.message}" if turn.fault else f" ({turn.end_detail})" if turn.end_detail else ""
            raise ModelError(
                f"{self._name.line} gave no answer, its turn ended as {turn.ended}{detail}.",
                hint=f"Try it by hand: {driver.name} must be logged in.",
            )
        return Raw(
            value=json_in(turn.final_text),
            usage=turn.usage,
            cost_usd=turn.cost_usd,
            model=turn.model or self._name.line,
        )


def json_in(text: str) -> Any:
    """The JSON value that a message holds, alone or in a fence; the text itself when there is none."""
    candidates = [text, *re.findall(r"```(?:json)?\s*\n(.*?)```", text, re.DOTALL)]
    first, last = text.find("{"), text.rfind("}")
    if 0 <= first < last:
        candidates.append(text[first : last + 1])
    for candidate in candidates:
        try:
            return json.loads(candidate)
        except ValueError:
            continue
    return text
