"""What agents remember of users beyond a conversation: the seam between who keeps and who asks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from pydantic import JsonValue

MemoryKind = Literal["episodic", "working"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """One thing that an agent remembers of a user."""

    memory_id: str
    kind: MemoryKind
    agent: str
    conversation_id: str
    content: Mapping[str, JsonValue]
    """Of an episode ``question`` and ``answer``; of work ``stage``, ``confirmed``, ``notes``."""
    at_ms: int


class Memories(Protocol):
    """Reads and erases what is remembered; each raises ``StorageUnavailable`` where it can't."""

    async def of(self, principal: str, /) -> Sequence[Remembered]:
        """Return all that is remembered of a user, newest first."""
        ...

    async def forget(self, principal: str, memory_id: str | None = None, /) -> int:
        """Erase one thing that is remembered of a user, or all; return how many that were."""
        ...

    async def forget_conversation(self, conversation_id: str, /) -> None:
        """Erase all that is remembered of a conversation."""
        ...


class _Nothing:
    async def of(self, principal: str, /) -> Sequence[Remembered]:
        return ()

    async def forget(self, principal: str, memory_id: str | None = None, /) -> int:
        return 0

    async def forget_conversation(self, conversation_id: str, /) -> None:
        pass


NOTHING_REMEMBERED: Final[Memories] = _Nothing()
