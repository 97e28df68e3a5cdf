"""Chat models that say what a test wrote, and refuse what hosted providers refuse."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, Self

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
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

from tests.fake_model import FakeModel


class BadRequest(Exception):
    """What a hosted provider says to messages in a wrong order."""

    status_code = 400


def require_order(messages: Sequence[BaseMessage]) -> None:
    """Raise :class:`BadRequest` as OpenAI and Anthropic between them do."""
    waiting: set[str] = set()
    before: BaseMessage | None = None
    for each in messages:
        if isinstance(each, SystemMessage):
            continue
        if isinstance(each, ToolMessage):
            _require(each.tool_call_id in waiting, f"a result without a call: {each.tool_call_id}")
            waiting.remove(each.tool_call_id)
        else:
            _require(not waiting, f"calls without a result: {sorted(waiting)}")
            _require_turn(each, before)
        if isinstance(each, AIMessage):
            waiting = {call["id"] or "" for call in each.tool_calls}
        before = each
    _require(not waiting, f"calls without a result: {sorted(waiting)}")
    _require(not isinstance(before, AIMessage), "the last message asks for nothing")


def _require_turn(message: BaseMessage, before: BaseMessage | None) -> None:
    match message:
        case AIMessage():
            _require(isinstance(before, HumanMessage | ToolMessage), "an answer to nothing")
            _require(bool(message.tool_calls or message.text.strip()), "an empty answer")
        case HumanMessage():
            _require(not isinstance(before, HumanMessage), "two questions in a row")
        case _:
            raise BadRequest(f"an unknown role: {message.type}")


def _require(holds: bool, complaint: str) -> None:
    if not holds:
        raise BadRequest(complaint)


class Chunked(FakeModel):
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

    def bind_tools(self, tools: Sequence[object], **kwargs: object) -> Self:
        return self

    def _script(self, messages: list[BaseMessage]) -> list[Any]:
        require_order(messages)
        number = len(self.prompts)
        self.prompts.append(messages)
        return self.calls[min(number, len(self.calls) - 1)]

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


class Whole(FakeModel):
    """A model that can't stream."""

    text: str = "Rest well."

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
