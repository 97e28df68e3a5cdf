"""``POST /chat`` and ``POST /chat/resume``: the execution wire, as JSON or as a stream."""

from collections.abc import Mapping
from typing import Any, TypeGuard, cast

from fastapi import FastAPI, Request
from starlette.responses import Response

from turnwire.errors import RequestInvalid
from turnwire.ids import ConversationId
from turnwire.probe import CALLER
from turnwire.server.answer import Answers
from turnwire.server.bodies import (
    ChatRequest,
    InputAnswer,
    MemberAnswer,
    ReviewAnswer,
    SignedInResume,
    idempotency_key,
    parse,
    parse_chat,
    read_json,
)
from turnwire.server.callers import Callers
from turnwire.server.direct import add_direct
from turnwire.server.negotiation import locale, wants_stream, wants_tokens
from turnwire.server.openapi import (
    FAILED,
    GOES_ON,
    REPEATABLE,
    TOKENS,
    TURN,
    answers_with,
    takes,
)
from turnwire.server.stream import Streams
from turnwire.server.turns import Decided, Followed, NewTurn, Turns
from turnwire.wires.execution import Execution
from turnwire.wires.execution_frames import ChatResponse


def mount(
    app: FastAPI, callers: Callers, turns: Turns, streams: Streams, *, answers: Answers
) -> None:
    """Add the routes of the execution wire; a resume in a member's form goes to ``answers``."""
    about: dict[str, Any] = {"methods": ["POST"], "tags": ["execution wire"]}

    async def answer(followed: Followed, request: Request) -> Response:
        if wants_stream(request):
            return streams.sse(followed, Execution(tokens=wants_tokens(request)))
        return await streams.json(followed, request)

    async def chat(request: Request) -> Response:
        """Begin a turn. Answers JSON, or `text/event-stream` where `Accept` asks for it."""
        data, body_hash = await read_json(request)
        principal = await callers.require(request, "chat")
        body, caller = parse_chat(data), CALLER.get()
        new = NewTurn(
            principal=principal,
            messages=body.turn_messages(),
            conversation_id=ConversationId(body.thread_id) if body.thread_id else None,
            agent=body.agent,
            locale=locale(body.locale, request, body.messages[-1].content),
            model=body.model,
            if_busy=body.if_busy or turns.policy.if_busy,
            body_hash=body_hash,
            idempotency_key=idempotency_key(request),
            trace_id=caller.trace_id if caller else None,
        )
        return await answer(await turns.begin(new), request)

    async def resume(request: Request) -> Response:
        """Go on with a paused turn: a reviewer's decision, answers to a graph's questions, or,
        on the answer wire, the caller's sign-in or answers."""
        data, _ = await read_json(request)
        if _is_members(data):
            return await answers.resume(request, data)
        caller = await callers.identify(request)  # nobody learns of a body's form without a key
        if _is_review(data):
            caller.require("review")
            decided = parse(ReviewAnswer, data)
            followed = await turns.resume_review(
                caller,
                ConversationId(decided.thread_id),
                Decided(
                    decision=decided.decision,
                    edited_text=decided.edited_text,
                    review_id=decided.review_id,
                ),
            )
        else:
            caller.require("chat")
            given = parse(InputAnswer, data)
            followed = await turns.resume_inputs(
                caller, ConversationId(given.thread_id), given.answers
            )
        return await answer(followed, request)

    begins = takes(ChatRequest, parameters=[TOKENS, REPEATABLE])
    begins |= answers_with(ChatResponse, (*TURN, *FAILED))
    goes_on = takes(ReviewAnswer, InputAnswer, SignedInResume, MemberAnswer, parameters=[TOKENS])
    goes_on |= answers_with(ChatResponse, (*GOES_ON, *FAILED))
    add_direct(app, "/chat", chat, begins | about)
    add_direct(app, "/chat/resume", resume, goes_on | about)


def _is_members(data: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(data, Mapping) and "conversation_id" in data


def _is_review(data: object) -> bool:
    if not isinstance(data, Mapping):
        raise RequestInvalid(("body", "has to be an object"))
    keys = cast("Mapping[str, Any]", data).keys()
    if "decision" in keys and "answers" in keys:
        raise RequestInvalid(("body", "takes `decision` or `answers`, not both"))
    if not keys & {"decision", "answers"}:
        raise RequestInvalid(("body", "needs `decision` (a reviewer) or `answers`"))
    return "decision" in keys
