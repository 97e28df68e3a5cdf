"""The client for code that blocks."""

import time
from collections.abc import Generator, Iterator, Mapping
from types import TracebackType
from typing import Self

import httpx
from httpx_sse import EventSource

from turnwire.client import requests
from turnwire.client.connection import (
    Cancelled,
    Connection,
    Opened,
    Options,
    Session,
    is_stream,
    read,
    refused,
    stream_headers,
)
from turnwire.client.endings import Ending
from turnwire.client.errors import BrokenStream, WrongUsage
from turnwire.client.events import Event
from turnwire.client.requests import Hints, Sent
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
        except StopIteration:
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


class Client:
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
        self._connection = Connection(
            base_url, api_key=api_key, session=session, options=options or Options()
        )
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

    @property
    def session(self) -> str | None:
        """The member's session; a secret."""
        return self._connection.session

    def new_session(self) -> Session:
        """Mint a session and speak for its member from now on.

        Raises:
            Refused: the server said no.
            BrokenStream: nobody answers.
        """
        session = read(Session, _send(self._http, requests.new_session(), {}))
        self._connection.session = session.session_id
        return session

    def ask(
        self,
        message: str,
        *,
        conversation_id: str | None = None,
        agent: str | None = None,
        hints: Hints | None = None,
        idempotency_key: str | None = None,
    ) -> Turn:
        """Return a turn that begins with ``message`` when it is iterated.

        Args:
            message: the member's words.
            conversation_id: the conversation that goes on; a new one without it.
            agent: which agent answers; the conversation's, or the server's first, without it.
            hints: what the client would like of this turn.
            idempotency_key: of your own, where the question may be asked again after a crash.

        Raises:
            WrongUsage: the key can't be used.
        """
        opened = self._connection.ask(
            message,
            conversation_id=conversation_id,
            agent=agent,
            hints=hints,
            idempotency_key=idempotency_key,
        )
        return Turn(self._http, opened)

    def attach(self, conversation_id: str, message_id: str) -> Turn:
        """Return a turn that was begun before, told from its beginning and then live."""
        return Turn(self._http, self._connection.attach(conversation_id, message_id))


def _send(http: httpx.Client, sent: Sent, caller: Mapping[str, str]) -> httpx.Response:
    headers = {**caller, **sent.headers, "accept": "application/json"}
    try:
        return http.request(sent.method, sent.path, content=sent.content, headers=headers)
    except httpx.RequestError as error:
        raise BrokenStream(f"The server does not answer ({type(error).__name__}).") from error
