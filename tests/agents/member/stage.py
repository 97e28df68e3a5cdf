"""The member agent with the demo portal and a book of grants, driven as the engine does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from langchain_core.messages import BaseMessage
from pydantic import JsonValue

from tests.agents.guarded.stage import Found, Shelf
from tests.graph.stage import Host, Played
from tests.nodes.tools.acting import Book
from turnwire.agents.member import MemberParts, build, manifest, member_policy
from turnwire.agents.member.tools import portal_tools
from turnwire.events import (
    CitationAdded,
    Funnel,
    GuardrailDecided,
    Pause,
    RetrievalCompleted,
    Search,
    ToolCompleted,
)
from turnwire.ids import RunId
from turnwire.models.quoting import Quoting
from turnwire.nodes.guardrails.examples import Matrix
from turnwire.nodes.tools.executor import Executor
from turnwire.nodes.tools.registry import Registry
from turnwire.nodes.tools.tool import Credential, Tool
from turnwire.portal.routes import Portal
from turnwire.portal.store import PortalStore
from turnwire.retrieval.encoder import EmbeddedEncoder
from turnwire.work import Channel

INSURANCE = member_policy()


class Remembering:
    """An encoder that encodes each text once in all tests."""

    def __init__(self) -> None:
        self._encoder = EmbeddedEncoder()
        self._rows: dict[str, Any] = {}

    def encode(self, texts: Sequence[str], /) -> Matrix:
        new = [each for each in dict.fromkeys(texts) if each not in self._rows]
        self._rows |= dict(zip(new, self._encoder.encode(new), strict=True))
        return np.stack([self._rows[each] for each in texts])


ENCODER = Remembering()
DANIEL = "+447700900102"
"""On the plan Family, with a claim CLM-2026-1090 and some of the dental limit used."""
SERVICE_KEY = "demo-service-key"
WORDINGS = (
    "A waiting period is the time from the start of your cover during which a benefit is not paid.",
    "You submit a claim in the app, with a photo of the bill, within 90 days of the treatment.",
)


class Wordings(Shelf):
    """Finds the same two passages whatever is asked; nothing where ``is_empty``."""

    is_empty = False

    def search(
        self, query: str, *, locale: str | None = None, rerank_hint: bool | None = None
    ) -> Found:
        found = super().search(query, locale=locale, rerank_hint=rerank_hint)
        if not self.is_empty:
            return found
        return Found((), Search(query=query, funnel=Funnel(generation=1, returned=0, kept=0)))


@dataclass
class SignedIn:
    """Who is signed in at the portal."""

    token: str | None = None
    asked: list[str] = field(default_factory=list[str])

    async def credential(self, principal: str, /) -> Credential | None:
        self.asked.append(principal)
        if self.token is None:
            return None
        scopes = frozenset({"member.read", "member.write"})
        return Credential(token=self.token, scopes=scopes)

    async def refused(self, principal: str, token: str, /) -> None:
        assert (principal, token) == (self.asked[-1], self.token)
        self.token = None


class Stage(Host):
    """One member, their portal and their conversation."""

    def __init__(
        self,
        directory: Path,
        *,
        signed_in: bool = True,
        more: Sequence[Tool] = (),
        now: int = 1_790_000_000_000,
        **parts: Any,  # noqa: ANN401
    ) -> None:
        self.store = PortalStore(directory / "portal.db").__enter__()
        self.portal = Portal(self.store, service_key=SERVICE_KEY, now=lambda: now)
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(self.portal.app()), base_url="http://portal"
        )
        self.signed = SignedIn()
        self.book = Book()
        self.wordings = Wordings(texts=WORDINGS)
        tools = [*portal_tools(self.client), *more]
        self.executor = Executor(
            Registry(tools, locales=("en", "es")),
            rules=INSURANCE.pii,
            grants=self.book,
            credentials=self.signed,
        )
        named: dict[str, Any] = {
            "policy": INSURANCE,
            "model": Quoting(encoder=ENCODER),
            "model_name": "quoting",
            "retriever": self.wordings,
            "encoder": ENCODER,
            "tools": tools,
            "actions": self.executor,
            "credentials": self.signed,
        }
        self.parts = MemberParts(**{**named, **parts})
        super().__init__(build(self.parts), manifest(self.parts))
        if signed_in:
            self.sign_in()

    def sign_in(self) -> None:
        token = self.store.new_token(DANIEL, expires_ms=2_000_000_000_000)
        assert token is not None
        self.signed.token = token

    @property
    def acted(self) -> list[Mapping[str, Any]]:
        """What really happened at the portal."""
        return list(self.store.actions())

    async def switch(self, **switches: Any) -> None:  # noqa: ANN401
        answer = await self.client.put("/demo/switches", json=switches)
        assert answer.status_code == 200, answer.text

    async def say(
        self,
        text: str,
        *,
        locale: str = "en",
        channel: Channel = "app",
        can_sign_in: bool = True,
        **about: Any,  # noqa: ANN401
    ) -> Played:
        """Run a new turn."""
        played = self.begin(text, **about)
        played.work = replace(
            played.work,
            locale=locale,
            channel=channel,
            can_sign_in=can_sign_in,
            principal="member:1",
        )
        return await self.run(played)

    async def go_on(self, played: Played, answers: Mapping[Any, JsonValue]) -> Played:
        """Run on with answers; the new run's events alone are returned."""
        started = played.turn.started
        assert started is not None
        work = replace(
            played.work, answers=answers, run_id=RunId(f"run_{self.now()}"), channel="app"
        )
        resumed = started.model_copy(update={"resumed": True})
        played.turn.begin(work.run_id, resumed, at=self.now())
        return await self.run(Played(played.turn, work))

    async def resume(self, played: Played) -> Played:
        """Sign in and go on."""
        self.sign_in()
        return await self.go_on(played, {played.pauses[0].pause_id: {"signed_in": True}})

    async def decide(
        self,
        played: Played,
        decision: str,
        *,
        feedback: str | None = None,
        pause: Pause | None = None,
        is_granted: bool = True,
    ) -> Played:
        """Answer a confirmation as the route does, with the grant that an approval leaves."""
        pause = pause or played.pauses[0]
        asked: Any = pause.payload
        if decision == "approve" and is_granted:
            granted = ("member:1", asked["name"], asked["arguments_hash"])
            self.book.granted[pause.pause_id] = granted
        value: JsonValue = {
            "decision": decision,
            "feedback": feedback,
            "confirmation_id": pause.pause_id,
        }
        return await self.go_on(played, {pause.pause_id: value})

    async def history(self) -> Sequence[BaseMessage]:
        return await self.messages()


def tools_of(played: Played) -> list[tuple[str, str, str | None]]:
    """Return the calls that ended, with status and code."""
    return [(each.name, each.status, each.code) for each in played.of(ToolCompleted)]


def kinds_of(played: Played) -> list[str]:
    return [each.type for each in played.events]


def cited(played: Played) -> list[str]:
    return [each.citation.id for each in played.of(CitationAdded)]


def searches_of(played: Played) -> list[RetrievalCompleted]:
    return played.of(RetrievalCompleted)


def decided(played: Played) -> list[tuple[str, str, str | None]]:
    found = [each.decision for each in played.of(GuardrailDecided)]
    return [(each.check, each.outcome, each.reason) for each in found]
