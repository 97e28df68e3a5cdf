"""Put the parts together: the only module that knows every concrete class."""

import asyncio
import fcntl
import signal
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any, Final

import aiosqlite
from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from turnwire.admission.api_keys import KeyPolicy
from turnwire.admission.quota import Allowance, QuotaPolicy
from turnwire.admission.rates import LocalRates
from turnwire.admission.sessions import SessionPolicy
from turnwire.agents.guarded.graph import build, manifest
from turnwire.agents.guarded.parts import GuardedParts
from turnwire.clock import system_now
from turnwire.corpora import shipped
from turnwire.engine.agent import Agent
from turnwire.engine.runner import Limits
from turnwire.engine.supervisor import Supervisor, SupervisorPolicy
from turnwire.errors import SetupError
from turnwire.graph.agent import Graph, GraphAgent
from turnwire.graph.load import load
from turnwire.graph.manifest import Manifest
from turnwire.graph.saver import SqliteSaver
from turnwire.graph.serializer import StrictSerializer
from turnwire.models.budget import Budget
from turnwire.models.calls import Terms
from turnwire.models.catalog import upstream
from turnwire.models.gateway import Gateway
from turnwire.models.quoting import NAME as QUOTING
from turnwire.models.quoting import Quoting
from turnwire.models.roles import ANSWER, JUDGE, Chain, Role, link_of
from turnwire.nodes.guardrails.pii_documents import DocumentScreen, document_screen
from turnwire.nodes.guardrails.pii_rules import PiiRules
from turnwire.nodes.guardrails.policy import Policy, find_policy, shipped_policy
from turnwire.probe import ProviderHealth
from turnwire.retrieval.encoder import EmbeddedEncoder
from turnwire.retrieval.index import Index
from turnwire.retrieval.reranking import load_reranker
from turnwire.retrieval.search import Found, Retriever
from turnwire.retrieval.selection import RetrievalPolicy
from turnwire.retrieval.splitter import sentences
from turnwire.retrieval.words import content_words
from turnwire.server import (
    agents,
    answer,
    conversations,
    execution,
    headers,
    members,
    metrics,
    operations,
    page,
    problems,
    reviews,
    schemas,
)
from turnwire.server.access import Access, AccessPolicy
from turnwire.server.answer import NOBODY_SIGNED_IN
from turnwire.server.callers import Callers
from turnwire.server.headers import HeaderPolicy
from turnwire.server.key_watch import KeyWatch
from turnwire.server.stream import StreamPolicy, Streams
from turnwire.server.turns import TurnPolicy, Turns
from turnwire.settings import Settings, wanted_traces
from turnwire.storage.base import Store
from turnwire.storage.memory import MemoryStore
from turnwire.storage.sql import SqliteStore
from turnwire.telemetry.catalog import STREAMS_OPEN, TURNS_RUNNING
from turnwire.telemetry.logs import LogReporter
from turnwire.telemetry.metrics import Metrics
from turnwire.telemetry.observers import Observers
from turnwire.telemetry.otlp import Exported, export
from turnwire.telemetry.spans import Tracing

INDEX: Final = "index.db"
_THREADS: Final = 64
"""Nodes that are plain functions run in threads; so many may block at once."""


