"""How is a provider's model asked? By Pydantic AI, which knows them all; one request, its answer as a plain value."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from touchline.errors import ModelError
from touchline.models.asking import Prompted, Raw
from touchline.models.naming import ModelName
from touchline.own_package import how_to_install
from touchline.supervision.facts import Usage

if TYPE_CHECKING:
    from pydantic_ai.models import Model


class ProviderModel:
    """A backend over any provider that Pydantic AI knows, or any server that speaks OpenAI's chat completions."""

    def __init__(self, name: ModelName, *, env: Mapping[str, str]) -> None:
        try:
            import pydantic_ai  # noqa: F401
        except ModuleNotFoundError:
            raise ModelError(
                f"{name.line} needs Pydantic AI, which is not installed.",
                hint=f"Use an agent you have, such as cli:claude, or install it. {how_to_install('models')}",
            ) from None
        self._name = name
        self._env = env

    def reply(self, prompted: Prompted) -> Raw:
        from pydantic_ai import StructuredDict
        from pydantic_ai.exceptions import AgentRunError, RunTimedOut, UserError

        shape = StructuredDict(dict(prompted.schema), name="answer", description="The answer to the question.")
        try:
            done = asyncio.run(self._run(prompted, shape))
        except RunTimedOut as error:
            raise ModelError(
                f"{self._name.line} did not answer within {prompted.seconds:g} s.", hint="Try again, or another model."
            ) from error
        except ImportError as error:
            raise ModelError(
                f"{self._name.line} needs a package that is not installed: {error}",
                hint="Install what it names, or use another model, such as cli:claude.",
            ) from error
        except UserError as error:
            raise ModelError(
                f"{self._name.line} cannot be asked: {error}", hint="Check the line and the key."
            ) from error
        except AgentRunError as error:
            raise ModelError(
                f"{self._name.line} cannot be asked: {error}", hint="Check the key, the model's name and the network."
            ) from error
        used = done.usage
        cached = used.cache_read_tokens or 0
        written = used.cache_write_tokens or 0
        return Raw(
            value=done.output,
            usage=Usage(
                input=max(0, (used.input_tokens or 0) - cached - written),
                output=used.output_tokens or 0,
                cache_read=cached,
                cache_write=written,
            ),
            cost_usd=float(used.cost) if used.cost is not None else None,
            model=self._name.line,
        )

    async def _run(self, prompted: Prompted, shape: Any) -> Any:
        from pydantic_ai import Agent

        agent: Agent[object, Any] = Agent(
            self._model(), output_type=shape, instructions=prompted.instructions, retries=1
        )
        # Entered, so that its connections are closed when it is done.
        async with agent:
            return await agent.run(prompted.prompt, timeout=prompted.seconds, infer_name=False)

    def _model(self) -> Model | str:
        if self._name.backend != "compatible":
            return self._name.target
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        key = self._env.get("OPENAI_API_KEY") or "none"
        return OpenAIChatModel(self._name.model, provider=OpenAIProvider(base_url=self._name.target, api_key=key))
