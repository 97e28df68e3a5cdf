"""Versions of the agents that staff write as specs; a version is never changed."""

from dataclasses import dataclass
from typing import Literal, Protocol

SpecPhase = Literal["draft", "published"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecRecord:
    """One version of one agent."""

    slug: str
    version: int
    """From 1, in the order in which they were kept."""
    phase: SpecPhase
    """A draft is served to nobody; the latest published version is the agent."""
    text: str
    """YAML, as it was written."""
    author: str
    created_ms: int


class SpecStore(Protocol):
    """Where specs are kept."""

    async def add_spec(
        self, slug: str, text: str, *, phase: SpecPhase, author: str, now: int
    ) -> SpecRecord:
        """Keep a text as the agent's next version; of many at once each gets its own number."""
        ...

    async def specs(self, slug: str | None = None) -> list[SpecRecord]:
        """Return every version of an agent, or of all agents, oldest first."""
        ...
