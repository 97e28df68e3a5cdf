"""The guarded agent with a scripted model and a shelf of passages, driven as the engine does."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command

from tests.models.scripted import Scripted
from turnwire.agents.guarded import GuardedParts, build
from turnwire.events import (
    EVENT_TYPES,
    CitationAdded,
    Funnel,
    GuardrailDecided,
    Passage,
    Search,
    TextDelta,
    TextReplaced,
)
from turnwire.graph.context import TurnContext
from turnwire.nodes.evidence.source import Source
from turnwire.nodes.guardrails.policy import shipped_policy

HEALTH = shipped_policy("health")
TEXTS = (
    "A fever is a temperature of 38 °C or higher. Rest and drink water. Adults take 500 mg of "
    "paracetamol every 6 hours.",
    "Cold baths are not recommended for a fever because they make people shiver.",
)


@dataclass
class Found:
    evidence: tuple[Source, ...]
    search: Search


@dataclass
class Shelf:
    """Finds the same passages whatever is asked."""

    texts: Sequence[str] = TEXTS
    asked: list[str] = field(default_factory=list[str])
    hints: list[bool | None] = field(default_factory=list[bool | None])

    def search(
        self, query: str, *, locale: str | None = None, rerank_hint: bool | None = None
    ) -> Found:
        self.asked.append(query)
        self.hints.append(rerank_hint)
        funnel = Funnel(generation=1, returned=len(self.texts), kept=len(self.texts))
        return Found(
            tuple(_source(n, text) for n, text in enumerate(self.texts, start=1)),
            Search(query=query, duration_ms=1, funnel=funnel),
        )


def _source(number: int, text: str) -> Source:
    passage = Passage(
        index=number,
        id=f"psg-{number}",
        title=f"Fever {number}",
        document_id="doc",
        document_name="Fever",
        score=0.5,
        snippet=text[:20],
        source="health",
        locale="en",
    )
    return Source(passage=passage, text=text)


@dataclass
class Run:
    """What one run of the graph showed."""

    said: list[Any] = field(default_factory=list[Any])
    nodes: list[str] = field(default_factory=list[str])
    state: Mapping[str, Any] = field(default_factory=dict[str, Any])
    interrupts: list[Any] = field(default_factory=list[Any])

    @property
    def text(self) -> str:
        """The answer as a client has it."""
        text = ""
        for each in self.said:
            if isinstance(each, TextDelta):
                text += each.text
            if isinstance(each, TextReplaced):
                text = each.text
        return text

    @property
    def cited(self) -> list[int]:
        """The markers that were said, since the answer was last replaced."""
        last = max((n for n, e in enumerate(self.said) if isinstance(e, TextReplaced)), default=-1)
        return [e.citation.marker for e in self.said[last + 1 :] if isinstance(e, CitationAdded)]

    @property
    def checks(self) -> dict[str, str]:
        """The outcome of each check."""
        decided = [each.decision for each in self.said if isinstance(each, GuardrailDecided)]
        return {each.check: each.outcome for each in decided}

    def take(self, part: Mapping[str, Any]) -> None:
        """Note one stream part."""
        data = part["data"]
        match part["type"]:
            case "custom":
                self.said += [each for each in data.take() if isinstance(each, EVENT_TYPES)]
            case "tasks" if "result" not in data and "error" not in data:
                self.nodes.append(data["name"])
            case "values":
                self.state = data
                self.interrupts += part.get("interrupts") or ()
            case _:
                pass


class Stage:
    """One conversation with a guarded agent whose checkpointer is strict."""

    def __init__(
        self,
        model: BaseChatModel | None = None,
        *,
        shelf: Shelf | None = None,
        **parts: object,
    ) -> None:
        self.model = model or Scripted(script=["From 38 °C ", "on [1]."])
        self.shelf = shelf or Shelf()
        named: dict[str, Any] = {"policy": HEALTH, "model_name": "scripted"}
        named |= {"retriever": self.shelf, **parts}
        self.parts = GuardedParts(model=self.model, **named)
        self.saver = InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))
        self.graph: Any = build(self.parts, checkpointer=self.saver)
        self.config = {"configurable": {"thread_id": "c"}}
        self.turns = 0

    async def ask(self, *questions: str, locale: str = "en", model: str | None = None) -> Run:
        """Run a new turn with these messages."""
        self.turns += 1
        messages = [HumanMessage(each) for each in questions]
        return await self._run({"messages": messages}, self.context(locale, model))

    async def decide(self, decision: object) -> Run:
        """Go on after a pause with a reviewer's answer."""
        return await self._run(Command(resume=decision), self.context("en", None))

    async def bare(self, question: str) -> Run:
        """Run a turn without any context."""
        return await self._run({"messages": [HumanMessage(question)]}, None)

    def context(self, locale: str, model: str | None) -> TurnContext:
        """Return the context that turnwire gives to a turn."""
        return TurnContext(
            turn_id=f"trn_{self.turns}",
            conversation_id="c",
            principal="p",
            locale=locale,
            trace_id="0" * 32,
            model=model,
        )

    def stream(self, given: object, context: TurnContext | None) -> AsyncGenerator[Any, None]:
        """Return the graph's stream."""
        modes = ["custom", "tasks", "values"]
        return self.graph.astream(
            given, self.config, context=context, stream_mode=modes, version="v2"
        )

    async def _run(self, given: object, context: TurnContext | None) -> Run:
        run = Run()
        async with aclosing(self.stream(given, context)) as parts:
            async for part in parts:
                run.take(cast("Mapping[str, Any]", part))
        return run
