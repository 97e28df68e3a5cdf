"""What a staff user does over a socket: begin a turn, answer it, hear it, stop it."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pydantic import JsonValue
from starlette.requests import HTTPConnection

from turnwire.admission.principal import Principal
from turnwire.admission.rates import Rates
from turnwire.clock import Now
from turnwire.errors import (
    AgentNotFound,
    NotFound,
    RateLimited,
    RequestInvalid,
    ResumeUnavailable,
)
from turnwire.ids import ConversationId, PauseId, Seq, TurnId, is_identifier
from turnwire.server.answer import Answers
from turnwire.server.conversations import known_position
from turnwire.server.messages import ApprovalResponse, Cancel, Chat, Resume
from turnwire.server.negotiation import locale
from turnwire.server.ownership import readable_turn
from turnwire.server.turns import Decided, Followed, NewTurn, Turns
from turnwire.storage.base import PauseRecord, TurnRecord, TurnStore
from turnwire.work import Message


@dataclass(slots=True)
class Session:
    """One socket's place: whose it is, and the conversation that its messages belong to."""

    session_id: str
    principal: Principal
    conversation_id: ConversationId
    connection: HTTPConnection
    others: set[ConversationId] = field(default_factory=set[ConversationId])
    """Conversations of the same user whose turns this socket has heard."""