def create(
    settings: Settings,
    *,
    served: "Served | None" = None,
    sign_ins: answer.SignIns = NOBODY_SIGNED_IN,
) -> FastAPI:
    """Return the ASGI application that ``settings`` describe.

    ``served`` is what it serves; without it, the settings say so, which takes a second.
    ``sign_ins`` knows which members are signed in.

    Raises:
        SetupError: a graph, policy, model or index is not usable; the text says what to do.
    """
    keys = key_store(settings)
    store = keys if settings.store == "sqlite" else MemoryStore()
    reporter = LogReporter(messages=settings.environment == "development")
    counted, traces = Metrics(), _traces()
    parts = served or load_served(settings, counted)
    content = parts.log_text if settings.trace_content else None
    supervisor = Supervisor(
        store,
        now=system_now,
        reporter=reporter,
        policy=_supervisor_policy(settings),
        observer=_observers(reporter, counted, traces, content),
    )
    watch = KeyWatch(keys, now=system_now)
    agents_by_slug: dict[str, Agent] = {}
    turn_policy = TurnPolicy(if_busy=settings.if_busy, quotas=quota_policy(settings))
    turns = Turns(store, supervisor, agents_by_slug, now=system_now, policy=turn_policy)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            asyncio.get_running_loop().set_default_executor(
                ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="turnwire-node")
            )
            if traces is not None:
                stack.push_async_callback(asyncio.to_thread, traces.close)
            stack.enter_context(alone_in(settings.data_dir))
            if parts.index is not None:
                stack.callback(parts.index.close)
            for each in {keys, store}:
                await each.open()
                stack.push_async_callback(each.close)
            await stack.enter_async_context(watch.watching())
            saver = await _saver(settings, stack)
            for graph, manifest_ in parts.graphs:
                agent = GraphAgent(
                    graph,
                    manifest_,
                    saver=saver,
                    now=system_now,
                    recursion_limit=settings.recursion_limit,
                    previewed=parts.log_text,
                )
                agents_by_slug[agent.slug] = agent
            await stack.enter_async_context(supervisor)
            await supervisor.recover()
            with _drain_on_signal(supervisor):
                yield

    app = FastAPI(
        title="turnwire",
        version=version("turnwire"),
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        telemetry=_NOT_FASTAPIS,
    )
    access = Access(keys, access_policy(settings), rates=LocalRates(), watch=watch, now=system_now)
    sessions = SessionPolicy(header=settings.session_header, seconds=settings.session_seconds)
    callers = Callers(access, store, sessions, now=system_now)
    streams = Streams(
        store,
        supervisor,
        StreamPolicy(
            heartbeat_seconds=settings.heartbeat_seconds, pace_seconds=settings.pace_seconds
        ),
        watch=watch,
    )
    answers = answer.Answers(
        callers,
        turns,
        streams,
        sign_ins=sign_ins,
        policy=answer.AnswerPolicy(honours_rerank=settings.environment != "production"),
        now=system_now,
    )
    answer.mount(app, answers)
    execution.mount(app, callers, turns, streams, answers=answers)
    counted.watch(TURNS_RUNNING, lambda: supervisor.running)
    counted.watch(STREAMS_OPEN, lambda: streams.open)
    app.include_router(operations.router(store, supervisor))
    app.include_router(conversations.router(callers, turns, streams))
    app.include_router(members.router(callers, store, turn_policy.quotas, now=system_now))
    app.include_router(reviews.router(access, turns))
    app.include_router(agents.router(access, turns))
    has_page = access_policy(settings).cookies
    guard = None if has_page else access
    app.include_router(operations.described(app, access=guard))
    app.include_router(schemas.router(access=guard))
    app.include_router(metrics.router(counted, store, access=guard, now=system_now))
    if has_page:
        page.mount(app, keys, now=system_now)
    messages = settings.environment == "development"
    problems.install(app, messages=messages, erred=counted.erred)
    headers.install(
        app,
        HeaderPolicy(
            trusted_proxies=settings.trusted_proxies,
            cors_origins=settings.cors_origins,
            tls_only=settings.environment == "production",
            session_header=settings.session_header,
        ),
    )
    return app


_NOT_FASTAPIS: Final[TelemetryConfig] = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "auto_configure": False,
}
"""FastAPI's own telemetry stays off, also where a graph's package sets up a global provider: its
logs have messages and tracebacks of exceptions, and its spans the query, where a link's code is."""


def _traces() -> Exported | None:
    exporter = wanted_traces()
    return None if exporter is None else export(exporter, version=version("turnwire"))


