"""A chat model that calls the tools that a test wrote, and talks beside it."""

import asyncio
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field, SkipValidation

from tests.fake_model import FakeModel

CANARY = "CANARY-gather-words"

Round = Sequence[tuple[str, dict[str, Any]]]
"""The calls of one round: names and arguments."""


class Choosing(FakeModel):
    """Makes the calls of one round after the other, then none; ``...`` waits for ever."""

    rounds: SkipValidation[list[Any]] = Field(default_factory=list[Any])
    prompts: SkipValidation[list[list[BaseMessage]]] = Field(
        default_factory=list[list[BaseMessage]]
    )
    offered: SkipValidation[list[Any]] = Field(default_factory=list[Any])
    again: bool = False
    """Whether the last round is repeated for ever."""

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:  # noqa: ANN401
        self.offered = list(tools)
        return self

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: object,
    ) -> ChatResult:
        at = len(self.prompts)
        self.prompts.append(messages)
        calls: Any = ()
        if self.rounds and (self.again or at < len(self.rounds)):
            calls = self.rounds[min(at, len(self.rounds) - 1)]
        if calls is ...:
            await asyncio.Event().wait()
        message = AIMessage(
            content=CANARY,
            tool_calls=[
                {"id": f"call_{at}_{n}", "name": name, "args": arguments, "type": "tool_call"}
                for n, (name, arguments) in enumerate(calls)
            ],
            usage_metadata={"input_tokens": 30, "output_tokens": 7, "total_tokens": 37},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    @property
    def names(self) -> list[str]:
        """The tools that were offered."""
        return [each["function"]["name"] for each in self.offered]

    def read(self, at: int) -> str:
        """Everything that the model read in one round."""
        return "\n".join(str(each.content) for each in self.prompts[at])
