"""LangGraph's SQLite store, whose failures are told as what they are, and which erases for good."""

import sqlite3
from collections.abc import Iterable

import numpy as np
from langgraph.store.base import BaseStore, Op, Result
from langgraph.store.sqlite.aio import AsyncSqliteStore

from turnwire.errors import StorageUnavailable
from turnwire.graph.agent import Graph


def with_store(graph: Graph, store: BaseStore) -> Graph:
    """Return the graph with this store, unless it was compiled with one of its own."""
    return graph if graph.store is not None else graph.copy({"store": store})


class SqliteMemory(AsyncSqliteStore):
    """Keeps items in SQLite; a file that is locked or full is ``storage_unavailable``."""

    async def setup(self) -> None:
        """Make the tables; what is erased is overwritten, and its vectors go along."""
        if self.is_setup:
            return
        for each in ("journal_mode=WAL", "foreign_keys=ON", "secure_delete=ON"):
            await self.conn.execute(f"PRAGMA {each}")
        # Not every Python can load the extension that LangGraph would take this function from.
        await self.conn.create_function("vec_distance_cosine", 2, _distance, deterministic=True)
        index, self.index_config = self.index_config, None
        await super().setup()
        self.index_config = index
        for each in self.VECTOR_MIGRATIONS:
            await self.conn.executescript(each)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the operations in one transaction."""
        try:
            return await super().abatch(ops)
        except sqlite3.Error as error:
            raise StorageUnavailable("The memory can't be read or written.") from error

    async def truncate(self) -> None:
        """Take what was erased out of the write-ahead log as well."""
        try:
            async with self.lock:
                await self.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:
            raise StorageUnavailable("The memory can't be written.") from error


def _distance(one: bytes, other: bytes) -> float:
    """Return the cosine distance of two vectors of float32, from 0 to 2."""
    first, second = np.frombuffer(one, np.float32), np.frombuffer(other, np.float32)
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    return 1.0 - float(first @ second) / lengths if lengths else 1.0
