"""Staff users and their sockets, spoken with the `websockets` library."""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from typing import Any, Final, Self, cast

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.server.running import PATIENCE, Server

ENDINGS: Final = ("done", "approval_request", "error")

Said = dict[str, Any]
_NUMBERS = count()


class Socket:
    """An open socket; each frame is checked for what all of them have in common."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.connected: Said = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def send(self, **message: object) -> None:
        self.connection.send(json.dumps(message))

    def next(self, within: float = PATIENCE) -> Said:
        """Return the next frame."""
        text = self.connection.recv(timeout=within)
        assert isinstance(text, str)
        assert len(text.encode()) < 64 * 1024
        said = json.loads(text)
        assert next(iter(said)) == "type"
        return said

    def until(self, *types: str, within: float = PATIENCE) -> list[Said]:
        """Return all frames up to the first of one of these types."""
        said: list[Said] = []
        deadline = time.monotonic() + within
        while not said or said[-1]["type"] not in types:
            assert time.monotonic() < deadline, said[-3:]
            said.append(self.next(within))
        return said

    def ask(self, message: str, **more: object) -> list[Said]:
        """Send a message; return all frames of its turn, to the end of the run."""
        self.send(type="chat", message=message, **more)
        return self.until(*ENDINGS)

    def closed(self, within: float = PATIENCE) -> int:
        """Read to the end; return the code that the socket was closed with."""
        deadline = time.monotonic() + within
        with suppress(ConnectionClosed):
            while time.monotonic() < deadline:
                self.connection.recv(timeout=within)
        received = self.connection.protocol.close_rcvd
        assert received is not None, self.connection.protocol.close_exc
        return received.code

    def drop(self) -> None:
        """Leave without a word, as a device does that lost its network."""
        self.connection.socket.close()


class Staff:
    """One staff user, for whom an application asks for tokens."""

    def __init__(self, server: Server, user: str | None = "ana", *scopes: str) -> None:
        self.server = server
        self.user = user
        self.key = server.key(*(scopes or ("studio",)))

    @classmethod
    def somebody(cls, server: Server) -> Self:
        """Return a user of their own, whose messages count for nobody else."""
        return cls(server, f"user-{next(_NUMBERS)}")

    @property
    def headers(self) -> dict[str, str]:
        named = {} if self.user is None else {"X-Turnwire-User": self.user}
        return {"Authorization": f"Bearer {self.key}", **named}

    def token(self) -> str:
        url = f"{self.server.url}/studio/ws-token"
        return httpx.get(url, headers=self.headers).raise_for_status().json()["token"]

    def http(self, method: str, path: str, **more: Any) -> httpx.Response:  # noqa: ANN401
        return httpx.request(method, f"{self.server.url}{path}", headers=self.headers, **more)

    def open(self, session: str = "s1", **more: Any) -> Socket:  # noqa: ANN401 - websockets' own
        """Open a socket and take its first frame."""
        opened = Socket(opened_with(self.server, session, self.token(), **more))
        opened.connected = opened.next()
        assert opened.connected["type"] == "connected"
        return opened


def opened_with(
    server: Server,
    session: str,
    token: str | None,
    *,
    headers: Mapping[str, str] | None = None,
    **more: Any,  # noqa: ANN401 - websockets' own
) -> ClientConnection:
    host, port = server.address
    query = "" if token is None else f"?token={token}"
    url = f"ws://{host}:{port}/ws/{session}{query}"
    options: dict[str, Any] = {
        "compression": None,
        "open_timeout": PATIENCE,
        "ping_interval": None,
        "legacy": True,
    }
    made = cast("Callable[..., ClientConnection]", connect)
    return made(url, additional_headers=headers, **options, **more)


def refused(open_: Callable[[], object]) -> tuple[int, Said]:
    """Return the status and the error with which an upgrade is refused."""
    with pytest.raises(InvalidStatus) as raised:
        open_()
    answer = raised.value.response
    error = json.loads(answer.body)["error"]
    assert answer.headers["x-request-id"] == error["request_id"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    return answer.status_code, error


def words(said: list[Said]) -> str:
    """Return the words that a client shows after these frames."""
    shown = ""
    for each in said:
        if each["type"] == "token":
            shown += each["content"]
        elif each["type"] == "text_replaced":
            shown = each["content"]
    return shown
