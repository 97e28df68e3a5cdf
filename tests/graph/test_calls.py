"""Every model call is measured, whoever makes it."""

import asyncio
from collections.abc import Generator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from tests.models.scripted import Scripted
from turnwire.events import Usage
from turnwire.graph.calls import MeasuredCalls, answered, asking
from turnwire.nodes.answer.completion import complete
from turnwire.probe import CALLS, Answered, Asked, Words


@dataclass
class Measured:
    """A call as it was told."""

    asked: Asked
    chunks: int = 0
    words: str = ""
    answer: Answered | None = None
    errors: list[str] = field(default_factory=list[str])
    keeps_words: bool = True

    def first_chunk(self) -> None:
        self.chunks += 1

    def said(self, text: str) -> None:
        self.words += text

    def ended(self, answered: Answered) -> None:
        self.answer = answered

    def failed(self, error: BaseException) -> None:
        self.errors.append(type(error).__name__)

    def current(self) -> AbstractContextManager[object]:
        return nullcontext()


@dataclass
class Recorder:
    calls: list[Measured] = field(default_factory=list[Measured])

    def begin(self, asked: Asked) -> Measured:
        self.calls.append(Measured(asked))
        return self.calls[-1]


@pytest.fixture
def recorder() -> Generator[Recorder]:
    made = Recorder()
    token = CALLS.set(made)
    yield made
    CALLS.reset(token)


def graph_of(model: BaseChatModel) -> Any:  # noqa: ANN401 - LangGraph leaves it open
    async def answer(state: MessagesState) -> MessagesState:
        chunks = [each async for each in model.astream(state["messages"])]
        return {"messages": [AIMessage("".join(str(each.text) for each in chunks))]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph.compile()


def ask(model: BaseChatModel) -> None:
    config: Any = {"callbacks": [MeasuredCalls()]}
    asyncio.run(graph_of(model).ainvoke({"messages": [HumanMessage("Hi")]}, config))


def test_a_call_through_langchain_is_told_with_its_node_and_its_usage(recorder: Recorder):
    ask(Scripted(script=["One ", "two."]))
    (call,) = recorder.calls
    assert call.asked.node == "answer"
    assert call.asked.provider == "scripted"
    assert call.asked.prompt() == [Words("user", "Hi")]
    assert call.words == "One two."
    assert call.answer is not None
    assert call.answer.usage == Usage(prompt_tokens=20, completion_tokens=5, total_tokens=25)


def test_a_call_through_langchain_that_fails_is_told(recorder: Recorder):
    with pytest.raises(ConnectionError):
        ask(Scripted(script=["One ", ConnectionError("gone")]))
    (call,) = recorder.calls
    assert (call.errors, call.answer) == (["ConnectionError"], None)


def say(model: BaseChatModel) -> None:
    asyncio.run(complete(model, [HumanMessage("Hi")], say=lambda _: None, think=lambda _: None))


def test_a_call_that_a_node_reads_directly_is_told_once(recorder: Recorder):
    say(Scripted(script=["One ", "two."]))
    (call,) = recorder.calls
    assert call.asked.prompt() == [Words("user", "Hi")]
    assert call.words == "One two."
    assert call.chunks >= 2
    usage = Usage(prompt_tokens=20, completion_tokens=5, total_tokens=25)
    assert call.answer == Answered(usage=usage, finish="stop")


def test_a_direct_call_that_fails_is_told(recorder: Recorder):
    with pytest.raises(ConnectionError):
        say(Scripted(script=["One ", ConnectionError("gone")]))
    assert [each.errors for each in recorder.calls] == [["ConnectionError"]]


def test_a_direct_call_inside_a_graph_knows_its_node(recorder: Recorder):
    model = Scripted(script=["One"])

    async def answer(state: MessagesState) -> MessagesState:
        await complete(model, state["messages"], say=lambda _: None, think=lambda _: None)
        return {"messages": []}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    config: Any = {"callbacks": [MeasuredCalls()]}
    asyncio.run(graph.compile().ainvoke({"messages": [HumanMessage("Hi")]}, config))
    assert [each.asked.node for each in recorder.calls] == ["answer"]


def test_a_provider_has_the_name_that_the_conventions_give_it():
    class Vertex(Scripted):
        def _get_ls_params(self, stop: Any = None, **kwargs: Any) -> Any:  # noqa: ANN401
            return {"ls_provider": "google_vertexai", "ls_model_name": "gemini"}

    asked = asking(Vertex(script=[]), [])()
    assert (asked.provider, asked.model, asked.node) == ("gcp.vertex_ai", "gemini", "")


def test_what_a_provider_did_not_say_is_none():
    assert answered(AIMessage("Hi")) == Answered()
    assert answered(None) == Answered()
    said = AIMessage("Hi", response_metadata={"stop_reason": "end_turn", "model_name": "m-1"})
    assert answered(said) == Answered(finish="end_turn", model="m-1")
