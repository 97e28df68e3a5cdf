"""A new store of each kind, opened and closed."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from turnwire.clock import Now, system_now
from turnwire.storage.base import Store
from turnwire.storage.memory import MemoryStore
from turnwire.storage.sql import SqliteStore

Kind = Literal["memory", "sqlite"]
KINDS: tuple[Kind, ...] = ("memory", "sqlite")


@asynccontextmanager
async def opened(kind: Kind, folder: Path) -> AsyncGenerator[Store]:
    async with at(kind, folder) as store:
        yield store


@asynccontextmanager
async def at(kind: Kind, folder: Path, *, now: Now = system_now) -> AsyncGenerator[Store]:
    path = folder / "turnwire.db"
    store: Store = MemoryStore(now=now) if kind == "memory" else SqliteStore(path, now=now)
    await store.open()
    try:
        yield store
    finally:
        await store.close()
