"""Write a turn to a client: live and replay are the same code."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeVar, cast

from fastapi import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from turnwire.engine.supervisor import Supervisor
from turnwire.errors import TURN_FAILURES, InvalidApiKey, StreamInterrupted, where
from turnwire.events import RUN_ENDINGS, Envelope, TurnFailed
from turnwire.ids import new_id
from turnwire.server.key_watch import KeyWatch
from turnwire.server.problems import CLIENT_HAS_LEFT, failure, request_id
from turnwire.server.turns import Followed
from turnwire.server.wires import answer, attached, studio
from turnwire.storage.base import EventLog, Patience
from turnwire.wires.answer import Answer
from turnwire.wires.base import Wire, WireMessage
from turnwire.wires.execution import Execution
from turnwire.wires.framings.sse import CONTENT_TYPE, HEADERS, KEEP_ALIVE, frames
from turnwire.wires.studio import Studio

T = TypeVar("T")

_LOG: Final = logging.getLogger("turnwire.server")

_BURST: Final = 16
"""Writes of a stream that leave at once; later ones wait for each other."""
_LOOK_SECONDS: Final = 1.0
"""How often a request for JSON looks whether its client is still there."""
_LAST_SECONDS: Final = 1.0
"""How long a stream that is ended early may take to close in good order."""

_START: Final = "http.response.start"
_BODY: Final = "http.response.body"
_END: Final[Message] = {"type": _BODY, "body": b"", "more_body": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPolicy:
    """How a stream is written."""

    heartbeat_seconds: float = 15.0
    """How long a stream says nothing before a comment keeps it open."""
    pace_seconds: float = 0.005
    """Frames that come faster than this leave together in one write."""
    documents: str | None = None
    """The address below which members read documents; see :class:`turnwire.wires.answer.Answer`."""


class Streams:
    """Answers requests with turns."""

    def __init__(
        self, log: EventLog, supervisor: Supervisor, policy: StreamPolicy, *, watch: KeyWatch
    ) -> None:
        self._log = log
        self._supervisor = supervisor
        self._policy = policy
        self._watch = watch
        self.open = 0
        """How many event streams are being written."""

    async def answer(self, followed: Followed) -> Answer:
        """Return the answer wire for a turn that may have said something before."""
        return await answer(followed, self._log, documents=self._policy.documents)

    async def attached(self, name: str, followed: Followed, *, tokens: bool) -> Wire:
        """Return the wire called ``name`` for a client that attaches to a turn.

        Raises:
            RequestInvalid: there is no such wire.
        """
        documents = self._policy.documents
        return await attached(name, followed, self._log, tokens=tokens, documents=documents)

    async def studio(
        self, followed: Followed, *, client_message_id: str | None, retells: bool
    ) -> Studio:
        """Return the studio wire for a turn that may have said something before."""
        return await studio(
            followed, self._log, client_message_id=client_message_id, retells=retells
        )

    def sse(self, followed: Followed, wire: Wire) -> Response:
        """Return the turn as server-sent events; the head leaves before any model is called."""
        return _Stream(self.written(followed, wire, frames, KEEP_ALIVE), self._watch)

    async def json(self, followed: Followed, request: Request) -> Response:
        """Return the turn's answer in one piece, or its failure as a status."""
        wire, time = Execution(), asyncio.get_running_loop().time
        last: Envelope | None = None
        looked = time()
        with self._supervisor.watching(followed.turn_id):
            async with (
                self._watch.holding(request.scope),
                aclosing(self._follow(followed, _LOOK_SECONDS)) as batches,
            ):
                async for batch in batches:
                    if not batch or time() - looked > _LOOK_SECONDS:
                        if await request.is_disconnected():
                            return Response(status_code=CLIENT_HAS_LEFT)
                        looked = time()
                    for last in batch:
                        wire.hear(last)
        if last is None or not isinstance(last.event, RUN_ENDINGS):
            raise StreamInterrupted("the turn's log is gone")
        if isinstance(last.event, TurnFailed):
            status = TURN_FAILURES.get(last.event.code, StreamInterrupted).status
            return failure(
                last.event,
                status,
                request_id=request_id(request),
                thread_id=wire.thread_id,
                turn_id=last.turn_id,
            )
        response = wire.response(last).model_dump(mode="json", exclude_none=True)
        return JSONResponse(response)

    async def written(
        self,
        followed: Followed,
        wire: Wire,
        encode: Callable[[Sequence[WireMessage]], T],
        silence: T,
    ) -> AsyncGenerator[T, None]:
        """Yield the turn with its terminator, whatever becomes of the log or of the wire.

        What is ready together is encoded together; where a heartbeat passes without a message,
        ``silence`` is yielded.
        """
        error_id = new_id("err")
        self.open += 1
        try:
            with self._supervisor.watching(followed.turn_id):
                async with aclosing(self._writes(followed, wire, encode, silence)) as writes:
                    async for each in writes:
                        yield each
        except Exception as error:  # the head is out: all that is left is to say so
            extra = {"error_id": error_id, "where": where(error)}
            _LOG.error("a stream broke: %s", type(error).__name__, extra=extra)
        finally:
            self.open -= 1
        closing = list(wire.end(error_id=error_id))
        if closing:
            yield encode(closing)

    async def _writes(
        self,
        followed: Followed,
        wire: Wire,
        encode: Callable[[Sequence[WireMessage]], T],
        silence: T,
    ) -> AsyncGenerator[T, None]:
        time = asyncio.get_running_loop().time
        heartbeat, pace = self._policy.heartbeat_seconds, self._policy.pace_seconds
        writes, written = 0, time()

        # The race is between the next frame and the timer: an event that this wire does not say
        # does not wind it up again.
        def patience() -> float:
            return written + heartbeat - time()

        async with aclosing(self._follow(followed, patience)) as batches:
            async for batch in batches:
                messages = [message for each in batch for message in wire.say(each)]
                if messages:
                    yield encode(messages)
                elif not batch:
                    yield silence
                else:
                    continue
                writes += 1
                if writes > _BURST:
                    spare = written + pace - time()
                    if spare > 0:
                        await asyncio.sleep(spare)
                written = time()

    def _follow(
        self, followed: Followed, patience: Patience
    ) -> AsyncGenerator[Sequence[Envelope], None]:
        """Return the turn's envelopes, of which the supervisor is to know that somebody listens."""
        log = self._log.follow(
            followed.turn_id, after=followed.after, patience=patience, run_id=followed.run_id
        )
        return cast("AsyncGenerator[Sequence[Envelope], None]", log)


