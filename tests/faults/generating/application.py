"""The whole application in this process, called with bytes as a server would call it."""

import asyncio
import json
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import unquote

from fastapi import FastAPI
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.agents.guarded.stage import Shelf
from tests.server.member_graph import SignIns
from tests.server.running import new_key
from tests.sign_in.signing import Members
from turnwire.agents.studio.parts import StudioParts
from turnwire.app import Served, create
from turnwire.events import PauseKind
from turnwire.graph.emit import speaker
from turnwire.graph.load import load
from turnwire.graph.pause import ask
from turnwire.models.quoting import Quoting
from turnwire.nodes.guardrails.policy import shipped_policy
from turnwire.nodes.memory.episodes import EpisodicMemory
from turnwire.settings import read

PATIENCE: Final = 15.0
"""Seconds until a request without an answer counts as hanging."""
_ASKS: Final[Mapping[str, PauseKind]] = {
    "review": "review",
    "confirm": "confirmation",
    "sign-in": "sign_in",
    "ask": "input",
}
_MEMORY: Final = EpisodicMemory("echo", shipped_policy("docs"))


async def _answer(state: MessagesState) -> Mapping[str, Any]:
    text = state["messages"][-1].text
    kind = _ASKS.get(text)
    if kind is not None:
        given = ask(kind, {"question": text, "draft": "a draft"}, expires_in=3600)
        text = f"{text}: {given}"
    speaker().say(text)
    _MEMORY.remember(text, text)
    return {"messages": [AIMessage(text)]}


