"""Plain: what one writes first. FastAPI, ``astream(stream_mode="messages")``, orjson; no more.

No numbering, no log, no re-attach, no sign-in; Python's default garbage collector.
"""

from collections.abc import AsyncIterator
from typing import Any, Final, cast

import orjson
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from bench.graphs import ChatState, Graph, canned_model, chat_graph, idle_graph

CHAT: Final = chat_graph(canned_model())
IDLE: Final = idle_graph()

app = FastAPI()


async def frames(graph: Graph, body: dict[str, Any]) -> AsyncIterator[bytes]:
    """Yield one frame for each token of the answer."""
    stream: AsyncIterator[Any] = graph.astream(cast("ChatState", body), stream_mode="messages")
    async for chunk, _metadata in stream:
        if chunk.content:
            yield b"event: token\ndata: " + orjson.dumps({"text": chunk.content}) + b"\n\n"


@app.get("/readyz")
async def ready() -> dict[str, str]:
    """Answer as soon as the app is up."""
    return {"status": "ready"}


@app.post("/chat")
async def chat(body: dict[str, Any]) -> StreamingResponse:
    """Stream an answer."""
    return StreamingResponse(frames(CHAT, body), media_type="text/event-stream")


@app.post("/idle")
async def idle(body: dict[str, Any]) -> StreamingResponse:
    """Open a stream that says nothing."""
    return StreamingResponse(frames(IDLE, body), media_type="text/event-stream")
