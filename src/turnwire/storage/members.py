"""What is kept of members: their sessions, and what they have used of their allowance.

An allowance is counted by windows that begin at multiples of their length since 1970, so that a
count needs no timer to end: the next window is another row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A member's session without its id."""

    session_hash: str
    """SHA-256 of the session id in hexadecimal; the id has 256 random bits."""
    member: str
    """Owns conversations: ``member:<random>``."""
    application: str
    """The principal that minted it; no other may present it."""
    created_ms: int
    seen_ms: int
    """About when it was last used."""
    expires_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What a turn takes of one allowance: a message, and tokens that are held until it ends."""

    subject: str
    """Whose allowance: ``member:…`` or ``key:…``."""
    window_ms: int
    start_ms: int
    """When the window began."""
    messages: int | None = None
    """How many a window has; none: they are not limited."""
    tokens: int | None = None
    held: int = 0
    """Tokens that the turn is taken to need, until it is known."""

    @property
    def ends_ms(self) -> int:
        """When the next window begins."""
        return self.start_ms + self.window_ms


@dataclass(frozen=True, slots=True)
class Used:
    """What was used of one window; tokens of running turns count as they are held."""

    messages: int = 0
    tokens: int = 0

    def leaves_room(self, charge: Charge) -> bool:
        """Whether something is left of each limit; the last turn may use more than is left."""
        return (charge.messages is None or self.messages < charge.messages) and (
            charge.tokens is None or self.tokens < charge.tokens
        )


class MemberStore(Protocol):
    """Sessions and allowances."""

    async def add_session(self, session: SessionRecord) -> None:
        """Store a new session; what had expired when it was made is dropped."""
        ...

    async def session(self, session_hash: str, *, now: int) -> SessionRecord | None:
        """Return the session if it has not expired at ``now`` (ms)."""
        ...

    async def renew_session(self, session_hash: str, *, now: int, expires_ms: int) -> None:
        """Move the expiry of a session that has not expired at ``now`` (ms)."""
        ...

    async def used(self, charges: Sequence[Charge]) -> tuple[Used, ...]:
        """Return what was used of each charge's window, in the same order."""
        ...

    async def charge(self, charges: Sequence[Charge]) -> tuple[Charge, ...]:
        """Count a message for each charge and return nothing, or count none and return the full.

        One atomic step, for what is no turn; what a charge holds is not looked at.
        """
        ...
