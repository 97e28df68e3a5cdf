"""LangGraph's SQLite saver, whose failures are told as what they are."""

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from turnwire.errors import StorageUnavailable


class SqliteSaver(AsyncSqliteSaver):
    """Keeps checkpoints in SQLite; a file that is locked or full is ``storage_unavailable``."""

    async def setup(self) -> None:
        """Make the tables; what is erased is overwritten."""
        if self.is_setup:
            return
        await super().setup()
        await self.conn.execute("PRAGMA secure_delete=ON")

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that ``config`` names."""
        with _told():
            return await super().aget_tuple(config)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint."""
        with _told():
            return await super().aput(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a node wrote."""
        with _told():
            await super().aput_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Erase a thread, also from the write-ahead log."""
        with _told():
            await super().adelete_thread(thread_id)
            await self.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@contextmanager
def _told() -> Generator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StorageUnavailable("The checkpoints can't be read or written.") from error
