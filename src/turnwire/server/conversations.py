"""Conversations: history, re-attaching, stopping, erasing."""

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Final, cast

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from turnwire.admission.principal import Principal
from turnwire.errors import RequestInvalid
from turnwire.events import Envelope
from turnwire.ids import BEGINNING, ConversationId, Seq, TurnId, is_identifier
from turnwire.server.callers import Callers
from turnwire.server.negotiation import wants_tokens
from turnwire.server.openapi import CALLER, OWNED, TOKENS, parameter, refuses, streams_only
from turnwire.server.ownership import owned, owned_turn, readable_turn
from turnwire.server.paging import PAGED, Page
from turnwire.server.stream import Streams
from turnwire.server.turns import Followed, Turns
from turnwire.storage.base import ConversationRecord, EventLog, TurnRecord
from turnwire.wires.base import iso

_AFTER: Final = parameter("after", "query", "The number of an event.", is_a="integer")
_LAST: Final = parameter("Last-Event-ID", "header", "The id of the last event that was heard.")
_WIRE: Final = parameter("wire", "query", "`execution` or `answer`.")
_NUMBER: Final = re.compile(r"[0-9]{1,12}", re.ASCII)


def router(callers: Callers, turns: Turns, streams: Streams) -> APIRouter:
    """Return the routes of conversations and their turns."""
    routes = APIRouter(prefix="/conversations", tags=["conversations"])

    @routes.get(
        "",
        openapi_extra={"parameters": PAGED},
        responses=refuses(*CALLER, RequestInvalid),
    )
    async def conversations(request: Request) -> Response:
        """The caller's conversations, newest first; `next` is there where there are more."""
        principal = await callers.require(request, "chat")
        records, following = await Page.asked(request).of(turns.store, principal)
        return JSONResponse({"conversations": list(map(_conversation, records)), **following})

    @routes.get("/{conversation_id}", responses=refuses(*OWNED))
    async def conversation(request: Request, conversation_id: str) -> Response:
        """One conversation with its turns, oldest first."""
        principal = await callers.require(request, "chat")
        record = await owned(turns.store, principal, _conversation_id(conversation_id))
        found = await turns.store.turns(record.conversation_id)
        return JSONResponse({**_conversation(record), "turns": [_turn(each) for each in found]})

    @routes.delete("/{conversation_id}", status_code=204, responses=refuses(*OWNED))
    async def erase(request: Request, conversation_id: str) -> Response:
        """Delete a conversation: turns, events, pauses and checkpoints."""
        principal = await callers.require(request, "chat")
        await turns.erase(principal, _conversation_id(conversation_id))
        return Response(status_code=204)

    @routes.post("/{conversation_id}/cancel", responses=refuses(*OWNED))
    async def cancel(request: Request, conversation_id: str) -> Response:
        """Stop the turn that runs or waits; says truthfully whether there was one."""
        principal = await callers.require(request, "chat")
        stopped = await turns.cancel(principal, _conversation_id(conversation_id))
        if stopped is None:
            return JSONResponse({"cancelled": False})
        was = stopped.finish_reason == "cancelled"
        return JSONResponse({"cancelled": was, "turn": _turn(stopped)})

    @routes.get("/{conversation_id}/turns/{turn_id}", responses=refuses(*OWNED))
    async def turn(request: Request, conversation_id: str, turn_id: str) -> Response:
        """One turn, with its whole answer and, when it has paused or ended, its receipt."""
        principal = await callers.require(request, "chat")
        found = await owned_turn(
            turns.store, principal, _conversation_id(conversation_id), TurnId(turn_id)
        )
        receipt = await turns.store.receipt(found.turn_id)
        told = receipt.model_dump(mode="json") if receipt else None
        return JSONResponse({**_turn(found), "receipt": told})

    @routes.get(
        "/{conversation_id}/turns/{turn_id}/events",
        openapi_extra={"parameters": [TOKENS, _AFTER, _LAST, _WIRE]},
        **streams_only((*OWNED, RequestInvalid)),
    )
    async def events(request: Request, conversation_id: str, turn_id: str) -> Response:
        """Re-attach to a turn: what came after `Last-Event-ID` or `?after=`, then live."""
        principal = await _reader(callers, request)
        found = await readable_turn(
            turns.store, principal, _conversation_id(conversation_id), TurnId(turn_id)
        )
        after = await _position(request, found, turns.store)
        followed = Followed(turn_id=found.turn_id, after=after, run_id=None)
        name = request.query_params.get("wire", "execution")
        wire = await streams.attached(name, followed, tokens=wants_tokens(request))
        return streams.sse(followed, wire)

    return routes


