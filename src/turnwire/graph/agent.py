"""A compiled LangGraph graph as an agent that the engine can run, resume and forget."""

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, Protocol, TypeVar, cast, get_type_hints

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END
from langgraph.pregel import Pregel
from langgraph.types import Command

from turnwire.clock import Now
from turnwire.events import Event, Topology, TurnPaused
from turnwire.graph.acting import AFTER, OWN, Later, begin
from turnwire.graph.calls import MeasuredCalls
from turnwire.graph.context import TurnContext
from turnwire.graph.emit import OUTLET, Outlet
from turnwire.graph.failures import classify
from turnwire.graph.history import new_messages, repairs
from turnwire.graph.manifest import Manifest
from turnwire.graph.memory import keep
from turnwire.graph.outcome import completed, draft
from turnwire.graph.pauses import resume_map, to_pause
from turnwire.graph.plain import unchanged
from turnwire.graph.serializer import declared_types
from turnwire.graph.tap import Tap
from turnwire.graph.topology import topology
from turnwire.graph.translate import Part, Translator
from turnwire.ids import ConversationId
from turnwire.probe import CALLS
from turnwire.work import Work

T = TypeVar("T")

Graph = Pregel[Any, Any, Any, Any]

_SPEAKING: Final = ("custom", "tasks", "updates", "values")
_ANY: Final = (*_SPEAKING, "tools")


class Previewed(Protocol):
    """Returns a text of a tool's arguments or result as it may be shown; called in a thread."""

    def __call__(self, text: str, /, *, locale: str) -> str:
        """Return the text as it may be shown to a member who reads this language."""
        ...


class GraphAgent:
    """Runs one compiled graph for every conversation; keeps nothing of a turn itself."""

    def __init__(
        self,
        graph: Graph,
        manifest: Manifest,
        *,
        saver: BaseCheckpointSaver[Any],
        now: Now,
        recursion_limit: int = 50,
        previewed: Previewed | None = None,
    ) -> None:
        self.manifest = manifest
        self.slug = manifest.slug
        self.title = manifest.title
        self.description = manifest.description
        self.model = manifest.model
        self.models = manifest.models
        self.version = manifest.version
        self.topology: Topology = topology(graph, manifest)
        self._saver = saver
        self._graph = graph.copy({"checkpointer": saver.with_allowlist(declared_types(graph))})
        self._now = now
        self._limit = recursion_limit
        self._previewed = previewed
        self._bindings: dict[ContextVar[Any], object] = {}
        self._modes: list[Any] = list(_SPEAKING if manifest.speaks else _ANY)

    def bind(self, variable: ContextVar[T], value: T) -> None:
        """Let every run of the graph find this context variable set."""
        self._bindings[variable] = value

    async def work(self, work: Work, /) -> AsyncGenerator[Sequence[Event], None]:
        """See :class:`turnwire.engine.agent.Agent`."""
        tap = Tap(self.manifest)
        translator = Translator(self.manifest, tap.heard, self._shown(work.locale))
        outlet = Outlet(work.aloud, translator.tasks, translator.may_pass)
        OUTLET.set(outlet)
        OWN.set(work.own)
        later: list[Later] = []
        AFTER.set(later)
        for variable, value in self._bindings.items():
            variable.set(value)
        try:
            async with aclosing(await self._stream(work, tap)) as parts:
                async for part in parts:
                    outlet.flush()
                    if part["type"] == "tools" and self._previewed is not None:
                        # In a thread: names in a preview take a while, and others are waiting.
                        events = await asyncio.to_thread(translator.translate, part, at=self._now())
                    else:
                        events = translator.translate(part, at=self._now())
                    if events:
                        yield events
        except Exception as error:
            broken = classify(error)
            if broken is None or broken is error:
                raise
            raise broken from error
        finally:
            outlet.close()
            tap.close()
        if not translator.interrupts:
            await self._leave(work, later)
        yield self._ending(translator)

    async def forget(self, conversation_id: ConversationId, /) -> None:
        """See :class:`turnwire.engine.agent.Agent`."""
        await self._saver.adelete_thread(conversation_id)

    async def _leave(self, work: Work, later: Sequence[Later]) -> None:
        """Do what comes after a turn, or have it done."""
        remember = self.manifest.remember
        if remember is not None:
            await keep(self._saver, work.conversation_id, remember)
        for each in later:
            begin(each())

    async def _stream(self, work: Work, tap: Tap) -> AsyncGenerator[Part, None]:
        config: RunnableConfig = {
            "configurable": {
                "thread_id": work.conversation_id,
                # Refuses an answer to a question that is not open; see docs/decisions.
                "__pregel_strict_resume": True,
            },
            "recursion_limit": self._limit,
            "callbacks": self._callbacks(tap),
        }
        stream = self._graph.astream(
            await self._input(work, config),
            config,
            context=self._context(work),
            stream_mode=self._modes,
            version="v2",
            # A paused run has acted on a person's word: what follows must not be lost.
            durability="sync" if work.answers else "exit",
            subgraphs=not self.manifest.speaks,
        )
        return cast("AsyncGenerator[Part, None]", stream)

    def _shown(self, locale: str) -> Callable[[str], str]:
        return unchanged if self._previewed is None else partial(self._previewed, locale=locale)

    def _callbacks(self, tap: Tap) -> list[BaseCallbackHandler]:
        measured = [] if CALLS.get() is None else [MeasuredCalls()]
        return [*measured] if self.manifest.speaks else [tap, *measured]

    async def _input(self, work: Work, config: RunnableConfig) -> Any:  # noqa: ANN401
        if work.answers:
            return Command(resume=resume_map(work.answers))
        messages = new_messages(work)
        if work.unsettled:
            latest = await self._graph.aget_state(config)
            # Named by its id, the checkpoint comes without the writes of nodes that ended after
            # it, which LangGraph forgets as soon as there is new input.
            state = await self._graph.aget_state(latest.config)
            values = cast("Mapping[str, Any]", state.values or {})
            stored = cast("Sequence[BaseMessage]", values.get("messages") or ())
            messages = [*repairs(stored, work.unsettled), *messages]
            if latest.next:
                # Or tasks that a node sent (`Send`) before the pause would run in this turn.
                await self._graph.aupdate_state(config, None, as_node=END)
        return {"messages": messages}

    def _context(self, work: Work) -> object:
        """Return the turn's context, in the shape that the graph declares."""
        context = TurnContext(
            turn_id=work.turn_id,
            conversation_id=work.conversation_id,
            principal=work.principal,
            locale=work.locale,
            trace_id=work.trace_id,
            model=work.model,
            rerank=work.hints.rerank,
            timezone=work.hints.timezone,
            channel=work.channel,
            can_sign_in=work.can_sign_in,
            secrets=work.secrets,
        )
        schema = self._graph.context_schema
        if schema is None or schema is TurnContext:
            return context
        wanted = get_type_hints(schema)
        known = [each.name for each in dataclasses.fields(context)]
        return {name: getattr(context, name) for name in known if name in wanted}

    def _ending(self, translator: Translator) -> Sequence[Event]:
        at = self._now()
        said = translator.close(at=at)
        if translator.interrupts:
            asked = tuple(to_pause(each, at=at) for each in translator.interrupts.values())
            return (*said, TurnPaused(pauses=asked, draft=draft(translator.state)))
        return (*said, completed(translator, self.manifest))
