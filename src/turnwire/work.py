"""What an agent is asked to do, in words that neither engine nor LangGraph owns."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pydantic import JsonValue

from turnwire.events import Fact, Pause
from turnwire.ids import ConversationId, PauseId, RunId, TurnId

Channel = Literal["app", "text"]
"""Where the member reads: in an app, which has cards, or in a channel of nothing but text."""

Aloud = Callable[[Sequence[str]], bool]
"""Says words at once, ahead of what the agent yields next; false: they have to be yielded."""

Own = Callable[[Coroutine[Any, Any, None]], Awaitable[None]]
"""Starts what goes on although the run is stopped, and is waited for before the process ends."""


def _unable(_: Sequence[str]) -> bool:
    return False


class Message(Fact):
    """One message of a conversation, as a client sends it."""

    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What a client would like of one turn; never authority, and stored nowhere."""

    rerank: bool | None = None
    """False: searches pass over the reranker. Nothing brings one that is not there."""
    timezone: str | None = None
    """The member's, as the client names it (IANA); nobody has looked whether it exists."""


NO_HINTS: Final = Hints()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled:
    """An earlier turn of the conversation that ended without the agent's own ending.

    Its question and what was said of its answer have to be in the history before the next
    model call, or a provider refuses the order of roles.
    """

    turn_id: TurnId
    messages: tuple[Message, ...]
    content: str
    """The partial answer that people saw; may be empty."""


EXPIRED: Final = "expired"
"""The decision that a graph is told where an answer can't come any more."""


def expired_answer(pause: Pause) -> dict[str, JsonValue]:
    """Return what a graph is told of a pause that nobody answered in time."""
    about: dict[str, JsonValue] = {"decision": EXPIRED}
    return about | {"confirmation_id": pause.pause_id} if pause.kind == "confirmation" else about


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One run: a new turn's messages, or answers to a paused turn's questions."""

    turn_id: TurnId
    conversation_id: ConversationId
    run_id: RunId
    principal: str
    locale: str
    trace_id: str
    started_ms: int
    messages: tuple[Message, ...] = ()
    answers: Mapping[PauseId, JsonValue] = field(default_factory=dict[PauseId, JsonValue])
    """Empty for a new turn."""
    unsettled: tuple[Unsettled, ...] = ()
    model: str | None = None
    """The model that the caller chose, or none for the agent's own."""
    hints: Hints = NO_HINTS
    channel: Channel = "app"
    can_sign_in: bool = False
    """Whether the caller is a member with a session, to which a sign-in can be attached.

    Nobody else can answer a confirmation either.
    """
    confirmed: bool = False
    """A person has said what is to happen: the run goes on although every client leaves."""
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    aloud: Aloud = field(default=_unable, repr=False, compare=False)
    """A short way for words; only while everything that was said before has been yielded."""
    own: Own | None = field(default=None, repr=False, compare=False)
    """None: nobody waits for what the run leaves behind."""