class _Stream(Response):
    """An event stream, for as long as its key opens and its client is there.

    Without its key it ends without a terminator, for the turn has not failed; whoever attaches
    again with that key is refused. Starlette's own streaming response holds two tasks and a group
    for what takes one task here.
    """

    def __init__(self, content: AsyncGenerator[bytes, None], watch: KeyWatch) -> None:
        self.status_code = HTTPStatus.OK
        self.media_type = CONTENT_TYPE
        self.background = None
        self.init_headers(HEADERS)
        self._content = content
        self._watch = watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write the stream."""
        begun = False
        head = {"type": _START, "status": self.status_code, "headers": self.raw_headers}
        try:
            async with (
                self._watch.holding(scope),
                _while_there(receive),
                aclosing(self._content) as content,
            ):
                begun = True
                await send(head)
                async for each in content:
                    await send({"type": _BODY, "body": each, "more_body": True})
                await send(_END)
        except InvalidApiKey:
            if not begun:
                raise
            with suppress(TimeoutError):  # a client that does not read is cut off
                async with asyncio.timeout(_LAST_SECONDS):
                    await send(_END)


@asynccontextmanager
async def _while_there(receive: Receive) -> AsyncGenerator[None]:
    """Go on inside until the client leaves; what runs inside is then cancelled, without an error.

    A server of ASGI's HTTP 2.3, as uvicorn is, drops what is sent to a client that has left: only
    who asks learns of it.
    """
    loop = asyncio.get_running_loop()
    leaving = asyncio.timeout(None)

    async def listen() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        leaving.reschedule(loop.time())

    listener = loop.create_task(listen())
    try:
        async with leaving:
            yield
    except TimeoutError:
        if not leaving.expired():
            raise
    finally:
        listener.cancel()
        await asyncio.wait([listener])
