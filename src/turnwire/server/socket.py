"""``WS /ws/{session_id}?token=…``: who may open a socket, and how each one ends."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

from fastapi import FastAPI
from starlette.responses import JSONResponse
from starlette.routing import WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from turnwire.admission.principal import OPERATOR, Principal
from turnwire.admission.ws_tokens import Token, Uses, key_id_of, person_of, read
from turnwire.clock import Now
from turnwire.errors import (
    Draining,
    Forbidden,
    InvalidApiKey,
    InvalidToken,
    NotFound,
    Overloaded,
    TurnwireError,
    where,
)
from turnwire.ids import new_id
from turnwire.server.access import own_page
from turnwire.server.connection import BROKEN, GOING_AWAY, Connection
from turnwire.server.key_watch import HeldKey, KeyWatch
from turnwire.server.problems import refusal, request_id
from turnwire.server.stream import Streams
from turnwire.server.studio_turns import Session, StudioTurns, conversation_of
from turnwire.storage.base import KeyStore

_LOG: Final = logging.getLogger("turnwire.server")

REFUSED: Final = 1008
"""The key that asked for the token is gone (RFC 6455, section 7.4.1: policy violation)."""
_LAST_SECONDS: Final = 1.0
"""How long a socket may take to be told why it closes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketPolicy:
    """Who may open a socket, and how many."""

    secret: Callable[[], bytes]
    """What tokens are signed with."""
    origins: Sequence[str] = ()
    """Origins beside the server's own whose pages may open a socket."""
    operator: bool = False
    """Whether the operator of a server on loopback may."""
    most: int = 10_000
    """Sockets that are open in this process at once."""
    patience: float = 10.0
    """How long a client may not read what waits for it."""


class Sockets:
    """Lets sockets in and serves each, so that what goes wrong with one reaches no other."""

    def __init__(  # noqa: PLR0913 - what a socket needs of the server
        self,
        studio: StudioTurns,
        streams: Streams,
        keys: KeyStore,
        *,
        uses: Uses,
        watch: KeyWatch,
        policy: SocketPolicy,
        now: Now,
    ) -> None:
        self._studio = studio
        self._streams = streams
        self._keys = keys
        self._uses = uses
        self._watch = watch
        self._policy = policy
        self._now = now
        self.open = 0
        """How many sockets are open."""

    async def serve(self, websocket: WebSocket) -> None:
        """Serve one client from its handshake to its end; raises nothing."""
        try:
            session = await self._admit(websocket)
        except TurnwireError as error:
            await self._deny(websocket, error)
            return
        except Exception as error:  # a bug of ours
            _broke(error)
            await self._deny(websocket, None)
            return
        with suppress(WebSocketDisconnect, RuntimeError, OSError):  # it left in mid-handshake
            await websocket.accept()
            code = await self._run(websocket, session)
            if code is not None:
                async with asyncio.timeout(_LAST_SECONDS):
                    await websocket.close(code)

    async def refuse(self, websocket: WebSocket) -> None:
        """Answer a handshake at an address where no socket is."""
        await self._deny(websocket, NotFound("There is no socket here; see `/ws/{session_id}`."))

    async def _run(self, websocket: WebSocket, session: Session) -> int | None:
        connection = Connection(
            websocket, session, self._studio, self._streams, patience=self._policy.patience
        )
        self.open += 1
        try:
            async with self._watch.holding(websocket.scope):
                return await connection.run()
        except InvalidApiKey:
            return REFUSED
        except asyncio.CancelledError:  # the server waits no longer; this is the task's end
            return GOING_AWAY
        except Exception as error:  # a bug of ours
            _broke(error)
            return BROKEN
        finally:
            self.open -= 1

    async def _admit(self, websocket: WebSocket) -> Session:
        """Return the session that a socket is opened for; each check in its order.

        Raises:
            InvalidToken: the token is malformed, expired, forged, or was used before.
            Forbidden: a page of another origin opens the socket, or the user may not chat.
            NotFound: the session's id has not the form of one.
            Draining, Overloaded: there is no room.
            StorageUnavailable: nobody can say who it is.
        """
        now = self._now()
        given = parse_qs(websocket.scope["state"].get(_QUERY, "")).get("token", [])
        token = read(given[0] if len(given) == 1 else "", self._policy.secret(), now=now)
        if not await self._uses.take(token.signature, expires=token.expires, now=now):
            raise InvalidToken
        if not self._is_known_origin(websocket):
            raise Forbidden("Pages of this origin may not open a socket; see `cors_origins`.")
        principal = await self._principal(websocket, token)
        principal.require("studio")
        session_id: str = websocket.path_params["session_id"]
        turns = self._studio.turns
        conversation_id = await conversation_of(turns.store, principal, session_id)
        if turns.supervisor.draining.is_set():
            raise Draining("This worker is going away; connect again.")
        if self.open >= self._policy.most:
            raise Overloaded("This worker has as many sockets as it may; try again shortly.")
        return Session(session_id, principal, conversation_id, websocket)

    def _is_known_origin(self, websocket: WebSocket) -> bool:
        origins = websocket.headers.getlist("origin")
        known = len(origins) == 1 and origins[0] in self._policy.origins
        return known or own_page(websocket)

    async def _principal(self, websocket: WebSocket, token: Token) -> Principal:
        key_id = key_id_of(token.username)
        if key_id is None:
            person = person_of(token.username)
            if person is OPERATOR and not self._policy.operator:
                raise InvalidToken
            return person
        record = await self._keys.key(key_id)
        if record is None or record.revoked_ms is not None:
            raise InvalidToken
        self._watch.let_in(websocket, HeldKey(key_id, record.secret_hash))
        return Principal(id=token.username, scopes=frozenset(record.scopes))

    async def _deny(self, websocket: WebSocket, error: TurnwireError | None) -> None:
        """Answer the handshake with a status, where the server can, or close with 1008."""
        self._studio.erred(error.code if error else "internal_error")
        response = refusal(websocket, error) if error else _internal(websocket)
        with suppress(WebSocketDisconnect, RuntimeError, OSError):
            if "websocket.http.response" in websocket.scope.get("extensions", {}):
                await websocket.send_denial_response(response)
            else:
                await websocket.close(REFUSED)


_QUERY: Final = "socket_query"


class Unlogged:
    """Takes the query of a socket's address, where the token is, out of the servers' sight.

    A server writes the address of each socket to its log.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "websocket":
            query: bytes = scope.get("query_string", b"")
            scope.setdefault("state", {})[_QUERY] = query.decode("latin-1")
            scope["query_string"] = b""
        await self._app(scope, receive, send)


def mount(app: FastAPI, sockets: Sockets) -> None:
    """Add the route of sockets."""
    app.router.routes += (
        WebSocketRoute("/ws/{session_id}", sockets.serve),
        WebSocketRoute("/{path:path}", sockets.refuse),
    )
    app.add_middleware(Unlogged)


def _internal(websocket: WebSocket) -> JSONResponse:
    body = {
        "code": "internal_error",
        "message": "Something went wrong here.",
        "retryable": False,
        "request_id": request_id(websocket),
    }
    return JSONResponse({"error": body}, status_code=500)


def _broke(error: Exception) -> None:
    extra = {"error_id": new_id("err"), "where": where(error)}
    _LOG.error("a socket broke: %s", type(error).__name__, extra=extra)
