"""The demo provider as an ASGI application; no framework, for it has to misbehave byte by byte."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, MutableMapping, Sequence
from typing import Any, Final

from turnwire.models.demo.dialects import DIALECTS, Dialect, OpenAI
from turnwire.models.demo.faults import CUT, FAULTS, Ask, Play, Reply, Step

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

MODEL: Final = "demo"
"""The model that answers as the script says; ``demo-FAULT`` has that fault each time."""

_ANSWER: Final = ("The ", "demo ", "provider ", "answers ", "everybody ", "the ", "same")


class Script:
    """Chooses the reply: by the model's name, else the next fault; the last one for ever."""

    def __init__(self, faults: Sequence[str] = ("ok",)) -> None:
        self._faults: Iterator[str] = iter(faults)
        self._current = "ok"

    def __call__(self, ask: Ask) -> Reply:
        """Return what to answer."""
        named = ask.model.removeprefix(f"{MODEL}-")
        if named in FAULTS:
            return FAULTS[named](ask)
        self._current = next(self._faults, self._current)
        return FAULTS[self._current](ask)


class DemoProvider:
    """Answers requests in both protocols; knows what was asked and who is still connected."""

    def __init__(self, reply: Callable[[Ask], Reply], *, pace: float = 0.0) -> None:
        self.reply = reply
        self.requests: list[dict[str, Any]] = []
        """The bodies, in order."""
        self.open = 0
        """Requests whose answer has not ended and whose client is still there."""
        self.left = 0
        """Clients that left before the answer's end."""
        self._pace = pace

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        dialect = next((each for each in DIALECTS if scope["path"].endswith(each.path)), None)
        if scope["method"] != "POST" or dialect is None:
            await _answer(send, *_elsewhere(scope))
            return
        try:
            body = json.loads(await _body(receive))
            ask = _ask(dialect, body, self._pace)
        except (ValueError, TypeError, AttributeError, KeyError):
            await _answer(send, 400, dialect.error_body(400))
            return
        self.requests.append(body)
        self.open += 1
        try:
            await self._play(self.reply(ask), receive, send)
        finally:
            self.open -= 1

    async def _play(self, reply: Reply, receive: Receive, send: Send) -> None:
        async with asyncio.TaskGroup() as both:
            gone = both.create_task(_gone(receive))
            playing = both.create_task(_written(reply, send))
            await asyncio.wait({gone, playing}, return_when=asyncio.FIRST_COMPLETED)
            if not playing.done():
                playing.cancel()
                self.left += 1
            gone.cancel()


async def _written(reply: Reply, send: Send) -> None:
    headers = [(name.encode(), value.encode()) for name, value in reply.headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    for step in reply.steps:
        if step is CUT:
            return  # a body without its end: the server closes the connection
        await _step(step, send)
    await send({"type": "http.response.body", "body": b""})


async def _step(step: Step, send: Send) -> None:
    match step:
        case bytes():
            await send({"type": "http.response.body", "body": step, "more_body": True})
        case Play():
            await asyncio.Event().wait()
        case _:
            await asyncio.sleep(step)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


def _ask(dialect: Dialect, body: dict[str, Any], pace: float) -> Ask:
    # Of turnwire's passages, the first is cited; without any, a marker would be false.
    marker = " [1]." if "</passages-" in json.dumps(body["messages"]) else "."
    offered: list[dict[str, Any]] = body.get("tools") or []
    return Ask(
        dialect=dialect,
        model=str(body.get("model", "")),
        words=(*_ANSWER, marker),
        is_streamed=bool(body.get("stream")),
        tools=[str(each.get("function", each)["name"]) for each in offered],
        pace=pace,
    )


def _elsewhere(scope: Message) -> tuple[int, bytes]:
    if scope["method"] in ("GET", "HEAD"):
        names = [MODEL, *(f"{MODEL}-{each}" for each in FAULTS)]
        listed = [{"id": each, "object": "model", "type": "model"} for each in names]
        return 200, json.dumps({"object": "list", "data": listed}).encode()
    return 404, OpenAI().error_body(404)


async def _answer(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
