"""Anybody's graphs: a chat model in a node, and a node that only waits. They know no turnwire."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, Final, TypedDict

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph

from bench.workload import delay_s, words

WORDS: Final = words()
IDLE_S: Final = 3600.0


class ChatState(TypedDict):
    """The usual state of a chat graph."""

    messages: Annotated[list[AnyMessage], add_messages]


Graph = CompiledStateGraph[ChatState, Any, ChatState, ChatState]


class CannedModel(BaseChatModel):
    """A chat model that answers with ``TOKENS`` words, each after ``delay`` seconds."""

    delay: float = 0.0

    @property
    def _llm_type(self) -> str:
        return "canned"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 - LangChain's signature
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("".join(WORDS)))])

    async def chunks(self) -> AsyncIterator[ChatGenerationChunk]:
        """Yield the answer as a provider's client does, without LangChain's callbacks."""
        for word in WORDS:
            await asyncio.sleep(self.delay)
            yield ChatGenerationChunk(message=AIMessageChunk(content=word))

    def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 - LangChain's signature
    ) -> AsyncIterator[ChatGenerationChunk]:
        return self.chunks()


def chat_graph(model: BaseChatModel) -> Graph:
    """Return a graph of one node that calls ``model`` in the most ordinary way."""

    async def answer(state: ChatState) -> dict[str, list[BaseMessage]]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(ChatState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return builder.compile()


def idle_graph() -> Graph:
    """Return a graph of one node that says nothing for an hour."""

    async def wait(state: ChatState) -> dict[str, list[BaseMessage]]:
        await asyncio.sleep(IDLE_S)
        return {"messages": []}

    builder = StateGraph(ChatState)
    builder.add_node("wait", wait)
    builder.add_edge(START, "wait")
    builder.add_edge("wait", END)
    return builder.compile()


def canned_model() -> CannedModel:
    """Return the model with the delay that the environment asks for."""
    return CannedModel(delay=delay_s())
