"""Plain, over a socket: Starlette, ``astream(stream_mode="messages")``, ``send_json``; no more.

No token, log or re-attach, no other message while a turn runs; Python's default garbage collector.
"""

from collections.abc import AsyncIterator
from typing import Any, Final, cast

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from bench.graphs import ChatState, canned_model, chat_graph

CHAT: Final = chat_graph(canned_model())


async def ready(_: Request) -> Response:
    """Answer as soon as the app is up."""
    return JSONResponse({"status": "ready"})


async def talk(websocket: WebSocket) -> None:
    """Answer one message after the other."""
    await websocket.accept()
    try:
        while True:
            asked = await websocket.receive_json()
            await answer(websocket, asked["message"])
    except WebSocketDisconnect:
        return


async def answer(websocket: WebSocket, message: str) -> None:
    """Send one frame for each token of the answer, and one that says that it ended."""
    asked = cast("ChatState", {"messages": [{"role": "user", "content": message}]})
    stream: AsyncIterator[Any] = CHAT.astream(asked, stream_mode="messages")
    async for chunk, _metadata in stream:
        if chunk.content:
            await websocket.send_json({"type": "token", "content": chunk.content})
    await websocket.send_json({"type": "done"})


app = Starlette(routes=[Route("/readyz", ready), WebSocketRoute("/ws/{session_id}", talk)])
