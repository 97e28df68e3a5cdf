"""``POST /chat/stream``, ``/chat/confirm`` and ``/chat/resume``: the answer wire, for members."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from fastapi import FastAPI, Request
from pydantic import JsonValue
from starlette.responses import Response

from turnwire.admission.decide import answer_confirmation, answer_sign_in
from turnwire.admission.principal import Principal
from turnwire.clock import Now
from turnwire.errors import (
    AdmissionRefused,
    ConfirmationUnavailable,
    ResumeUnavailable,
    TurnInProgress,
)
from turnwire.ids import ConversationId, PauseId
from turnwire.probe import CALLER
from turnwire.server.bodies import (
    ConfirmAnswer,
    MemberAnswer,
    SignedInResume,
    StreamRequest,
    idempotency_key,
    parse,
    parse_stream,
    read_json,
)
from turnwire.server.callers import Callers
from turnwire.server.direct import add_direct
from turnwire.server.negotiation import locale
from turnwire.server.openapi import GOES_ON, REPEATABLE, TURN, streams_only, takes
from turnwire.server.stream import Streams
from turnwire.server.turns import Followed, NewTurn, Turns
from turnwire.storage.base import Answer, Conflict, PauseRecord
from turnwire.work import Hints

_SIGNED_IN: Final[JsonValue] = {"signed_in": True}
"""What a graph is told after a sign-in; credentials are read afresh and never travel so."""


class SignIns(Protocol):
    """Who is signed in; the answers of whoever keeps the members' credentials."""

    async def is_signed_in(self, principal: Principal, /) -> bool:
        """Whether the caller has a credential of their own that is still good."""
        ...


class NobodySignedIn:
    """Stands where there is no sign-in."""

    async def is_signed_in(self, principal: Principal, /) -> bool:
        """Return no."""
        return False


NOBODY_SIGNED_IN: Final = NobodySignedIn()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPolicy:
    """What clients of the answer wire may ask for."""

    honours_rerank: bool
    """Whether the hint ``rerank`` counts; never in production."""


class Answers:
    """Serves turns to members."""

    def __init__(
        self,
        callers: Callers,
        turns: Turns,
        streams: Streams,
        *,
        sign_ins: SignIns,
        policy: AnswerPolicy,
        now: Now,
    ) -> None:
        self._callers = callers
        self._turns = turns
        self._streams = streams
        self._sign_ins = sign_ins
        self._policy = policy
        self._now = now

    async def stream(self, request: Request) -> Response:
        """Begin a turn and stream its answer; a refusal is a status before the first byte."""
        data, body_hash = await read_json(request)
        principal = await self._callers.member(request)
        body, caller = parse_stream(data), CALLER.get()
        new = NewTurn(
            principal=principal,
            messages=body.turn_messages(),
            conversation_id=ConversationId(body.conversation_id) if body.conversation_id else None,
            agent=body.agent,
            locale=locale(body.client.locale, request, body.message),
            model=None,
            if_busy=self._turns.policy.if_busy,
            body_hash=body_hash,
            idempotency_key=idempotency_key(request),
            trace_id=caller.trace_id if caller else None,
            hints=self._hints(body),
            channel=body.channel,
        )
        followed = await self._turns.begin(new)
        return self._streams.sse(followed, await self._streams.answer(followed))

    async def confirm(self, request: Request) -> Response:
        """Answer `action.confirmation_required` and stream what comes of it."""
        data, _ = await read_json(request)
        principal = await self._callers.member(request, signed=True)
        body = parse(ConfirmAnswer, data)
        followed = await self.decide(
            principal,
            ConversationId(body.conversation_id),
            PauseId(body.confirmation_id),
            approved=body.decision == "approve",
            feedback=body.feedback,
        )
        return await self._goes_on(followed)

    async def decide(
        self,
        principal: Principal,
        conversation_id: ConversationId,
        confirmation_id: PauseId,
        *,
        approved: bool,
        feedback: str | None = None,
    ) -> Followed:
        """Take the owner's word on an action and go on.

        Raises:
            ConfirmationUnavailable: it is unknown, somebody else's, answered or expired.
            TurnInProgress: it waits on while another one is acted upon.
        """
        pauses = await self._turns.store.pauses(conversation_id)
        asked = answer_confirmation(principal.id, pauses, confirmation_id)
        decision = "approve" if approved else "reject"
        value: JsonValue = {
            "decision": decision,
            "feedback": feedback,
            "confirmation_id": asked.pause.pause_id,
        }
        try:
            return await self._go_on(principal, [asked], decision, value)
        except (Conflict, ResumeUnavailable):
            raise await self._refused(asked) from None

    async def _refused(self, asked: PauseRecord) -> AdmissionRefused:
        """Return why a confirmation was not taken: it waits on while another one is acted upon."""
        turn = await self._turns.store.turn(asked.turn_id)
        now = await self._turns.waiting(asked.conversation_id, kind="confirmation")
        still = asked.pause.pause_id in {each.pause.pause_id for each in now}
        acting = still and turn is not None and turn.phase == "running"
        return TurnInProgress() if acting else ConfirmationUnavailable()

    async def resume(self, request: Request, data: Mapping[str, object]) -> Response:
        """Go on after the caller's sign-in or with their answers, and stream what comes of it."""
        principal = await self._callers.member(request, signed=True)
        if "answers" in data:
            return await self._answered(principal, parse(MemberAnswer, data))
        body = parse(SignedInResume, data)
        pauses = await self._turns.store.pauses(ConversationId(body.conversation_id))
        waiting = answer_sign_in(principal.id, pauses, now=self._now())
        if not await self._sign_ins.is_signed_in(principal):
            raise ResumeUnavailable
        try:
            followed = await self._go_on(principal, waiting, "signed_in", _SIGNED_IN)
        except Conflict:
            raise ResumeUnavailable from None
        return await self._goes_on(followed)

    async def _answered(self, principal: Principal, body: MemberAnswer) -> Response:
        conversation_id = ConversationId(body.conversation_id)
        followed = await self._turns.resume_inputs(principal, conversation_id, body.answers)
        return await self._goes_on(followed)

    def _hints(self, body: StreamRequest) -> Hints:
        rerank = body.client.rerank if self._policy.honours_rerank else None
        return Hints(rerank=rerank, timezone=body.client.timezone)

    async def _go_on(
        self,
        principal: Principal,
        asked: Sequence[PauseRecord],
        decision: str,
        value: JsonValue,
    ) -> Followed:
        ids = [each.pause.pause_id for each in asked]
        answers = [
            Answer(pause_id=each, decision=decision, decided_by=principal.id) for each in ids
        ]
        values = dict.fromkeys(ids, value)
        return await self._turns.go_on(
            principal, asked[0], answers, values, confirmed=decision in ("approve", "reject")
        )

    async def _goes_on(self, followed: Followed) -> Response:
        wire = await self._streams.answer(followed)
        wire.reopen()
        return self._streams.sse(followed, wire)


def mount(app: FastAPI, answers: Answers) -> None:
    """Add the routes of the answer wire; its form of `/chat/resume` is mounted with the others."""
    about: dict[str, Any] = {"methods": ["POST"], "tags": ["answer wire"]}
    begins = takes(StreamRequest, parameters=[REPEATABLE]) | streams_only(TURN)
    add_direct(app, "/chat/stream", answers.stream, begins | about)
    confirms = takes(ConfirmAnswer) | streams_only(GOES_ON)
    add_direct(app, "/chat/confirm", answers.confirm, confirms | about)
