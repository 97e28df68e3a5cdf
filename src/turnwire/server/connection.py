"""One open socket: reading goes on while turns are told, and nothing of it reaches another."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import Final

from starlette.websockets import WebSocket, WebSocketDisconnect

from turnwire.errors import (
    AdmissionRefused,
    Overloaded,
    TurnBroken,
    TurnwireError,
    where,
)
from turnwire.ids import Seq, TurnId, new_id
from turnwire.server.messages import ApprovalResponse, Cancel, Chat, Ping, Request, Resume, parse
from turnwire.server.outbox import Outbox, TooSlow
from turnwire.server.stream import Streams
from turnwire.server.studio_turns import Session, StudioTurns
from turnwire.server.together import send_together
from turnwire.server.turns import Followed
from turnwire.wires.base import WireMessage
from turnwire.wires.framings.websocket import texts
from turnwire.wires.studio import message
from turnwire.wires.studio_frames import Connected, ErrorBody, Pong, StudioFrame

_LOG: Final = logging.getLogger("turnwire.server")

GOING_AWAY: Final = 1012
"""The server restarts: connect again, with another token (IANA's registry of close codes)."""
TRY_LATER: Final = 1013
"""The client does not read what it asked for."""
BROKEN: Final = 1011
"""A bug of ours."""

_AT_ONCE: Final = 64
"""Messages of one socket that are worked on, or whose turns are told, at once."""


@dataclass(slots=True)
class _Told:
    """A turn that this socket is being told."""

    task: asyncio.Task[None]
    heard: Seq
    """The last event that waits to be written or was."""


class _Ending(Exception):
    """The socket is to close; none: the client has."""

    def __init__(self, code: int | None) -> None:
        self.code = code


class Connection:
    """A socket from its ``connected`` frame to its end."""

    def __init__(
        self,
        websocket: WebSocket,
        session: Session,
        studio: StudioTurns,
        streams: Streams,
        *,
        patience: float,
    ) -> None:
        self._websocket = websocket
        self._session = session
        self._studio = studio
        self._streams = streams
        self._patience = patience
        self._outbox = Outbox(patience=patience)
        self._told: dict[TurnId, _Told] = {}
        self._requests: set[asyncio.Task[None]] = set()
        self._tasks = asyncio.TaskGroup()

    async def run(self) -> int | None:
        """Serve the client; return the code to close with, or none where it has left."""
        codes: list[int | None] = []
        session = self._session
        connected = Connected(
            session_id=session.session_id,
            conversation_id=session.conversation_id,
            user=session.principal.id,
        )
        self._answer(connected)
        try:
            async with self._tasks as tasks:
                tasks.create_task(self._write())
                tasks.create_task(self._drain())
                await self._read()
        except* _Ending as endings:
            codes = [each.code for each in endings.exceptions if isinstance(each, _Ending)]
        return next((each for each in codes if each is not None), None)

    async def _read(self) -> None:
        while True:
            received = await self._websocket.receive()
            if received["type"] == "websocket.disconnect":
                raise _Ending(None)
            self._take(received.get("text"))

    def _take(self, text: str | None) -> None:
        """Take one message; never waits, so that pings are answered whatever else goes on."""
        try:
            asked = parse(text)
            if isinstance(asked, Ping):
                self._answer(Pong())
                return
            if len(self._requests) >= _AT_ONCE:
                raise Overloaded("This socket has too many messages under way; wait for an end.")
        except AdmissionRefused as error:
            self._refuse(error, None)
            return
        task = self._tasks.create_task(self._serve(asked))
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)

    async def _serve(self, asked: Request) -> None:
        try:
            await self._do(asked)
        except TurnwireError as error:
            self._refuse(error, asked)
        except TooSlow:
            raise _Ending(TRY_LATER) from None
        except Exception as error:  # a bug of ours must end neither this socket nor any other
            error_id = new_id("err")
            extra = {"error_id": error_id, "where": where(error)}
            _LOG.error("a message of a socket: %s", type(error).__name__, extra=extra)
            self._answer(_unexpected(error_id, asked))

    async def _do(self, asked: Request) -> None:
        studio, session = self._studio, self._session
        match asked:
            case Chat():
                followed = await studio.begin(session, asked)
                await self._tell(followed, client_message_id=asked.client_message_id)
            case ApprovalResponse():
                await self._tell(await studio.answer(session, asked))
            case Resume():
                followed = await studio.find(session, asked)
                await self._stop_telling(followed.turn_id)
                await self._tell(followed, retells=True)
            case Cancel():
                is_told = asked.turn_id in self._told  # then its ending is told there
                followed = await studio.cancel(session, asked)
                if not is_told:
                    await self._tell(followed, retells=True)

    async def _tell(
        self, followed: Followed, *, client_message_id: str | None = None, retells: bool = False
    ) -> None:
        """Tell a turn to the end of its run, after whatever is being told of it here already."""
        before = self._told.get(followed.turn_id)
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a turn is told in a task")
        told = self._told[followed.turn_id] = _Told(task, followed.after)
        try:
            if before is not None:
                await asyncio.wait([before.task])
                followed = replace(followed, after=max(followed.after, before.heard))
            await self._write_turn(followed, told, client_message_id, retells=retells)
        finally:
            if self._told.get(followed.turn_id) is told:
                del self._told[followed.turn_id]

    async def _write_turn(
        self, followed: Followed, told: _Told, client_message_id: str | None, *, retells: bool
    ) -> None:
        def encode(messages: Sequence[WireMessage]) -> Sequence[str]:
            told.heard = Seq(int(messages[-1].id.rpartition(".")[2] or told.heard))
            return texts(messages)

        wire = await self._streams.studio(
            followed, client_message_id=client_message_id, retells=retells
        )
        told.heard = followed.after
        async with aclosing(self._streams.written(followed, wire, encode, ())) as batches:
            async for each in batches:
                if each:
                    await self._outbox.put(each)

    async def _stop_telling(self, turn_id: TurnId) -> None:
        """The client begins anew: what it is told of the turn already ends here."""
        told = self._told.pop(turn_id, None)
        if told is not None:
            told.task.cancel()
            await asyncio.wait([told.task])

    async def _write(self) -> None:
        try:
            while True:
                await send_together(self._websocket, await self._outbox.next())
        except (WebSocketDisconnect, RuntimeError, OSError):  # it left between two messages
            raise _Ending(None) from None

    async def _drain(self) -> None:
        """Close when the worker goes away, after the turns that it tells have ended."""
        await self._studio.turns.supervisor.draining.wait()
        while self._requests:
            await asyncio.wait(self._requests)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                await self._outbox.written()
        raise _Ending(GOING_AWAY)

    def _refuse(self, error: TurnwireError, asked: Request | None) -> None:
        refused = isinstance(error, AdmissionRefused)
        self._studio.erred(error.code)
        self._answer(
            ErrorBody(
                code=error.code,
                message=error.public if isinstance(error, TurnBroken) else str(error),
                retryable=error.retryable,
                request=asked.type if asked else None,
                ref=asked.ref if asked else None,
                retry_after=error.retry_after if refused else None,
                details=tuple(map(dict, error.details)) or None if refused else None,
            )
        )

    def _answer(self, body: StudioFrame) -> None:
        try:
            self._outbox.answer(texts([message("", body)])[0])
        except TooSlow:
            raise _Ending(TRY_LATER) from None


def _unexpected(error_id: str, asked: Request) -> ErrorBody:
    return ErrorBody(
        code="internal_error",
        message="Something went wrong here; the operators find it under the error id.",
        retryable=False,
        error_id=error_id,
        request=asked.type,
        ref=asked.ref,
    )
