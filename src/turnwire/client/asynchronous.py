"""The client for asyncio; see :mod:`turnwire.client.sync`."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
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


class AsyncTurn(BaseTurn):
    """One turn: iterate it for its events; nothing is sent before.

    Iterating goes on where it was left. Leave a turn early in an ``async with`` block, or call
    :meth:`close`.
    """

    def __init__(self, http: httpx.AsyncClient, opened: Opened) -> None:
        super().__init__(opened.listening, opened.headers, idempotency_key=opened.key)
        self._http = http
        self._events: AsyncGenerator[Event, None] | None = None

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        """Return the next event.

        Raises:
            Refused: the server said no.
            BrokenStream: the stream broke, and no try to go on reached its end.
        """
        if self._events is None:
            self._events = self._hear()
        try:
            return await anext(self._events)
        except BaseException:  # whatever ended it, iterating begins another
            self._events = None
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def wait(self) -> Ending:
        """Hear the turn until nothing more comes; return how it stands. Raises as iterating."""
        async for _ in self:
            pass
        if self.ending is None:
            raise WrongUsage("The turn was left before its end.")
        return self.ending

    async def cancel(self) -> bool:
        """Stop the turn; return whether there was something to stop. Needs a member's session."""
        if not self.conversation_id:
            return False
        sent = requests.cancel(self.conversation_id)
        return read(Cancelled, await _send(self._http, sent, self._headers)).cancelled

    async def close(self) -> None:
        """Stop listening. The server ends a turn that nobody listens to after a while."""
        if self._events is not None:
            await self._events.aclose()
            self._events = None

    async def _hear(self) -> AsyncGenerator[Event, None]:
        listening = self._listening
        while not listening.over:
            await asyncio.sleep(listening.wait)
            try:
                async with aclosing(self._stream(listening.request())) as events:
                    async for each in events:
                        yield each
            except httpx.RequestError as error:
                for each in listening.lose(error):
                    yield each

    async def _stream(self, sent: Sent) -> AsyncGenerator[Event, None]:
        listening = self._listening
        headers = stream_headers(sent, self._headers)
        async with self._http.stream(
            sent.method, sent.path, content=sent.content, headers=headers
        ) as response:
            if not is_stream(response):
                await response.aread()
                for each in listening.refuse(refused(response)):
                    yield each
                return
            async with aclosing(EventSource(response).aiter_sse()) as frames:
                async for frame in frames:
                    for each in listening.hear(frame.id, frame.event, frame.data):
                        yield each
                    if listening.at_the_end:
                        return
        for each in listening.lose(None):
            yield each


class AsyncClient(BaseClient[AsyncTurn]):
    """Speaks for one application, and for one of its members where it has a session."""

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str,
        session: str | None = None,
        options: Options | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Take a server's address, a key with the scope ``chat``, and a member's session.

        Raises:
            WrongUsage: the address, the key or the session can't be used.
        """
        super().__init__(base_url, api_key=api_key, session=session, options=options)
        self._http = httpx.AsyncClient(transport=transport, **self._connection.http)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def new_session(self) -> Session:
        """Mint a session and speak for its member from now on.

        Raises:
            Refused: the server said no.
            BrokenStream: nobody answers.
        """
        session = read(Session, await _send(self._http, requests.new_session(), {}))
        self._connection.session = session.session_id
        return session

    async def login(self, mobile: str) -> CodeAsked:
        """Have a one-time code sent to a member's mobile, given with its country code.

        The answer is the same whether anybody has the number or not. This and what follows needs a
        session; all raise as :meth:`new_session`.
        """
        return read(CodeAsked, await self._as_member(requests.login(mobile)))

    async def verify(self, mobile: str, code: str) -> Signed:
        """Sign the session's member in with the code that was sent.

        Raises:
            Refused: with the code ``invalid_code`` it was not that code; ask for another.
        """
        return read(Signed, await self._as_member(requests.verify(mobile, code)))

    async def logout(self) -> Signed:
        """Sign the member out; the session stays."""
        return read(Signed, await self._as_member(requests.logout()))

    async def signed(self) -> Signed:
        """Return whether the session's member is signed in, and until when."""
        return read(Signed, await self._as_member(requests.signed()))

    async def _as_member(self, sent: Sent) -> httpx.Response:
        return await _send(self._http, sent, self._connection.headers())

    def _turn(self, opened: Opened) -> AsyncTurn:
        return AsyncTurn(self._http, opened)


async def _send(http: httpx.AsyncClient, sent: Sent, caller: Mapping[str, str]) -> httpx.Response:
    headers = {**caller, **sent.headers, "accept": "application/json"}
    try:
        return await http.request(sent.method, sent.path, content=sent.content, headers=headers)
    except httpx.RequestError as error:
        raise BrokenStream(f"The server does not answer ({type(error).__name__}).") from error
