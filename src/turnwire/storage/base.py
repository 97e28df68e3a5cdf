"""What turnwire needs of a store; each backend is one module beside this one.

The event log is the single path by which a turn changes: a backend derives a turn's row and its
pauses from the envelopes it appends, in the same transaction. Reducing the events therefore
gives the stored conversation.
"""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from turnwire.events import Citation, Envelope, Pause
from turnwire.ids import BEGINNING, ConversationId, PauseId, RunId, Seq, TurnId
from turnwire.storage.audit import ActionStore
from turnwire.storage.members import Charge, MemberStore, Used
from turnwire.storage.receipt import Receipt
from turnwire.storage.sign_ins import SignInStore
from turnwire.storage.specs import SpecStore
from turnwire.work import Message

TurnPhase = Literal["running", "paused", "completed", "failed"]
PausePhase = Literal["open", "answered", "dropped"]


Patience = float | Callable[[], float]
"""Seconds to wait for the next event, or what returns them before each wait."""


class Conflict(Exception):
    """Somebody else changed the same row first: look at the facts again and decide anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """A turn as the store knows it."""

    turn_id: TurnId
    conversation_id: ConversationId
    principal: str
    agent: str
    phase: TurnPhase
    run_id: RunId
    messages: tuple[Message, ...]
    """The new user messages that began the turn."""
    locale: str
    trace_id: str
    created_ms: int
    idempotency_key: str | None = None
    body_hash: str | None = None
    last_seq: Seq = BEGINNING
    content: str = ""
    finish_reason: str | None = None
    error_code: str | None = None
    citations: tuple[Citation, ...] = ()
    updated_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseRecord:
    """A pause and what became of it."""

    pause: Pause
    turn_id: TurnId
    conversation_id: ConversationId
    principal: str
    """Who owns the conversation, not who may answer."""
    agent: str
    phase: PausePhase
    decision: str | None = None
    decided_by: str | None = None
    draft: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRecord:
    """A conversation as its owner may list it."""

    conversation_id: ConversationId
    principal: str
    agent: str
    created_ms: int
    updated_ms: int
    turns: int


class Place(NamedTuple):
    """Where a page of conversations ends: the order is by both, newest first."""

    updated_ms: int
    conversation_id: ConversationId


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationFacts:
    """What admission looks at before a new turn."""

    conversation: ConversationRecord | None = None
    """None where it is unknown; the owner is for the decision to compare."""
    active: TurnRecord | None = None
    """The running or paused turn, if there is one."""
    unsettled: tuple[TurnRecord, ...] = ()
    """The turns since the last that the agent itself completed, oldest first."""
    repeated: TurnRecord | None = None
    """The turn that the same principal began under the same idempotency key."""
    used: tuple[Used, ...] = ()
    """What was used of each window that was asked about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A new turn and everything that has to be stored with it, or not at all."""

    turn: TurnRecord
    started: Sequence[Envelope]
    """The turn's first envelope."""
    earlier_turns: int | None
    """How many turns the conversation had when it was looked at; none: it is new."""
    dropped: tuple[TurnId, Sequence[Envelope]] | None = None
    """A paused turn that ends by this one, and the envelopes of its ending."""
    charges: Sequence[Charge] = ()
    """What it takes of the allowances."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A person's decision on one pause."""

    pause_id: PauseId
    decision: str
    """A word such as ``approve``; for a pause of kind ``input`` it is ``answered``."""
    decided_by: str
    arguments_hash: str | None = None
    """Of an approval whose parameters were edited, the hash of those; none: as was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord:
    """An API key without its secret."""

    key_id: str
    """The public part, by which the key is found."""
    name: str
    environment: Literal["live", "test"]
    scopes: tuple[str, ...]
    secret_hash: str
    """SHA-256 of the secret part in hexadecimal; the secret has 256 random bits."""
    created_ms: int
    revoked_ms: int | None = None
    per_minute: int | None = None
    """Requests that it may make in a minute; none: as many as the server lets any key make."""
    last_used_ms: int | None = None
    """When it opened something last, to about a minute."""
    previous_hash: str | None = None
    """The hash of the secret before a rotation, where that one goes on for a while."""
    previous_until_ms: int | None = None


class EventLog(Protocol):
    """The numbered events of every turn."""

    async def append(self, envelopes: Sequence[Envelope]) -> None:
        """Add envelopes that follow the last one of their turn.

        Ordinary events may be seen by followers before they are durable, by at most the
        backend's flush window. An event that ends a run is durable before anybody sees it.

        Raises:
            StorageUnavailable: the events of this turn cannot be kept; nobody saw these.
        """
        ...

    def takes(self, turn_id: TurnId) -> bool:
        """Whether :meth:`show` may be called now, with nothing in between."""
        ...

    def show(self, envelopes: Sequence[Envelope]) -> None:
        """Do what :meth:`append` does with ordinary events, without a wait."""
        ...

    async def announce(self, envelopes: Sequence[Envelope]) -> None:
        """Show an ending that could not be stored, and store it as soon as that is possible."""
        ...

    def follow(
        self, turn_id: TurnId, *, after: Seq, patience: Patience, run_id: RunId | None = None
    ) -> AsyncIterator[Sequence[Envelope]]:
        """Yield what came after ``after``, then what comes, until nothing runs any more.

        One function for live and replay. Each time that ``patience`` is over, yield an
        empty batch. With ``run_id`` the end of that run is the end of the stream.
        """
        ...

    async def read(self, turn_id: TurnId, *, after: Seq = BEGINNING) -> list[Envelope]:
        """Return what is in the log after ``after``."""
        ...


class TurnStore(Protocol):
    """Conversations, their turns and their pauses."""

    async def facts(
        self,
        principal: str,
        conversation_id: ConversationId | None,
        idempotency_key: str | None,
        *,
        charges: Sequence[Charge] = (),
    ) -> ConversationFacts:
        """Return all that admission looks at, in one round trip."""
        ...

    async def begin(self, opening: Opening) -> None:
        """Store a new turn with its first event, or raise :class:`Conflict` and store nothing.

        In the same step the turn's charges are taken; where an allowance has nothing left, that is
        a conflict too.
        """
        ...

    async def resume(
        self,
        turn_id: TurnId,
        answers: Sequence[Answer],
        started: Sequence[Envelope],
        *,
        now: int,
        charges: Sequence[Charge] = (),
    ) -> Sequence[PauseRecord]:
        """Take the answers and start the next run, or raise :class:`Conflict` and change nothing.

        One atomic step: every pause named is open and not expired by the store's own clock, the
        turn is paused, and the allowances have something left for the charges. What the run uses
        counts for the windows of ``now`` (ms). The audit keeps what was decided, also what was
        decided too late.

        The turn's other pauses that have expired by then are dropped with the decision
        ``expired`` in the same step, and returned, oldest first: the run has to be told.
        """
        ...

    async def close_paused(self, turn_id: TurnId, envelopes: Sequence[Envelope]) -> None:
        """End a paused turn by these envelopes, or raise :class:`Conflict`."""
        ...

    async def turn(self, turn_id: TurnId) -> TurnRecord | None:
        """Return the turn."""
        ...

    async def turns(self, conversation_id: ConversationId) -> list[TurnRecord]:
        """Return a conversation's turns, oldest first."""
        ...

    async def receipt(self, turn_id: TurnId) -> Receipt | None:
        """Return the receipt that was stored when the turn paused or ended last."""
        ...

    async def running(self) -> list[TurnRecord]:
        """Return the turns that are stored as running."""
        ...

    async def pauses(
        self, conversation_id: ConversationId | None = None, *, kind: str | None = None
    ) -> list[PauseRecord]:
        """Return pauses, newest first: a conversation's of any phase, or everybody's open ones."""
        ...

    async def conversation(self, conversation_id: ConversationId) -> ConversationRecord | None:
        """Return the conversation."""
        ...

    async def conversations(
        self, principal: str, *, limit: int = 100, before: Place | None = None
    ) -> list[ConversationRecord]:
        """Return a principal's conversations, newest first: ``limit`` of those below ``before``."""
        ...

    async def abandoned(
        self, prefix: str, *, before_ms: int, now: int, limit: int
    ) -> list[ConversationId]:
        """Return conversations of principals whose names begin with ``prefix``, oldest first.

        Their last turn began before ``before_ms``, nothing of them runs, and no reviewer may still
        decide about one at ``now`` (ms).
        """
        ...

    async def erase(self, conversation_id: ConversationId) -> None:
        """Delete the conversation, its turns, events and pauses."""
        ...


