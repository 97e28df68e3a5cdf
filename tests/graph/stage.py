"""A graph as the engine drives it, with the grammar checked at every step."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import JsonValue

from turnwire.engine.turn import Turn
from turnwire.events import (
    Event,
    NodeCompleted,
    NodeStarted,
    Pause,
    TextDelta,
    TextReplaced,
    TurnCompleted,
    TurnPaused,
    TurnStarted,
)
from turnwire.graph.agent import GraphAgent
from turnwire.graph.manifest import Manifest
from turnwire.graph.serializer import StrictSerializer
from turnwire.ids import ConversationId, PauseId, RunId, TurnId
from turnwire.work import Message, Unsettled, Work

E = TypeVar("E")
MANIFEST = Manifest(slug="graph", title="Graph")


def one_node(model: Any, **config: Any) -> StateGraph[Any]:  # noqa: ANN401
    """A graph whose only node asks the model and keeps the answer."""

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"], **config)]}

    return line(answer=answer)


def line(state: Any = MessagesState, **nodes: Any) -> StateGraph[Any]:  # noqa: ANN401
    """A graph of nodes one after another."""
    graph: StateGraph[Any] = StateGraph(state)
    before = START
    for name, node in nodes.items():
        graph.add_node(name, node)
        graph.add_edge(before, name)
        before = name
    graph.add_edge(before, END)
    return graph


@dataclass
class Played:
    """What one turn said."""

    turn: Turn
    work: Work
    events: list[Event] = field(default_factory=list[Event])
    aloud: list[list[str]] = field(default_factory=list[list[str]])
    """The words that came the short way, past LangGraph's stream; those together that were."""

    def of(self, kind: type[E]) -> list[E]:
        return [each for each in self.events if isinstance(each, kind)]

    @property
    def text(self) -> str:
        text = ""
        for each in self.events:
            if isinstance(each, TextDelta):
                text += each.text
            elif isinstance(each, TextReplaced):
                text = each.text
        return text

    @property
    def deltas(self) -> list[str]:
        return [each.text for each in self.of(TextDelta)]

    @property
    def ending(self) -> TurnCompleted:
        last = self.events[-1]
        assert isinstance(last, TurnCompleted), last
        return last

    @property
    def pauses(self) -> tuple[Pause, ...]:
        last = self.events[-1]
        assert isinstance(last, TurnPaused), last
        return last.pauses

    @property
    def started(self) -> list[str]:
        return [each.node for each in self.of(NodeStarted)]

    @property
    def completed(self) -> list[tuple[str, str]]:
        return [(each.node, each.status) for each in self.of(NodeCompleted)]


class Host:
    """Runs turns of one graph, each conversation on its own thread of one saver."""

    def __init__(self, graph: object, manifest: Manifest = MANIFEST) -> None:
        compiled = graph.compile() if hasattr(graph, "compile") else graph  # type: ignore[attr-defined]
        self.saver = InMemorySaver(serde=StrictSerializer())
        self.at = 1_800_000_000_000
        self.agent = GraphAgent(
            cast("Any", compiled), manifest, saver=self.saver, now=self.now, recursion_limit=20
        )
        self._numbers = 0

    def now(self) -> int:
        self.at += 1
        return self.at

    def begin(
        self,
        text: str = "Hello",
        *,
        conversation: str = "conv_1",
        unsettled: Sequence[Unsettled] = (),
        secrets: Mapping[str, str] | None = None,
    ) -> Played:
        """Return a turn that has begun and not yet run."""
        self._numbers += 1
        turn = Turn(TurnId(f"trn_{self._numbers}"))
        event = TurnStarted(
            conversation_id=ConversationId(conversation),
            agent=self.agent.slug,
            model=self.agent.model,
            locale="en",
            trace_id="0" * 32,
            topology=self.agent.topology,
        )
        turn.begin(RunId("run_1"), event, at=self.now())
        work = Work(
            turn_id=turn.turn_id,
            conversation_id=event.conversation_id,
            run_id=turn.run_id,
            principal=f"key:{conversation}",
            locale="en",
            trace_id=event.trace_id,
            started_ms=self.at,
            messages=(Message(role="user", content=text),),
            unsettled=tuple(unsettled),
            secrets=secrets or {},
        )
        return Played(turn, work)

    async def run(self, played: Played, *, hears: bool = True) -> Played:
        """Run to a pause or to the end; with ``hears``, words may come the short way."""

        def aloud(words: Sequence[str]) -> bool:
            if hears:
                said = played.turn.say(words, at=self.now())
                played.events += [each.event for each in said]
                played.aloud.append(list(words))
            return hears

        work = replace(played.work, aloud=aloud)
        async with asyncio.timeout(10), aclosing(self.agent.work(work)) as batches:
            async for batch in batches:
                said = played.turn.receive(batch, at=self.now())
                played.events += [each.event for each in said]
        assert played.turn.state != "running", "the agent stopped without an ending"
        return played

    async def play(self, text: str = "Hello", **about: Any) -> Played:  # noqa: ANN401
        """Run a new turn."""
        return await self.run(self.begin(text, **about))

    async def until(self, played: Played, kind: type[Event], *, count: int = 1) -> Unsettled:
        """Run until the turn said so many events of a kind, then cancel; return what is left."""
        batches = self.agent.work(played.work)
        async with asyncio.timeout(10), aclosing(batches):
            async for batch in batches:
                said = played.turn.receive(batch, at=self.now())
                played.events += [each.event for each in said]
                if len(played.of(kind)) >= count:
                    break
        said = played.turn.cancel(at=self.now())
        played.events += [each.event for each in said]
        return Unsettled(
            turn_id=played.work.turn_id,
            messages=played.work.messages,
            content=played.turn.text,
        )

    async def answer(self, played: Played, answers: Mapping[PauseId, JsonValue]) -> Played:
        """Answer pauses and run on; the new run's events alone are returned."""
        started = played.turn.started
        assert started is not None
        work = Work(
            turn_id=played.work.turn_id,
            conversation_id=played.work.conversation_id,
            run_id=RunId("run_2"),
            principal=played.work.principal,
            locale="en",
            trace_id=played.work.trace_id,
            started_ms=self.now(),
            messages=played.work.messages,
            answers=answers,
            secrets=played.work.secrets,
        )
        resumed = started.model_copy(update={"resumed": True})
        played.turn.begin(work.run_id, resumed, at=self.now())
        return await self.run(Played(played.turn, work))

    async def messages(self, conversation: str = "conv_1") -> list[BaseMessage]:
        """Return what the thread holds."""
        saved = await self.saver.aget_tuple({"configurable": {"thread_id": conversation}})
        assert saved is not None
        return list(saved.checkpoint["channel_values"]["messages"])

    def stored(self) -> str:
        """Return everything that the saver keeps, as one text to search."""
        return repr(self.saver.storage) + repr(self.saver.writes) + repr(self.saver.blobs)


async def exhaust(batches: AsyncGenerator[Sequence[Event], None]) -> None:
    async with aclosing(batches):
        async for _ in batches:
            pass
