"""Where what agents remember of users is kept: a LangGraph store that finds by meaning."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Final

import aiosqlite
from langgraph.store.base import BaseStore, IndexConfig
from langgraph.store.memory import InMemoryStore

from turnwire.graph.store import SqliteMemory
from turnwire.retrieval.encoder import EmbeddedEncoder
from turnwire.settings import Settings

_FILE: Final = "memory.db"
_BUSY_SECONDS: Final = 5.0
_SWEEP_MINUTES: Final = 60


async def memory_store(settings: Settings, stack: AsyncExitStack) -> BaseStore:
    """Return the open store; its encoder is loaded when something is first remembered."""
    encoder = EmbeddedEncoder()

    async def embed(texts: Sequence[str]) -> list[list[float]]:
        rows = await asyncio.to_thread(encoder.encode, texts)
        return rows.tolist()

    index: IndexConfig = {"dims": encoder.dims, "embed": embed, "fields": ["text"]}
    if settings.store == "memory":
        return InMemoryStore(index=index)
    connection = await stack.enter_async_context(
        # The store begins its transactions itself.
        aiosqlite.connect(settings.data_dir / _FILE, timeout=_BUSY_SECONDS, isolation_level=None)
    )
    store = SqliteMemory(connection, index=index, ttl={"sweep_interval_minutes": _SWEEP_MINUTES})
    await store.setup()
    await store.sweep_ttl()
    await store.start_ttl_sweeper()
    stack.push_async_callback(store.stop_ttl_sweeper)
    return store
