"""A new store of each kind, opened and closed."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from turnwire.storage.base import Store
from turnwire.storage.memory import MemoryStore
from turnwire.storage.sql import SqliteStore

Kind = Literal["memory", "sqlite"]
KINDS: tuple[Kind, ...] = ("memory", "sqlite")


@asynccontextmanager
async def opened(kind: Kind, folder: Path) -> AsyncGenerator[Store]:
    store: Store = MemoryStore() if kind == "memory" else SqliteStore(folder / "turnwire.db")
    await store.open()
    try:
        yield store
    finally:
        await store.close()
