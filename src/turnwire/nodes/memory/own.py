"""What is remembered of a user, for the user: to read and to erase."""

from collections.abc import Sequence
from typing import Final

from langgraph.store.base import BaseStore, SearchItem

from turnwire.graph.store import SqliteMemory
from turnwire.nodes.memory.places import EPISODES, ROOT, Place, of_user
from turnwire.storage.memories import Remembered

_TOGETHER: Final = 200
_SAID: Final = ("question", "answer")


class StoredMemories:
    """See :class:`turnwire.storage.memories.Memories`; a LangGraph store keeps them."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store

    async def of(self, principal: str, /) -> Sequence[Remembered]:
        """Return all that is remembered of a user, newest first."""
        found = await self._all(of_user(principal))
        return sorted(map(_remembered, found), key=lambda each: each.at_ms, reverse=True)

    async def forget(self, principal: str, memory_id: str | None = None, /) -> int:
        """Erase one thing or all; where that fails in the middle, what is gone is gone."""
        found = await self._all(of_user(principal))
        return await self._erase(
            [each for each in found if memory_id in (None, _remembered(each).memory_id)]
        )

    async def forget_conversation(self, conversation_id: str, /) -> None:
        """Erase all that is remembered of a conversation."""
        await self._erase(await self._all((ROOT,), conversation_id))

    async def _all(self, place: Place, conversation_id: str | None = None) -> list[SearchItem]:
        only = None if conversation_id is None else {"conversation_id": conversation_id}
        found: list[SearchItem] = []
        while True:
            some = await self._store.asearch(place, filter=only, limit=_TOGETHER, offset=len(found))
            found += some
            if len(some) < _TOGETHER:
                return found

    async def _erase(self, found: Sequence[SearchItem]) -> int:
        for each in found:
            await self._store.adelete(each.namespace, each.key)
        if found and isinstance(self._store, SqliteMemory):
            await self._store.truncate()
        return len(found)


def _remembered(item: SearchItem) -> Remembered:
    value, (_, _, kind, agent) = item.value, item.namespace
    episodic = kind == EPISODES
    return Remembered(
        memory_id=f"{kind}.{agent}.{item.key}",
        kind="episodic" if episodic else "working",
        agent=value["agent"],
        conversation_id=value["conversation_id"],
        content={each: value[each] for each in _SAID} if episodic else value["working"],
        at_ms=value["at_ms"],
    )