async def _reader(callers: Callers, request: Request) -> Principal:
    """Return a caller who may follow turns: their own, or those put to reviewers."""
    principal = await callers.identify(request)
    if not principal.may("review"):
        principal.require("chat")
    return principal


async def _position(request: Request, turn: TurnRecord, log: EventLog) -> Seq:
    """Return after which event the client wants to hear.

    Raises:
        RequestInvalid: the id is malformed, of another turn, or from the future.
    """
    header = request.headers.get("last-event-id")
    if header is not None:
        of_turn, _, number = header.rpartition(".")
        if of_turn != turn.turn_id or not _NUMBER.fullmatch(number):
            raise RequestInvalid(("Last-Event-ID", "is not the id of an event of this turn"))
        return await known_position(int(number), turn, "Last-Event-ID", log)
    number = request.query_params.get("after", "0")
    if not _NUMBER.fullmatch(number):
        raise RequestInvalid(("after", "has to be the number of an event, from 0"))
    return await known_position(int(number), turn, "after", log)


async def known_position(number: int, turn: TurnRecord, name: str, log: EventLog) -> Seq:
    """Return the position after which a client wants to hear a turn.

    Raises:
        RequestInvalid: it is after the turn's last event; the text calls it ``name``.
    """
    if turn.error_code == "stream_interrupted" and number >= turn.last_seq:
        # A crash took events that this client saw; what it needs to hear is the ending.
        return Seq(turn.last_seq - 1)
    if turn.phase == "running":
        known = await _happened(log, turn.turn_id, number)
    else:
        known = number <= turn.last_seq
    if not known:
        raise RequestInvalid((name, "is after the turn's last event"))
    return Seq(number)


async def _happened(log: EventLog, turn_id: TurnId, number: int) -> bool:
    """Whether a running turn has reached the event, which need not be in the store yet."""
    if number == BEGINNING:
        return True
    ahead = log.follow(turn_id, after=Seq(number - 1), patience=0)
    async with aclosing(cast("AsyncGenerator[Sequence[Envelope], None]", ahead)) as batches:
        async for batch in batches:
            return bool(batch)
    return False


def _conversation_id(text: str) -> ConversationId:
    # A name of another form belongs to nobody, so it is answered as any unknown one.
    return ConversationId(text if is_identifier(text) else "")


def _conversation(record: ConversationRecord) -> dict[str, Any]:
    return {
        "conversation_id": record.conversation_id,
        "agent": record.agent,
        "created_at": iso(record.created_ms),
        "updated_at": iso(record.updated_ms),
        "turn_count": record.turns,
    }


def _turn(record: TurnRecord) -> dict[str, Any]:
    return {
        "turn_id": record.turn_id,
        "trace_id": record.trace_id,
        "status": record.phase,
        "question": "\n\n".join(each.content for each in record.messages if each.role == "user"),
        "content": record.content,
        "citations": [each.model_dump(mode="json") for each in record.citations],
        "finish_reason": record.finish_reason,
        "error_code": record.error_code,
        "partial": record.phase == "failed" or record.finish_reason == "cancelled",
        "locale": record.locale,
        "last_seq": record.last_seq,
        "created_at": iso(record.created_ms),
        "updated_at": iso(record.updated_ms),
    }