def _observers(
    reporter: LogReporter,
    counted: Metrics,
    traces: Exported | None,
    content: Callable[[str], str] | None,
) -> Observers:
    if traces is None:
        return Observers(counted, reporter)
    return Observers(counted, reporter, Tracing(traces.tracer, content=content))


def key_store(settings: Settings) -> Store:
    """Return the store in the data directory, not opened yet; keys are there in any case."""
    return SqliteStore(settings.data_dir / "turnwire.db")


def access_policy(settings: Settings) -> AccessPolicy:
    """Return who is let in."""
    environment = "live" if settings.environment == "production" else "test"
    return AccessPolicy(
        keys=KeyPolicy(
            prefix=settings.key_prefix,
            environment=environment,
            per_minute=settings.key_requests_per_minute,
        ),
        # Behind a proxy, everybody comes from loopback: not in production.
        cookies=settings.on_loopback and settings.environment == "development",
    )


def quota_policy(settings: Settings) -> QuotaPolicy:
    """Return what members and keys may use."""
    return QuotaPolicy(
        member=Allowance(
            messages=settings.member_messages,
            tokens=settings.member_tokens,
            seconds=settings.member_window_seconds,
        ),
        key=Allowance(
            messages=settings.key_messages,
            tokens=settings.key_tokens,
            seconds=settings.key_window_seconds,
        ),
        held_tokens=settings.turn_tokens or settings.held_tokens,
    )


def corpora(settings: Settings) -> dict[str, Path]:
    """Return what is answered from: the operator's documents, or what ships."""
    return {"docs": settings.docs} if settings.docs is not None else shipped()


@dataclass(frozen=True, slots=True)
class Served:
    """What is served: graphs with their manifests, and the index that they search."""

    graphs: tuple[tuple[Graph, Manifest], ...] = ()
    index: Index | None = None
    log_text: Callable[[str], str] = PiiRules().log_text
    """What spans and previews of tool calls keep of a text: by the first agent's policy, or as
    policies do by default."""


class _OneCorpus:
    """Searches one corpus of an index."""

    def __init__(self, retriever: Retriever, corpus: str) -> None:
        self._retriever = retriever
        self._corpus = corpus

    def search(
        self, query: str, *, locale: str | None = None, rerank_hint: bool | None = None
    ) -> Found:
        """Return the passages that may answer ``query``."""
        return self._retriever.search(
            query, locale=locale, corpus=self._corpus, rerank_hint=rerank_hint
        )


def load_served(settings: Settings, health: ProviderHealth) -> Served:
    """Return what the settings serve; ``health`` is told how providers do."""
    if settings.agent is not None:
        return Served((load(settings.agent),))
    encoder = EmbeddedEncoder()
    encoder.encode(["warm"])
    index = Index(settings.data_dir / INDEX)
    reranker = load_reranker(settings.reranker) if settings.reranker is not None else None
    retriever = Retriever(index, encoder, RetrievalPolicy(), reranker=reranker)
    quoting = Quoting(encoder=encoder, sentences=sentences, words=content_words)
    answer = models(settings, quoting, health=health)
    parts = [_parts(settings, corpus, retriever, answer, encoder) for corpus in corpora(settings)]
    graphs = tuple((build(each), manifest(each)) for each in parts)
    return Served(graphs, index, parts[0].policy.pii.log_text)


@dataclass(frozen=True, slots=True)
class Models:
    """The models that answer, under the names that clients read."""

    name: str
    """What clients call the answer model."""
    roles: Mapping[Role, BaseChatModel]
    others: Mapping[str, BaseChatModel]
    """Those that a caller may choose to answer."""


