"""The store of a data directory, open for one command."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from turnwire.app import key_store
from turnwire.settings import Settings
from turnwire.storage.base import Store

T = TypeVar("T")


def with_store(settings: Settings, use: Callable[[Store], Awaitable[T]]) -> T:
    """Return what ``use`` makes of the store, which is closed afterwards."""

    async def opened() -> T:
        store = key_store(settings)
        await store.open()
        try:
            return await use(store)
        finally:
            await store.close()

    return asyncio.run(opened())
