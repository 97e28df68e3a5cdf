"""What the engine needs of an agent."""

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from turnwire.events import Event, Topology
from turnwire.ids import ConversationId
from turnwire.work import Work


class Agent(Protocol):
    """Anything that can work on a turn and say what it does as it does it."""

    @property
    def slug(self) -> str:
        """The name by which clients choose the agent."""
        ...

    @property
    def title(self) -> str:
        """The name that people read."""
        ...

    @property
    def description(self) -> str:
        """What the agent is for."""
        ...

    @property
    def model(self) -> str:
        """The answer model's name."""
        ...

    @property
    def models(self) -> Sequence[str]:
        """Other models that a caller may choose by name."""
        ...

    @property
    def version(self) -> str | None:
        """Which version this is, of an agent of which there are several."""
        ...

    @property
    def topology(self) -> Topology:
        """The graph as clients may draw it."""
        ...

    def work(self, work: Work, /) -> AsyncGenerator[Sequence[Event], None]:
        """Yield what happens in batches that were ready together.

        The last event is ``turn.paused`` or ``turn.completed``. Closing the generator stops the
        work and closes what it opened, a provider's stream among it. An error that the client
        may know of is raised as :class:`turnwire.errors.TurnBroken`.
        """
        ...

    async def forget(self, conversation_id: ConversationId, /) -> None:
        """Erase whatever the agent keeps of the conversation."""
        ...