def models(settings: Settings, quoting: Quoting, *, health: ProviderHealth | None = None) -> Models:
    """Return the models that answer, each behind a gateway; breakers and budgets are shared.

    Raises:
        SetupError: a package or a key is missing, or a name is not one.
    """
    terms = Terms(
        budget=Budget(tokens=settings.turn_tokens, usd=settings.turn_usd),
        patience=settings.model_patience_seconds,
        health=health,
        live_reasoning=True,  # it goes to the staff's wires; the answer's message is made by us
    )

    def model(chain: Chain) -> BaseChatModel:
        if chain == (link_of(QUOTING),):
            return quoting
        return Gateway(
            upstreams=[
                upstream(each, api_key=settings.key_of(each), quoting=quoting) for each in chain
            ],
            terms=terms,
        )

    chains = settings.chains
    others = {each.name: model((each,)) for each in map(link_of, settings.extra_models)}
    roles: dict[Role, BaseChatModel] = {role: model(chain) for role, chain in chains.items()}
    return Models(chains[ANSWER][0].name, roles, others)


def _parts(
    settings: Settings,
    corpus: str,
    retriever: Retriever,
    models: Models,
    encoder: EmbeddedEncoder,
) -> GuardedParts:
    slug, title, about = _ABOUT[corpus]
    policy = _policy(settings, corpus)
    policy.warm()
    return GuardedParts(
        policy=policy,
        model=models.roles[ANSWER],
        model_name=models.name,
        models=models.others,
        retriever=_OneCorpus(retriever, corpus),
        encoder=encoder,
        judge=models.roles.get(JUDGE),
        hitl=settings.hitl,
        review_expires_in=settings.review_expires_seconds,
        slug=slug,
        title=title,
        description=about,
    )


_ABOUT: Final = {
    "health": (
        "guarded",
        "Health information",
        "Answers from synthetic health leaflets in English and Spanish; not medical advice.",
    ),
    "turnwire": ("turnwire-docs", "turnwire's docs", "Answers from turnwire's own documentation."),
    "docs": ("guarded", "Your documents", "Answers from the documents that you gave."),
}


def _policy(settings: Settings, corpus: str) -> Policy:
    if settings.policy is not None:
        return find_policy(settings.policy)
    return shipped_policy("health" if corpus == "health" else "docs")


def screen_of(settings: Settings, corpus: str) -> DocumentScreen | None:
    """Return what keeps private details out of a corpus's index, or none where nothing does."""
    policy = _policy(settings, corpus)
    return document_screen(policy.pii, policy.default_locale)


async def _saver(settings: Settings, stack: AsyncExitStack) -> BaseCheckpointSaver[Any]:
    serializer = StrictSerializer()
    if (settings.checkpointer or settings.store) == "memory":
        return InMemorySaver(serde=serializer)
    path = settings.data_dir / "checkpoints.db"
    connection = await stack.enter_async_context(aiosqlite.connect(path))
    saver = SqliteSaver(connection, serde=serializer)
    await saver.setup()
    return saver


def _supervisor_policy(settings: Settings) -> SupervisorPolicy:
    return SupervisorPolicy(
        limits=Limits(turn_seconds=settings.turn_seconds, node_seconds=settings.node_seconds),
        max_turns=settings.max_turns,
        disconnect_grace_seconds=settings.disconnect_grace_seconds,
        drain_seconds=settings.drain_seconds,
    )


@contextmanager
def alone_in(data_dir: Path) -> Generator[None]:
    """Hold the data directory: a second server would end the turns of the first.

    Raises:
        SetupError: another process serves from it.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    with (data_dir / "serving.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SetupError(
                f"another turnwire serves from {data_dir}; stop it, or choose another --data-dir"
            ) from None
        yield


@contextmanager
def _drain_on_signal(supervisor: Supervisor) -> Generator[None]:
    """Begin to drain when the process is told to end, before the server closes its streams.

    A server announces the shutdown to the application only when its open streams have ended,
    which they do when their turns have.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before: dict[int, Any] = {}

    def drain_then(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(supervisor.drain_soon)
        earlier: Callable[[int, FrameType | None], Any] | int | None = before[number]
        if callable(earlier):
            earlier(number, frame)

    for number in (signal.SIGTERM, signal.SIGINT):
        before[number] = signal.getsignal(number)
        signal.signal(number, drain_then)
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
