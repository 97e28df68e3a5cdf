"""Put the parts together."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from importlib.metadata import version
from typing import Any, Final

import aiosqlite
from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore

from turnwire.admission.rates import LocalRates
from turnwire.admission.sessions import SessionPolicy
from turnwire.app.memory import memory_store
from turnwire.app.policies import access_policy, quota_policy, supervisor_policy
from turnwire.app.process import alone_in, drain_on_signal
from turnwire.app.served import Served, load_served
from turnwire.app.sign_in import outbox_of, sign_in_service
from turnwire.app.specs import studio_of
from turnwire.app.studio import mount as mount_studio
from turnwire.clock import system_now
from turnwire.engine.agent import Agent
from turnwire.engine.supervisor import Supervisor
from turnwire.graph.agent import Graph, GraphAgent
from turnwire.graph.manifest import Manifest
from turnwire.graph.saver import SqliteSaver
from turnwire.graph.serializer import StrictSerializer
from turnwire.graph.store import with_store
from turnwire.nodes.memory.own import StoredMemories
from turnwire.nodes.tools.authority import CREDENTIALS, GRANTS, NO_CREDENTIALS
from turnwire.nodes.tools.tool import Credentials
from turnwire.server import (
    agents,
    answer,
    conversations,
    execution,
    headers,
    members,
    memory,
    metrics,
    operations,
    page,
    pauses,
    problems,
    reviews,
    schemas,
    sign_in,
    specs,
)
from turnwire.server.access import Access
from turnwire.server.agent_lookup import Agents
from turnwire.server.answer import NOBODY_SIGNED_IN
from turnwire.server.callers import Callers
from turnwire.server.headers import HeaderPolicy
from turnwire.server.key_watch import KeyWatch
from turnwire.server.retention import Retention
from turnwire.server.stream import StreamPolicy, Streams
from turnwire.server.turns import TurnPolicy, Turns
from turnwire.settings import Settings, wanted_traces
from turnwire.sign_in.directory import Directory
from turnwire.storage.base import Store
from turnwire.storage.memory import MemoryStore
from turnwire.storage.sql import SqliteStore
from turnwire.telemetry.catalog import STREAMS_OPEN, TURNS_RUNNING
from turnwire.telemetry.logs import LogReporter
from turnwire.telemetry.metrics import Metrics
from turnwire.telemetry.observers import Observers
from turnwire.telemetry.otlp import Exported, export
from turnwire.telemetry.spans import Tracing

_THREADS: Final = 64
"""Nodes that are plain functions run in threads; so many may block at once."""


def create(
    settings: Settings,
    *,
    served: Served | None = None,
    sign_ins: answer.SignIns | None = None,
    credentials: Credentials | None = None,
    directory: Directory | None = None,
) -> FastAPI:
    """Return the ASGI application that ``settings`` describe.

    ``served`` is what it serves; without it, the settings say so, which takes a second.
    ``directory`` knows the members, by default as ``portal_url`` says. ``sign_ins`` knows which of
    them are signed in, and ``credentials`` what those may do, by default as they have done here.

    Raises:
        SetupError: a graph, policy, model or index is not usable; the text says what to do.
    """
    keys = key_store(settings)
    store = keys if settings.store == "sqlite" else MemoryStore()
    service = sign_in_service(settings, store, directory, now=system_now)
    reporter = LogReporter(messages=settings.environment == "development")
    counted, traces = Metrics(), _traces()
    parts = served or load_served(settings, counted)
    content = parts.pii.log_text if settings.trace_content else None
    supervisor = Supervisor(
        store,
        now=system_now,
        reporter=reporter,
        policy=supervisor_policy(settings),
        observer=_observers(reporter, counted, traces, content),
    )
    watch = KeyWatch(keys, now=system_now)
    agents_by_slug: dict[str, Agent] = {}
    turn_policy = TurnPolicy(if_busy=settings.if_busy, quotas=quota_policy(settings))
    known = Agents(agents_by_slug)
    turns = Turns(store, supervisor, known, now=system_now, policy=turn_policy)

    retention = Retention(store, turns.remove, now=system_now, seconds=settings.anonymous_seconds)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            asyncio.get_running_loop().set_default_executor(
                ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="turnwire-node")
            )
            if traces is not None:
                stack.push_async_callback(asyncio.to_thread, traces.close)
            if close_studio is not None:
                stack.push_async_callback(close_studio)
            stack.enter_context(alone_in(settings.data_dir))
            _close_later(parts, stack)
            for kept in {keys, store}:
                await kept.open()
                stack.push_async_callback(kept.close)
            if service is not None:
                stack.push_async_callback(service.close)
                await service.open()
            await stack.enter_async_context(watch.watching())
            saver = await _saver(settings, stack)
            remembered = await memory_store(settings, stack)
            turns.memories = StoredMemories(remembered)
            named = credentials or service or NO_CREDENTIALS
            agent = _maker(settings, parts, saver, {GRANTS: store, CREDENTIALS: named}, remembered)
            for each in parts.graphs:
                fixed = agent(*each)
                agents_by_slug[fixed.slug] = fixed
            known.library = await studio_of(
                parts.studio, store, agent, taken=frozenset(agents_by_slug)
            )
            await stack.enter_async_context(supervisor)
            await supervisor.recover()
            await stack.enter_async_context(retention.keeping())
            with drain_on_signal(supervisor):
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
            heartbeat_seconds=settings.heartbeat_seconds,
            pace_seconds=settings.pace_seconds,
            documents=settings.document_base_url,
        ),
        watch=watch,
    )
    answers = answer.Answers(
        callers,
        turns,
        streams,
        sign_ins=sign_ins or service or NOBODY_SIGNED_IN,
        policy=answer.AnswerPolicy(honours_rerank=settings.environment != "production"),
        now=system_now,
    )
    answer.mount(app, answers)
    execution.mount(app, callers, turns, streams, answers=answers)
    counted.watch(TURNS_RUNNING, lambda: supervisor.running)
    counted.watch(STREAMS_OPEN, lambda: streams.open)
    app.include_router(operations.router(store, supervisor))
    app.include_router(conversations.router(callers, turns, streams))
    app.include_router(pauses.router(callers, turns))
    app.include_router(memory.router(callers, turns))
    app.include_router(members.router(callers, store, turn_policy.quotas, now=system_now))
    app.include_router(sign_in.router(callers, turns, service))
    app.include_router(reviews.router(access, turns))
    app.include_router(agents.router(access, turns))
    close_studio = mount_studio(
        app,
        settings,
        access=access,
        turns=turns,
        answers=answers,
        streams=streams,
        keys=keys,
        watch=watch,
        counted=counted,
        now=system_now,
    )
    app.include_router(specs.router(access, lambda: known.library, now=system_now))
    has_page = access_policy(settings).cookies
    guard = None if has_page else access
    app.include_router(operations.described(app, access=guard))
    app.include_router(schemas.router(access=guard))
    app.include_router(metrics.router(counted, store, access=guard, now=system_now))
    if has_page:
        facts = page.PageFacts(
            session_header=settings.session_header,
            can_sign_in=service is not None,
            outbox=outbox_of(settings),
        )
        page.mount(app, keys, facts, now=system_now)
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


def _maker(
    settings: Settings,
    parts: Served,
    saver: BaseCheckpointSaver[Any],
    bound: Mapping[ContextVar[Any], object],
    remembered: BaseStore,
) -> Callable[[Graph, Manifest], GraphAgent]:
    """Return what makes an agent of a graph, which finds ``bound`` in its runs."""

    def agent(graph: Graph, manifest: Manifest) -> GraphAgent:
        made = GraphAgent(
            with_store(graph, remembered),
            manifest,
            saver=saver,
            now=system_now,
            recursion_limit=settings.recursion_limit,
            previewed=parts.pii.log_text,
        )
        for variable, value in bound.items():
            made.bind(variable, value)
        return made

    return agent


def _close_later(parts: Served, stack: AsyncExitStack) -> None:
    if parts.index is not None:
        stack.callback(parts.index.close)
    for close in parts.closing:
        stack.push_async_callback(close)


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


async def _saver(settings: Settings, stack: AsyncExitStack) -> BaseCheckpointSaver[Any]:
    serializer = StrictSerializer()
    if (settings.checkpointer or settings.store) == "memory":
        return InMemorySaver(serde=serializer)
    path = settings.data_dir / "checkpoints.db"
    connection = await stack.enter_async_context(aiosqlite.connect(path))
    saver = SqliteSaver(connection, serde=serializer)
    await saver.setup()
    return saver
