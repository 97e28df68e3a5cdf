"""Both clients under one face, so that each claim is tested of both."""

import asyncio
from collections.abc import Awaitable
from contextlib import ExitStack
from inspect import isawaitable
from typing import Any, Final, Self, TypeVar, cast

from turnwire.client import AsyncClient, AsyncTurn, Client, Event, Options, Retry, Turn

T = TypeVar("T")

SOON: Final = Options(retry=Retry(tries=8, first=0.001, longest=0.01), silence_seconds=10.0)


class Driver:
    """Drives one kind of client: ``sync`` or ``async``."""

    def __init__(self, kind: str) -> None:
        self._is_async = kind == "async"
        self._closing = ExitStack()
        self._runner = self._closing.enter_context(asyncio.Runner())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def client(self, url: str, **given: Any) -> Client | AsyncClient:  # noqa: ANN401
        kind = AsyncClient if self._is_async else Client
        given.setdefault("options", SOON)
        client = kind(url, **given)
        self._closing.callback(lambda: self.done(client.close()))
        return client

    def done(self, value: Awaitable[T] | T) -> T:
        """Return what a call returns, once it has."""
        if not isawaitable(value):
            return cast("T", value)
        return self._runner.run(_awaited(value))

    def hear(self, turn: Turn | AsyncTurn, most: int | None = None) -> list[Event]:
        """Return the events that come, or the first ``most`` of them."""
        if isinstance(turn, AsyncTurn):
            return self._runner.run(_taken(turn, most))
        heard: list[Event] = []
        for each in turn:
            heard.append(each)
            if len(heard) == most:
                break
        return heard


async def _awaited(value: Awaitable[T]) -> T:
    return await value


async def _taken(turn: AsyncTurn, most: int | None) -> list[Event]:
    heard: list[Event] = []
    async for each in turn:
        heard.append(each)
        if len(heard) == most:
            break
    return heard
