"""Turns of a server, frame by frame; a stream that breaks is taken up again where it broke."""

import json
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

import httpx
from httpx_sse import EventSource

from turnwire.cli.reattach import (
    WAITS,
    Frame,
    Patience,
    Position,
    Refused,
    ServerAway,
    conversation_path,
    nobody,
    turn_path,
)
from turnwire.client.connection import address_of, is_loopback
from turnwire.client.requests import Sent
from turnwire.errors import SetupError
from turnwire.ids import new_id

# Four heartbeats of a server with the default settings.
_TIMEOUT: Final = httpx.Timeout(10.0, read=60.0)
_PATIENT: Final = httpx.Timeout(10.0, read=None)
_TYPE: Final = {"content-type": "application/json"}


class StreamClient:
    """Speaks the execution wire for one key; close it in the end.

    Raises:
        SetupError: the address or the key can't be used.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        sleep: Callable[[float], None] = time.sleep,
        waits: Sequence[float] = WAITS,
    ) -> None:
        try:
            address = address_of(url)
        except ValueError as error:
            raise SetupError(f"--url: {error}") from None
        if not (key.isascii() and key.isprintable()):
            raise SetupError("--key: an API key is printable ASCII")
        self._patience = lambda: Patience(url, waits, sleep)
        self._url = url
        self._http = httpx.Client(
            base_url=address,
            headers={"authorization": f"Bearer {key}"},
            timeout=_TIMEOUT,
            # A proxy that the environment names can't reach this machine's own loopback.
            trust_env=not is_loopback(address.host),
        )

    def __enter__(self) -> "StreamClient":
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def begin(self, body: Mapping[str, object]) -> Generator[Frame]:
        """Begin a turn with the body of ``POST /chat``; yield its frames to the run's end.

        Raises:
            Refused: the turn did not start.
            ServerAway: nobody answers, or nobody did after the stream broke.
        """
        return self._frames(Position(_beginning(body, "/chat?tokens=true")))

    def resume(self, body: Mapping[str, object], *, paused: Frame) -> Generator[Frame]:
        """Answer a pause with the body of ``POST /chat/resume``; yield the frames that follow."""
        sent = Sent("POST", "/chat/resume?tokens=true", _json(body), _TYPE)
        return self._frames(Position(sent, paused))

    def answer(self, body: Mapping[str, object]) -> Mapping[str, Any]:
        """Begin a turn and return the whole ``ChatResponse`` where it ends or pauses."""
        sent = _beginning(body, "/chat")
        patience = self._patience()
        while True:
            try:
                return self._asked(sent, _PATIENT)
            except httpx.RequestError as broken:
                patience.wait(broken)

    def cancel(self, thread_id: str) -> bool:
        """Stop what the conversation does; return whether there was something to stop."""
        said = self._ask(Sent("POST", f"{conversation_path(thread_id)}/cancel"))
        return said.get("cancelled") is True

    def agent_of(self, thread_id: str) -> str:
        """Return the agent of a conversation."""
        return str(self._ask(Sent("GET", conversation_path(thread_id))).get("agent"))

    def may_review(self) -> bool:
        """Whether the key may decide reviews."""
        try:
            self._ask(Sent("GET", "/reviews"))
        except Refused as refused:
            if refused.answered != 403:
                raise
            return False
        return True

    def _frames(self, position: Position) -> Generator[Frame]:
        patience = self._patience()
        while True:
            broken: Exception | None = None
            try:
                with self._stream(position.request(), patience) as source:
                    for event in source.iter_sse():
                        if event.data:  # httpx-sse makes an empty event of a heartbeat
                            frame = Frame(event.id, event.event, _object(event.data))
                            position.hear(frame)
                            yield self._whole(frame)
                        if position.at_the_end:
                            return
            except httpx.RequestError as error:
                broken = error
            except Refused as error:
                if not position.outlives(error):
                    raise
                broken = error
            patience.wait(broken)

    @contextmanager
    def _stream(self, sent: Sent, patience: Patience) -> Generator[EventSource]:
        headers = {**sent.headers, "accept": "text/event-stream"}
        with self._http.stream(
            sent.method, sent.path, content=sent.content, headers=headers
        ) as response:
            if response.status_code != 200:
                response.read()
                raise _refusal(response)
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                raise ServerAway(f"{self._url} is not a turnwire server; check --url")
            try:
                yield EventSource(response)
            finally:
                if response.num_bytes_downloaded:  # a heartbeat counts, which is no event
                    patience.heard()

    def _whole(self, frame: Frame) -> Frame:
        """Return the frame with its content whole, where it was too long for a frame."""
        if "content_url" not in frame.body:
            return frame
        turn = self._ask(Sent("GET", turn_path(frame.body["thread_id"], frame.body["turn_id"])))
        return Frame(frame.id, frame.name, {**frame.body, "content": str(turn.get("content"))})

    def _ask(self, sent: Sent) -> Mapping[str, Any]:
        try:
            return self._asked(sent, _TIMEOUT)
        except httpx.RequestError as error:
            raise nobody(self._url) from error

    def _asked(self, sent: Sent, timeout: httpx.Timeout) -> Mapping[str, Any]:
        response = self._http.request(
            sent.method,
            sent.path,
            content=sent.content,
            headers={**sent.headers, "accept": "application/json"},
            timeout=timeout,
        )
        if response.status_code != 200:
            raise _refusal(response)
        return _object(response.content)


def _beginning(body: Mapping[str, object], path: str) -> Sent:
    # Sent again under the same key, the request joins the turn that it began.
    return Sent("POST", path, _json(body), {**_TYPE, "idempotency-key": new_id("req")})


def _json(body: Mapping[str, object]) -> bytes:
    return json.dumps(body).encode()


def _object(data: str | bytes) -> Mapping[str, Any]:
    try:
        body = json.loads(data)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise ServerAway("the server said something that is not of the execution wire")
    return cast("Mapping[str, Any]", body)


def _refusal(response: httpx.Response) -> Refused:
    """Return what the error envelope of the contract says, or as much as there is."""
    try:
        error = response.json()["error"]
        text, reason = str(error["message"]), str(error["code"])
    except (ValueError, KeyError, TypeError):
        text, reason = "This is not turnwire's answer; check --url.", "unknown"
    return Refused(response.status_code, reason, text)