async def conversation_of(
    store: TurnStore, principal: Principal, session_id: str
) -> ConversationId:
    """Return the conversation that a session's id names for this user.

    Their own conversation keeps its id. Any other name stands for one that only they can reach,
    so that nobody learns from it what others have.

    Raises:
        NotFound: it has not the form of an id.
    """
    if not is_identifier(session_id):
        raise NotFound("There is no such session.")
    known = await store.conversation(ConversationId(session_id))
    if known is not None and known.principal == principal.id:
        return known.conversation_id
    named = hashlib.sha256(f"{principal.id}\0{session_id}".encode()).hexdigest()
    return ConversationId(f"conv_{named[:24]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StudioPolicy:
    """What one staff user may do."""

    per_minute: int = 30
    """Chat messages in a minute."""


class StudioTurns:
    """The messages of a socket as use cases of :class:`turnwire.server.turns.Turns`."""

    def __init__(
        self,
        turns: Turns,
        answers: Answers,
        *,
        rates: Rates,
        policy: StudioPolicy,
        now: Now,
        erred: Callable[[str], None],
    ) -> None:
        """Serve staff; ``erred`` is told the code of each message that is refused."""
        self.turns = turns
        self.erred = erred
        self._answers = answers
        self._rates = rates
        self._per_minute = policy.per_minute
        self._now = now

    async def begin(self, session: Session, chat: Chat) -> Followed:
        """Begin a turn, or join the one that the same message began before.

        Raises:
            RateLimited: the user has sent as many messages as they may.
            AgentNotFound: there is no such agent.
            AdmissionRefused: as :meth:`turnwire.server.turns.Turns.begin`.
        """
        await self._take(session.principal)
        agent = chat.agent or await self._agent_of(session.conversation_id)
        try:
            await self.turns.agents.named(agent, session.principal)
        except NotFound:
            raise AgentNotFound from None
        sent = chat.client_message_id
        new = NewTurn(
            principal=session.principal,
            messages=(Message(role="user", content=chat.message),),
            conversation_id=session.conversation_id,
            agent=agent,
            locale=locale(chat.locale, session.connection, chat.message),
            model=None,
            if_busy=self.turns.policy.if_busy,
            body_hash=chat.digest(),
            idempotency_key=f"ws:{session.conversation_id}:{sent}" if sent else None,
            may_open=True,
        )
        try:
            return await self.turns.begin(new)
        except NotFound:
            raise NotFound(
                "This session's conversation is with another agent; open another session."
            ) from None

    async def answer(self, session: Session, response: ApprovalResponse) -> Followed:
        """Take the answer to a pause and go on.

        Raises:
            ResumeUnavailable: it is unknown, somebody else's, expired, or not to be answered here.
            AlreadyDecided, ConfirmationUnavailable: it was answered before.
            Forbidden: a review needs the scope for it.
            RequestInvalid: the answer does not fit the question.
        """
        asked = await self._asked(session, PauseId(response.approval_id))
        match asked.pause.kind:
            case "approval" | "input":
                values = {asked.pause.pause_id: _value(asked, response)}
                return await self.turns.resume_inputs(
                    session.principal, asked.conversation_id, values
                )
            case "confirmation":
                if response.edited_params is not None:
                    raise RequestInvalid(("edited_params", "an action is confirmed as it is"))
                return await self._answers.decide(
                    session.principal,
                    asked.conversation_id,
                    asked.pause.pause_id,
                    approved=response.approved,
                )
            case "review":
                session.principal.require("review")
                return await self.turns.resume_review(
                    session.principal, asked.conversation_id, _decided(asked, response)
                )
            case "sign_in":
                raise ResumeUnavailable

    async def find(self, session: Session, resume: Resume) -> Followed:
        """Return what a client is to hear that comes back to a turn.

        Raises:
            NotFound: there is no such turn of theirs.
            RequestInvalid: ``after`` is from the future.
        """
        turn = await self._turn(session, resume.turn_id)
        after = await known_position(resume.after, turn, "after", self.turns.store)
        return Followed(turn_id=turn.turn_id, after=after, run_id=None)

    async def cancel(self, session: Session, cancel: Cancel) -> Followed:
        """Stop a turn that runs or waits; return what tells its ending.

        Raises:
            NotFound: there is no such turn of theirs.
        """
        turn = await self._turn(session, cancel.turn_id)
        if turn.phase in ("running", "paused"):
            await self.turns.cancel(session.principal, turn.conversation_id, turn.turn_id)
            turn = await self._turn(session, cancel.turn_id)
        return Followed(turn_id=turn.turn_id, after=Seq(max(0, turn.last_seq)), run_id=None)

    async def _take(self, principal: Principal) -> None:
        wait = await self._rates.take(f"chat:{principal.id}", self._per_minute, now=self._now())
        if wait:
            raise RateLimited("Rate limit exceeded. Please wait a moment.", retry_after=wait / 1000)

    async def _agent_of(self, conversation_id: ConversationId) -> str | None:
        known = await self.turns.store.conversation(conversation_id)
        return known.agent if known else None

    async def _asked(self, session: Session, pause_id: PauseId) -> PauseRecord:
        for each in await self._pauses((session.conversation_id, *session.others)):
            if each.pause.pause_id == pause_id and each.principal == session.principal.id:
                return each
        raise ResumeUnavailable

    async def _pauses(self, conversations: Iterable[ConversationId]) -> list[PauseRecord]:
        found: list[PauseRecord] = []
        for each in conversations:
            found += await self.turns.store.pauses(each)
        return found

    async def _turn(self, session: Session, turn_id: str) -> TurnRecord:
        found = await self.turns.store.turn(TurnId(turn_id))
        if found is None:
            raise NotFound("There is no such turn.")
        try:
            turn = await readable_turn(
                self.turns.store, session.principal, found.conversation_id, found.turn_id
            )
        except NotFound:
            raise NotFound("There is no such turn.") from None
        session.others.add(turn.conversation_id)
        return turn


def _value(asked: PauseRecord, response: ApprovalResponse) -> JsonValue:
    """Return an answer in the shape that its question has."""
    if asked.pause.kind == "input" and response.edited_params is not None and response.approved:
        return response.edited_params
    value: dict[str, JsonValue] = {"approved": response.approved}
    if response.edited_params is not None:
        value["edited_params"] = response.edited_params
    return value


def _decided(asked: PauseRecord, response: ApprovalResponse) -> Decided:
    edited = (response.edited_params or {}).get("edited_text")
    if response.edited_params is not None and not (isinstance(edited, str) and edited.strip()):
        raise RequestInvalid(("edited_params.edited_text", "an edit of a draft needs the new text"))
    approved = "approve" if edited is None else "edit"
    decision = approved if response.approved else "reject"
    return Decided(
        decision=decision,
        edited_text=edited if isinstance(edited, str) and decision == "edit" else None,
        review_id=asked.pause.pause_id,
    )