def echo() -> StateGraph[MessagesState, None, MessagesState, MessagesState]:
    """Says the question again; the name of a pause asks for one. It never fails."""
    graph: StateGraph[MessagesState, None, MessagesState, MessagesState] = StateGraph(MessagesState)
    graph.add_node("answer", _answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One request, in bytes."""

    method: str
    target: bytes
    """The path, percent-encoded, and the query."""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: tuple[bytes, ...] = ()
    """The chunks that it comes in."""

    def __repr__(self) -> str:
        """Return what fits a report."""
        heads = [(name, value[:80]) for name, value in self.headers]
        return f"{self.method} {self.target[:200]!r} {heads} {b''.join(self.body)[:300]!r}"


@dataclass(slots=True)
class Answered:
    """What came back."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytearray = field(default_factory=bytearray)

    def json(self) -> Any:  # noqa: ANN401 - any JSON
        return json.loads(self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What exists in the store, for requests to name."""

    keys: Mapping[str, str]
    sessions: tuple[str, str]
    scenes: tuple[Mapping[str, str], ...]
    """A conversation each (`c`), with its turn (`t`), what the turn waits for (`p`), and what is
    remembered of it (`m`)."""


class Application:
    """An application, its store, and a loop that both live in while requests are made."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        settings = read(
            agent="tests.faults.generating.application:echo",
            data_dir=data_dir,
            key_requests_per_minute=1_000_000,
            member_messages=7,
        )
        # The directory knows nobody, so that nothing is stored behind the answer to a login.
        studio = StudioParts(
            models={"answer": Quoting()}, model_name="quoting", retrievers={"turnwire": Shelf()}
        )
        self.app: FastAPI = create(
            settings,
            served=Served((load(str(settings.agent)),), studio=studio),
            sign_ins=SignIns(everybody=True),
            directory=Members(numbers=()),
        )
        self.document: dict[str, Any] = self.app.openapi()
        self._loop = asyncio.new_event_loop()
        self._lifespan = self.app.router.lifespan_context(self.app)

    def __enter__(self) -> Self:
        self._loop.run_until_complete(self._lifespan.__aenter__())
        self._db = sqlite3.connect(f"file:{self._data_dir / 'turnwire.db'}?mode=ro", uri=True)
        self._db.execute("ATTACH ? AS checkpoints", (f"file:{self._data_dir}/checkpoints.db",))
        named = self._db.execute(
            "SELECT 'main.' || name FROM main.sqlite_master WHERE type = 'table' UNION ALL"
            " SELECT 'checkpoints.' || name FROM checkpoints.sqlite_master WHERE type = 'table'"
        ).fetchall()
        self.tables = [name for (name,) in named]
        self._count = "SELECT " + ", ".join(
            f"(SELECT count(*) FROM {each})" for each in self.tables
        )
        self._keys = {
            "all": new_key(self._data_dir, "admin"),
            "chat": new_key(self._data_dir, "chat"),
            "review": new_key(self._data_dir, "review"),
            "slow": new_key(self._data_dir, "admin", limit=2),
        }
        self.seed()
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()
        self._loop.run_until_complete(self._lifespan.__aexit__(None, None, None))
        self._loop.close()

    def rows(self) -> Mapping[str, int]:
        """Return how many rows each table has, when no turn runs any more."""
        while self._db.execute("SELECT 1 FROM turns WHERE phase = 'running' LIMIT 1").fetchone():
            self._loop.run_until_complete(asyncio.sleep(0.002))
        return dict(zip(self.tables, self._db.execute(self._count).fetchone(), strict=True))

    def send(self, sent: Sent) -> Answered:
        """Return the answer.

        Raises:
            TimeoutError: there was none.
        """
        return self._loop.run_until_complete(self._send(sent))

    async def _send(self, sent: Sent) -> Answered:
        answered, ended = Answered(), asyncio.Event()
        path, _, query = sent.target.partition(b"?")
        chunks = list(sent.body) or [b""]
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": sent.method,
            "scheme": "http",
            "path": unquote(path.decode("ascii")),  # as uvicorn does
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": [(name.lower(), value) for name, value in sent.headers],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8000),
            "state": {},
        }

        async def receive() -> dict[str, Any]:
            if chunks:
                return {"type": "http.request", "body": chunks.pop(0), "more_body": bool(chunks)}
            await ended.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:  # noqa: ANN401 - ASGI's own
            if message["type"] == "http.response.start":
                answered.status = message["status"]
                pairs = message["headers"]
                answered.headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in pairs}
            else:
                answered.body += message.get("body", b"")
                if not message.get("more_body"):
                    ended.set()

        async with asyncio.timeout(PATIENCE):
            await self.app(scope, receive, send)
        return answered

    def call(self, method: str, target: str, body: object = None, **headers: str) -> Answered:
        """Send a request that an honest client would send."""
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        data = b"" if body is None else json.dumps(body).encode()
        return self.send(
            Sent(method=method, target=target.encode(), headers=tuple(pairs), body=(data,))
        )

    def seed(self) -> None:
        """Leave a finished turn and one of each pause, of two new members and of the key itself."""
        bearer, scenes = f"Bearer {self._keys['all']}", list[Mapping[str, str]]()
        acting = {"Authorization": bearer}
        sessions = (self._session(bearer), self._session(bearer))
        for each in sessions:
            as_member = {**acting, "X-Turnwire-Session": each}
            for question in ("hello", *_ASKS):
                told = self.call("POST", "/chat/stream", {"message": question}, **as_member)
                scenes.append(_scene(told))
        for question in ("hello", "review", "ask"):
            body = {"messages": [{"role": "user", "content": question}]}
            scenes.append(_scene(self.call("POST", "/chat", body, **acting)))
        self.known = Known(keys=self._keys, sessions=sessions, scenes=tuple(scenes))

    def _session(self, bearer: str) -> str:
        return self.call("POST", "/auth/session", Authorization=bearer).json()["session_id"]


def _scene(answered: Answered) -> Mapping[str, str]:
    assert answered.status == 200, answered.body
    pairs = re.findall(r'"(\w+)_id": ?"([\w-]+)"', answered.body.decode())
    named = dict(reversed(pairs))
    conversation = named.get("conversation") or named["thread"]
    waits = named.get("confirmation") or named.get("review") or named.get("pause") or ""
    turn = named.get("message") or named["turn"]
    return {"c": conversation, "t": turn, "p": waits, "m": f"episodes.echo.{turn}"}
