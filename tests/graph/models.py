"""Chat models that say what a test wrote, and refuse what hosted providers refuse."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, Self

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field, SkipValidation


class BadRequest(Exception):
    """What a hosted provider says to messages in a wrong order."""

    status_code = 400


def require_order(messages: Sequence[BaseMessage]) -> None:
    """Raise :class:`BadRequest` as OpenAI and Anthropic between them do."""
    waiting: set[str] = set()
    before: BaseMessage | None = None
    for each in messages:
        match each:
            case SystemMessage():
                continue
            case ToolMessage():
                if each.tool_call_id not in waiting:
                    raise BadRequest(f"a result without a call: {each.tool_call_id}")
                waiting.remove(each.tool_call_id)
            case _ if waiting:
                raise BadRequest(f"calls without a result: {sorted(waiting)}")
            case AIMessage():
                if isinstance(before, AIMessage) or before is None:
                    raise BadRequest("an answer to nothing")
                if not each.tool_calls and not each.text.strip():
                    raise BadRequest("an empty answer")
                waiting = {call["id"] or "" for call in each.tool_calls}
            case HumanMessage():
                if isinstance(before, HumanMessage):
                    raise BadRequest("two questions in a row")
            case _:
                raise BadRequest(f"an unknown role: {each.type}")
        before = each
    if waiting or isinstance(before, AIMessage):
        raise BadRequest("the last message asks for nothing")


class Chunked(BaseChatModel):
    """Says ``calls[n]`` at its n-th call, the last one for ever; ``...`` waits, errors are raised.

    A piece is text, a list of content blocks, a whole chunk, or a number of seconds to wait.
    """

    calls: SkipValidation[list[list[Any]]] = Field(default_factory=list[list[Any]])
    chunk_id: str | None = None
    prompts: SkipValidation[list[list[BaseMessage]]] = Field(
        default_factory=list[list[BaseMessage]]
    )
    opened: int = 0
    closed: int = 0

    @property
    def _llm_type(self) -> str:
        return "chunked"

    def bind_tools(self, tools: Sequence[object], **kwargs: object) -> Self:  # type: ignore[override]
        return self

    def _script(self, messages: list[BaseMessage]) -> list[Any]:
        require_order(messages)
        number = len(self.prompts)
        self.prompts.append(messages)
        return self.calls[min(number, len(self.calls) - 1)]

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: object,
    ) -> ChatResult:
        raise NotImplementedError

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: object,
    ) -> AsyncIterator[ChatGenerationChunk]:
        self.opened += 1
        try:
            for piece in self._script(messages):
                await asyncio.sleep(0)
                if isinstance(piece, Exception):
                    raise piece
                if piece is ...:
                    await asyncio.Event().wait()
                elif isinstance(piece, AIMessageChunk):
                    yield ChatGenerationChunk(message=piece)
                elif isinstance(piece, float):
                    await asyncio.sleep(piece)
                else:
                    message = AIMessageChunk(content=piece, id=self.chunk_id)
                    yield ChatGenerationChunk(message=message)
        finally:
            self.closed += 1


class Whole(BaseChatModel):
    """A model that can't stream."""

    text: str = "Rest well."

    @property
    def _llm_type(self) -> str:
        return "whole"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: object,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=self.text))])


def calling(*calls: tuple[str, str, str]) -> AIMessageChunk:
    """Return a chunk that calls tools: id, name and arguments as JSON."""
    return AIMessageChunk(
        content="",
        tool_call_chunks=[
            {"id": id, "name": name, "args": args, "index": n, "type": "tool_call_chunk"}
            for n, (id, name, args) in enumerate(calls)
        ],
    )