class KeyStore(Protocol):
    """API keys, and the one-time links of a server on loopback."""

    async def add_key(self, key: KeyRecord) -> None:
        """Store a new key."""
        ...

    async def key(self, key_id: str) -> KeyRecord | None:
        """Return the key, also a revoked one."""
        ...

    async def keys(self, key_ids: Collection[str] | None = None) -> list[KeyRecord]:
        """Return every key, or those that are named, oldest first; also revoked ones."""
        ...

    async def revoke_key(self, key_id: str, *, now: int) -> bool:
        """Revoke the key; false where it is unknown or was revoked before."""
        ...

    async def rotate_key(
        self, key_id: str, secret_hash: str, *, previous_until_ms: int | None
    ) -> bool:
        """Give the key another secret; false where it is unknown or revoked.

        The secret before it opens until ``previous_until_ms``, the one before that no more.
        """
        ...

    async def limit_key(self, key_id: str, per_minute: int | None) -> bool:
        """Set how many requests a minute the key may make; false where it is unknown or revoked."""
        ...

    async def keys_used(self, used_ms: Mapping[str, int]) -> None:
        """Note when each of these keys was used last; a later time that is known stays."""
        ...

    async def add_secret(self, kind: str, secret_hash: str, *, expires_ms: int) -> None:
        """Store the hash of a link or of a cookie."""
        ...

    async def take_secret(self, kind: str, secret_hash: str, *, now: int) -> bool:
        """Whether the secret is known and unexpired; it is gone afterwards (once only)."""
        ...

    async def has_secret(self, kind: str, secret_hash: str, *, now: int) -> bool:
        """Whether the secret is known and unexpired; it stays."""
        ...


class Store(
    EventLog, TurnStore, KeyStore, MemberStore, SignInStore, ActionStore, SpecStore, Protocol
):
    """Everything, as one backend gives it."""

    async def open(self) -> None:
        """Make the store usable, its tables among it."""
        ...

    async def close(self) -> None:
        """Write what is pending and let go of every resource."""
        ...

    async def check(self) -> None:
        """Return if the store can be read and written, or raise ``StorageUnavailable``."""
        ...
