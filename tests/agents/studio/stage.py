"""An agent from a spec with the demo portal and a book of grants, driven as the engine does."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from pydantic import JsonValue

from tests.agents.guarded.stage import Shelf
from tests.agents.member.stage import ENCODER
from tests.graph.stage import Host, Played
from tests.models.scripted import Scripted
from tests.nodes.tools.acting import Book
from turnwire.agents.studio.compile import compile_spec
from turnwire.agents.studio.desk import desk_tools
from turnwire.agents.studio.parts import StudioParts
from turnwire.agents.studio.reading import read_spec
from turnwire.events import ReasoningDelta, ToolCompleted
from turnwire.graph.store import with_store
from turnwire.ids import RunId
from turnwire.models.quoting import Quoting
from turnwire.models.roles import Role
from turnwire.nodes.tools.authority import GRANTS
from turnwire.nodes.tools.tool import Tool
from turnwire.portal.routes import Portal
from turnwire.portal.store import PortalStore

KEY = "demo-service-key"
WHO = "staff:maria.lopez"
ORDER = "4500001042"


def shipped(name: str) -> str:
    """Return the text of a spec that ships."""
    return (files("turnwire.agents.studio") / "specs" / f"{name}.yaml").read_text("utf-8")


class Said(Scripted):
    """Says its replies one after another, and the last one again; every message is in scope."""

    replies: Sequence[str] = ()
    said: int = 0

    @property
    def _llm_type(self) -> str:
        return "said"

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: object,
    ) -> AsyncIterator[ChatGenerationChunk]:
        asked = re.search(r'"message": "([0-9a-f]+)"', str(messages[0].content))
        if asked is not None:  # the guardrail asks its judge
            self.script = [json.dumps({"message": asked[1], "verdict": "in_scope"})]
        else:
            self.script = [self.replies[min(self.said, len(self.replies) - 1)]]
            self.said += 1
        async for chunk in super()._astream(messages, stop, run_manager, **kwargs):
            yield chunk


class Stage(Host):
    """One conversation of one user with one agent."""

    def __init__(
        self,
        directory: Path,
        text: str,
        *,
        models: Mapping[Role, BaseChatModel] | None = None,
        shelf: Shelf | None = None,
        more: Sequence[Tool] = (),
        allowed: frozenset[str] | None = None,
        memory: BaseStore | None = None,
    ) -> None:
        self.store = PortalStore(directory / "portal.db").__enter__()
        self.portal = Portal(self.store, service_key=KEY, now=lambda: 1_790_000_000_000)
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(self.portal.app()), base_url="http://portal"
        )
        self.book = Book()
        self.shelf = shelf or Shelf()
        self.parts = StudioParts(
            models={"answer": Quoting(encoder=ENCODER), **(models or {})},
            model_name="quoting",
            retrievers={"turnwire": self.shelf, "health": self.shelf},
            encoder=ENCODER,
            tools=[*desk_tools(self.client, service_key=KEY), *more],
            now=self.now,
        )
        self.at = 1_800_000_000_000
        spec = read_spec(text, name="agent.yaml", known=self.parts.known())
        graph, manifest = compile_spec(spec, self.parts, allowed=allowed)
        super().__init__(graph if memory is None else with_store(graph, memory), manifest)
        self.agent.bind(GRANTS, self.book)

    @property
    def released(self) -> list[Mapping[str, Any]]:
        """The orders that were really released."""
        return list(self.store.actions())

    async def say(
        self, text: str, *, locale: str = "en", user: str = WHO, conversation: str = "conv_1"
    ) -> Played:
        """Run a new turn, and wait for what it leaves to be done."""
        async with asyncio.TaskGroup() as left:
            played = self.begin(text, conversation=conversation)
            own = left.create_task
            played.work = replace(played.work, locale=locale, principal=user, own=own)
            return await self.run(played)

    async def decide(
        self,
        played: Played,
        *,
        approved: bool,
        edited: Mapping[str, JsonValue] | None = None,
        granted: str | None = None,
    ) -> Played:
        """Answer an approval as the routes do, with the grant that it leaves."""
        pause = played.pauses[0]
        asked: Any = pause.payload
        if approved and "arguments_hash" in asked:
            hashed = granted or asked["arguments_hash"]
            self.book.granted[pause.pause_id] = (played.work.principal, asked["name"], hashed)
        value: dict[str, JsonValue] = {"approved": approved, "approval_id": pause.pause_id}
        if edited is not None:
            value["edited_params"] = dict(edited)
        started = played.turn.started
        assert started is not None
        work = replace(
            played.work, answers={pause.pause_id: value}, run_id=RunId(f"run_{self.now()}")
        )
        resumed = started.model_copy(update={"resumed": True})
        played.turn.begin(work.run_id, resumed, at=self.now())
        async with asyncio.TaskGroup() as left:
            work = replace(work, own=left.create_task)
            return await self.run(Played(played.turn, work))


def memory_store() -> BaseStore:
    """A LangGraph store that finds by meaning."""

    async def embed(texts: Sequence[str]) -> list[list[float]]:
        return ENCODER.encode(texts).tolist()

    return InMemoryStore(index={"dims": 512, "embed": embed, "fields": ["text"]})


def tools_of(played: Played) -> list[tuple[str, str, str | None]]:
    return [(each.name, each.status, each.code) for each in played.of(ToolCompleted)]


def thoughts_of(played: Played) -> str:
    return " ".join(each.text for each in played.of(ReasoningDelta))
