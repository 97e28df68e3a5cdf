"""The WebSockets that we ship keep to RFC 6455, case by case of the Autobahn suite."""

import asyncio
import threading
from collections import Counter

import kosoku
import uvicorn
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from tests.server.running import PATIENCE, eventually
from turnwire.server.protocol import BoundedProtocol
from turnwire.server.socket_protocol import socket_options

_WHOLE_BYTES = 64 * 1024 * 1024
"""More than the largest message of the suite."""

_NOT_SHIPPED = ["12.*", "13.*"]
"""Compression, which nobody is offered."""


async def _echo(websocket: WebSocket) -> None:
    await websocket.accept()
    while True:
        received = await websocket.receive()
        if received["type"] == "websocket.disconnect":
            return
        if received.get("text") is not None:
            await websocket.send_text(received["text"])
        else:
            await websocket.send_bytes(received["bytes"])


def test_no_case_of_the_conformance_suite_fails_on_the_shipped_backend():
    options = {**socket_options(heartbeat_seconds=60), "ws_max_size": _WHOLE_BYTES}
    app = Starlette(routes=[WebSocketRoute("/{path:path}", _echo)])
    config = uvicorn.Config(app, port=0, http=BoundedProtocol, log_config=None, **options)  # type: ignore[arg-type]
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        eventually(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        # An error of the suite carries what failed.
        url = f"ws://127.0.0.1:{port}"
        results = asyncio.run(kosoku.run_fuzzingclient(url, None, _NOT_SHIPPED, concurrency=4))
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
    behaviours = Counter(str(each.behavior.value) for each in results)
    assert set(behaviours) <= {"OK", "NON-STRICT", "INFORMATIONAL"}, behaviours
    assert behaviours["OK"] > 200
