"""A chat model that says what a test wrote."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from pydantic import Field, SkipValidation

from tests.fake_model import FakeModel


class Scripted(FakeModel):
    """Says ``script`` piece by piece; an exception in it is raised, ``...`` waits for ever."""

    script: SkipValidation[list[Any]] = Field(default_factory=list[Any])
    ending: dict[str, Any] = Field(default_factory=lambda: {"finish_reason": "stop"})
    prompts: SkipValidation[list[list[BaseMessage]]] = Field(
        default_factory=list[list[BaseMessage]]
    )
    opened: int = 0
    closed: int = 0

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: object,
    ) -> AsyncIterator[ChatGenerationChunk]:
        self.prompts.append(messages)
        self.opened += 1
        try:
            for piece in self.script:
                await asyncio.sleep(0)
                if isinstance(piece, Exception):
                    raise piece
                if piece is ...:
                    await asyncio.Event().wait()
                yield ChatGenerationChunk(message=AIMessageChunk(content=piece))
            yield ChatGenerationChunk(
                message=AIMessageChunk(
                    content="",
                    usage_metadata={"input_tokens": 20, "output_tokens": 5, "total_tokens": 25},
                    response_metadata=self.ending,
                )
            )
        finally:
            self.closed += 1
