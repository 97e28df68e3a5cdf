"""Small graphs to serve: one that does what the question says, and a few of another shape.

The question to :func:`stage` is a word and its arguments: ``say hello there``, ``slow 20 0.05``,
``silent 3``, ``raise``, ``die``, ``ask``, ``review 60``, ``block 2``, ``huge 300000``, ``odd``,
``unstorable``, ``count``, ``act PATH``.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import psutil
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from pydantic import BaseModel, SkipValidation

from tests.fake_model import FakeModel
from turnwire.graph.emit import speaker
from turnwire.graph.pause import ask, is_expired
from turnwire.models.catalog import chat_model

CANARY: Final = "CANARY-7f3a /srv/secret/prompt.txt sk-canary-key"
"""Stands for a system prompt, a key and a path; no client may ever read it."""
ODD: Final = "alpha\u2028beta\u2029gamma\u0085delta\u000bepsilon\u001cend"
SOON: Final = 0.3
"""Seconds for which the question of :func:`beside` that is named can be answered."""
PEOPLE: Final = "東京は雨 🌦️ naïve שלום ไทย 👩‍👩‍👧"
AMOUNT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"amount": {"type": "integer", "minimum": 1}},
    "required": ["amount"],
    "additionalProperties": False,
}

provider_url: list[str] = []
"""Where :func:`provider` finds its model; set by the test that serves it."""
acted: list[str] = []
"""What :func:`acting` and :func:`provider` did, in this process."""
cleaned: list[str] = []
"""Questions whose node was left through its ``finally``."""


class Script(FakeModel):
    """Says the pieces; a number is a pause in seconds, an exception is raised."""

    pieces: SkipValidation[list[Any]]

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: object,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            if isinstance(piece, float):
                await asyncio.sleep(piece)
                continue
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece))


class StageState(MessagesState, total=False):
    """A history, and a place for a thing that no checkpoint can hold."""

    thing: Any


Stage: TypeAlias = StateGraph[StageState, None, StageState, StageState]
Update = Mapping[str, Any]
Act = Callable[[list[str]], Coroutine[Any, Any, Update]]


async def _says(*pieces: object) -> Update:
    return {"messages": [await Script(pieces=list(pieces)).ainvoke("go")]}


async def _say(words: list[str]) -> Update:
    return await _says(*(f"{each} " for each in words[:-1]), *words[-1:])


async def _slow(words: list[str]) -> Update:
    count, delay = int(words[0]), float(words[1])
    pieces: list[object] = []
    for number in range(count):
        pieces += [f"w{number} ", delay]
    try:
        return await _says(*pieces)
    finally:
        cleaned.append(" ".join(words))


async def _silent(words: list[str]) -> Update:
    await asyncio.sleep(float(words[0]))
    return await _says("at ", "last")


async def _raise(words: list[str]) -> Update:
    await _says("one ", "two ", "three ")
    raise RuntimeError(CANARY)


async def _raise_without_a_text(words: list[str]) -> Update:
    raise RuntimeError


async def _die(words: list[str]) -> Update:
    return await _says("one ", "two ", ConnectionError(CANARY))


async def _ask(words: list[str]) -> Update:
    given = interrupt({"question": "How much?"}, response_schema=AMOUNT)
    return await _says(f"You gave {given['amount']}.")


async def _ask_twice(words: list[str]) -> Update:
    first = interrupt("first?")
    second = interrupt("second?")
    return await _says(f"{first} then {second}")


async def _review(words: list[str]) -> Update:
    question: dict[str, Any] = {"question": "risky?", "draft": "the draft", "reasons": ["risk"]}
    given = ask("review", question, expires_in=float(words[0]))
    if given["decision"] == "edit":
        return {"messages": [AIMessage(given["edited_text"])]}
    return {"messages": [AIMessage("the draft" if given["decision"] == "approve" else "refused")]}


async def _huge(words: list[str]) -> Update:
    return await _says("x" * int(words[0]))


async def _flood(words: list[str]) -> Update:
    # Said by the node itself: LangChain keeps every chunk of a model's answer until its end.
    voice, said = speaker(), [f"{number:09d} " for number in range(int(words[0]))]
    for number, each in enumerate(said):
        voice.say(each)
        if number % 500 == 0:
            await asyncio.sleep(0.001)
    return {"messages": [AIMessage("".join(said))]}


async def _odd(words: list[str]) -> Update:
    return await _says(ODD)


async def _people(words: list[str]) -> Update:
    return await _says(*PEOPLE)


async def _unstorable(words: list[str]) -> Update:
    return {**await _says("said"), "thing": {"deep": [object()]}}


async def _count(words: list[str]) -> Update:
    process = psutil.Process()
    mib = process.memory_info().rss // 2**20
    return await _says(f"{len(asyncio.all_tasks())} {process.num_threads()} {mib}")


def _note(file: Path, line: str) -> None:
    with file.open("a") as out:
        out.write(line)


async def _act(words: list[str]) -> Update:
    asked = interrupt("Really?")
    await asyncio.to_thread(_note, Path(words[0]), f"{asked}\n")
    return await _says("done")


_ACTS: Final[Mapping[str, Act]] = {
    "say": _say,
    "slow": _slow,
    "silent": _silent,
    "raise": _raise,
    "raise-nothing": _raise_without_a_text,
    "die": _die,
    "ask": _ask,
    "ask-twice": _ask_twice,
    "review": _review,
    "huge": _huge,
    "flood": _flood,
    "odd": _odd,
    "people": _people,
    "unstorable": _unstorable,
    "count": _count,
    "act": _act,
}


def _question(state: MessagesState) -> list[str]:
    return str(state["messages"][-1].text).split()


async def _perform(state: StageState) -> Update:
    word, *arguments = _question(state)
    return await _ACTS[word](arguments)


def _block(state: StageState) -> Update:
    time.sleep(float(_question(state)[1]))
    return {"messages": [AIMessage("unblocked")]}


async def _route(state: StageState) -> str:
    # Async, because LangGraph runs a sync function in the pool that `block` holds.
    return "block" if _question(state)[0] == "block" else "perform"


def stage() -> Stage:
    """Does what the question says; ``block`` holds a thread, everything else is async."""
    graph: Stage = StateGraph(StageState)
    graph.add_node("perform", _perform)
    graph.add_node("block", _block)
    graph.add_conditional_edges(START, _route, ["perform", "block"])
    graph.add_edge("perform", END)
    graph.add_edge("block", END)
    return graph


def _branch(name: str) -> Update:
    given = interrupt({"branch": name})
    acted.append(f"{name}:{given}")
    return {"messages": [AIMessage(f"{name}={given}")]}


def parallel() -> Stage:
    """Ask two people at once, each in a branch of its own."""
    return _two(lambda _: _branch("left"), lambda _: _branch("right"))


class Amount(BaseModel):
    """What :func:`beside` asks for."""

    amount: int


def beside() -> Stage:
    """Put a draft to a reviewer and a question to the member; the one that is named expires."""

    def review(state: StageState) -> Update:
        soon = SOON if _question(state)[0] == "review" else 60.0
        question: dict[str, Any] = {"question": "risky?", "draft": "the draft", "reasons": ["risk"]}
        given = ask("review", question, expires_in=soon)
        return {"messages": [AIMessage(f"review={_given(given)}")]}

    def amount(state: StageState) -> Update:
        soon = SOON if _question(state)[0] == "amount" else 60.0
        given = ask("input", {"question": "How much?"}, response_schema=Amount, expires_in=soon)
        return {"messages": [AIMessage(f"amount={_given(given)}")]}

    return _two(amount, review)


def _given(answer: Any) -> str:  # noqa: ANN401 - what a person said
    if is_expired(answer):
        return "late"
    return str(answer.amount) if isinstance(answer, Amount) else answer["decision"]


def _two(one: Callable[[StageState], Update], other: Callable[[StageState], Update]) -> Stage:
    graph: Stage = StateGraph(StageState)

    def left(state: StageState) -> Update:
        return one(state)

    def right(state: StageState) -> Update:
        return other(state)

    async def join(state: StageState) -> Update:
        said = [str(each.text) for each in state["messages"] if isinstance(each, AIMessage)]
        return await _says(" ".join(sorted(said)))

    graph.add_node("left", left)
    graph.add_node("right", right)
    graph.add_node("join", join)
    for branch in ("left", "right"):
        graph.add_edge(START, branch)
    graph.add_edge(["left", "right"], "join")
    graph.add_edge("join", END)
    return graph


def traced() -> Stage:
    """As :func:`stage`, in a process with a global tracer provider, and with a span of its own."""
    tracing = TracerProvider()
    tracing.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(tracing)
    tracer = trace.get_tracer("a.graph")

    async def answer(state: StageState) -> Update:
        with tracer.start_as_current_span("a graph's own"):
            return await _says(str(state["messages"][-1].text))

    graph: Stage = StateGraph(StageState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph


@tool
def look_up(query: str) -> str:
    """Look something up."""
    logging.getLogger("a.library").warning("looked for %s", query)
    if query.startswith("fail"):
        raise RuntimeError(query)
    return f"found {query}"


def tooled() -> Stage:
    """Call a tool with the question, then say what it found."""

    async def plan(state: StageState) -> Update:
        call = {"name": "look_up", "args": {"query": str(state["messages"][-1].text)}, "id": "c1"}
        return {"messages": [AIMessage("", tool_calls=[call])]}

    async def answer(state: StageState) -> Update:
        return await _says(str(state["messages"][-1].text))

    graph: Stage = StateGraph(StageState)
    graph.add_node("plan", plan)
    graph.add_node("tools", ToolNode([look_up]))
    graph.add_node("answer", answer)
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "tools")
    graph.add_edge("tools", "answer")
    graph.add_edge("answer", END)
    return graph


def provider() -> Stage:
    """Answer with an OpenAI-compatible server, then do something that can't be undone."""
    model = chat_model("openai:fake", base_url=provider_url[-1])

    async def answer(state: StageState) -> Update:
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def act(state: StageState) -> Update:
        acted.append("after the answer")
        return {}

    graph: Stage = StateGraph(StageState)
    graph.add_node("answer", answer)
    graph.add_node("act", act)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", "act")
    graph.add_edge("act", END)
    return graph
