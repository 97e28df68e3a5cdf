"""The client for code that blocks."""

import time
from collections.abc import Generator, Iterator, Mapping
from types import TracebackType
from typing import Self

import httpx
from httpx_sse import EventSource

from turnwire.client import requests
from turnwire.client.base import BaseClient
from turnwire.client.connection import (
    Cancelled,
    CodeAsked,
    Opened,
    Options,
    Session,
    Signed,
    is_stream,
    read,
    refused,
    stream_headers,
)
from turnwire.client.endings import Ending
from turnwire.client.errors import BrokenStream, WrongUsage
from turnwire.client.events import Event
from turnwire.client.requests import Sent
from turnwire.client.turn import BaseTurn


class Turn(BaseTurn):
    """One turn: iterate it for its events; nothing is sent before.

    Iterating goes on where it was left. Leave a turn early in a ``with`` block, or call
    :meth:`close`.
    """

    def __init__(self, http: httpx.Client, opened: Opened) -> None:
        super().__init__(opened.listening, opened.headers, idempotency_key=opened.key)
        self._http = http
        self._events: Generator[Event] | None = None

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        """Return the next event.

        Raises:
            Refused: the server said no.
            BrokenStream: the stream broke, and no try to go on reached its end.
        """
        if self._events is None:
            self._events = self._hear()
        try:
            return next(self._events)
        except BaseException:  # whatever ended it, iterating begins another
            self._events = None
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def wait(self) -> Ending:
        """Hear the turn until nothing more comes; return how it stands. Raises as iterating."""
        for _ in self:
            pass
        if self.ending is None:
            raise WrongUsage("The turn was left before its end.")
        return self.ending

    def cancel(self) -> bool:
        """Stop the turn; return whether there was something to stop. Needs a member's session."""
        if not self.conversation_id:
            return False
        sent = requests.cancel(self.conversation_id)
        return read(Cancelled, _send(self._http, sent, self._headers)).cancelled

    def close(self) -> None:
        """Stop listening. The server ends a turn that nobody listens to after a while."""
        if self._events is not None:
            self._events.close()
            self._events = None

    def _hear(self) -> Generator[Event]:
        listening = self._listening
        while not listening.over:
            time.sleep(listening.wait)
            try:
                yield from self._stream(listening.request())
            except httpx.RequestError as error:
                yield from listening.lose(error)

    def _stream(self, sent: Sent) -> Generator[Event]:
        listening = self._listening
        headers = stream_headers(sent, self._headers)
        with self._http.stream(
            sent.method, sent.path, content=sent.content, headers=headers
        ) as response:
            if not is_stream(response):
                response.read()
                yield from listening.refuse(refused(response))
                return
            for frame in EventSource(response).iter_sse():
                yield from listening.hear(frame.id, frame.event, frame.data)
                if listening.at_the_end:
                    return
        yield from listening.lose(None)


class Client(BaseClient[Turn]):
    """Speaks for one application, and for one of its members where it has a session."""

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str,
        session: str | None = None,
        options: Options | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Take a server's address, a key with the scope ``chat``, and a member's session.

        Raises:
            WrongUsage: the address, the key or the session can't be used.
        """
        super().__init__(base_url, api_key=api_key, session=session, options=options)
        self._http = httpx.Client(transport=transport, **self._connection.http)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def new_session(self) -> Session:
        """Mint a session and speak for its member from now on.

        Raises:
            Refused: the server said no.
            BrokenStream: nobody answers.
        """
        session = read(Session, _send(self._http, requests.new_session(), {}))
        self._connection.session = session.session_id
        return session

    def login(self, mobile: str) -> CodeAsked:
        """Have a one-time code sent to a member's mobile, given with its country code.

        The answer is the same whether anybody has the number or not. This and what follows needs a
        session; all raise as :meth:`new_session`.
        """
        return read(CodeAsked, self._as_member(requests.login(mobile)))

    def verify(self, mobile: str, code: str) -> Signed:
        """Sign the session's member in with the code that was sent.

        Raises:
            Refused: with the code ``invalid_code`` it was not that code; ask for another.
        """
        return read(Signed, self._as_member(requests.verify(mobile, code)))

    def logout(self) -> Signed:
        """Sign the member out; the session stays."""
        return read(Signed, self._as_member(requests.logout()))

    def signed(self) -> Signed:
        """Return whether the session's member is signed in, and until when."""
        return read(Signed, self._as_member(requests.signed()))

    def _as_member(self, sent: Sent) -> httpx.Response:
        return _send(self._http, sent, self._connection.headers())

    def _turn(self, opened: Opened) -> Turn:
        return Turn(self._http, opened)


def _send(http: httpx.Client, sent: Sent, caller: Mapping[str, str]) -> httpx.Response:
    headers = {**caller, **sent.headers, "accept": "application/json"}
    try:
        return http.request(sent.method, sent.path, content=sent.content, headers=headers)
    except httpx.RequestError as error:
        raise BrokenStream(f"The server does not answer ({type(error).__name__}).") from error
