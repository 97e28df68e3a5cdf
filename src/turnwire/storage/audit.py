"""What was proposed to members, what they decided, and what came of it: kept for ever.

A confirmation has up to four entries, one for each step. The first entry of a step stands: so an
action is begun once, and nobody decides twice. No text of a member is in an entry.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

from turnwire.ids import ConversationId, PauseId, TurnId

Step = Literal["proposal", "decision", "start", "outcome"]

Result = Literal[
    "proposed",
    "approved",
    "rejected",
    "expired",
    "dropped",
    "started",
    "ok",
    "tool_failed",
    "unknown",
    "not_run",
]
"""What an entry says.

Of a decision: ``approved``, ``rejected``, ``expired`` (an approval came too late, or none came) or
``dropped`` (the member asked something else). Of an outcome: ``ok``, ``tool_failed``, ``unknown``
(the process ended, or the upstream did not answer) or ``not_run`` (approved, and its turn ended
before it was begun). An action that a graph does by itself, without a grant, has no outcome here.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One step of one confirmation."""

    at_ms: int
    """Milliseconds since 1970 in UTC, by the store's clock."""
    step: Step
    result: Result
    confirmation_id: PauseId
    conversation_id: ConversationId
    turn_id: TurnId
    principal: str
    """Whose action it is: an opaque id."""
    agent: str
    tool: str
    risk: str
    arguments_hash: str
    """SHA-256; see :class:`turnwire.nodes.tools.tool.Proposal`."""
    decided_by: str | None = None
    code: str | None = None
    """What went wrong."""
    receipt: str | None = None
    """The upstream's name for what it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """Which entries are wanted; what is not named is not looked at."""

    conversation_id: str | None = None
    principal: str | None = None
    tool: str | None = None
    since_ms: int = 0


Ended = Literal["ok", "tool_failed", "unknown"]
"""What is known of an action that was begun."""


class Grants(Protocol):
    """Where confirmations are kept, and what became of what was approved."""

    async def take_grant(
        self, confirmation_id: str, *, principal: str, tool: str, arguments_hash: str
    ) -> bool:
        """Whether this member has approved this tool with these arguments, and nobody acted yet.

        Of many who ask, one is told yes, once and for all. What belongs to a turn that does not
        run, to somebody else or to another action is not granted.
        """
        ...

    async def note_outcome(
        self, confirmation_id: str, ended: Ended, *, code: str | None, receipt: str | None
    ) -> None:
        """Keep how an action ended whose grant was taken; the first to say so is believed."""
        ...


class ActionStore(Grants, Protocol):
    """Grants, and the audit of actions."""

    async def close_actions(self) -> int:
        """Note what became of actions that no process carries out any more; return how many.

        To be called when nothing runs: a begun one without an outcome is ``unknown``, an approved
        one that was never begun ``not_run``. A turn's ending itself notes what was not begun, so
        that this is left for processes that were killed.
        """
        ...

    async def audit(self, query: AuditQuery) -> list[AuditEntry]:
        """Return entries, oldest first; erasing a conversation leaves them."""
        ...
