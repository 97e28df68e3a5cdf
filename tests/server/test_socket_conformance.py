"""The backend of sockets keeps to RFC 6455, as a fuzzing client finds that was not written here."""

import socket
import threading
from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
import uvicorn
from kosoku import run_fuzzingclient

from tests.server.running import PATIENCE, eventually
from turnwire.server.protocol import BoundedProtocol
from turnwire.server.socket_protocol import socket_options

COMPRESSION = ("12.*", "13.*")
"""Cases of an extension that is not offered."""
LARGEST = 32 * 1_048_576
"""Of the suite's messages; an application takes less."""


async def _echo(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's
    await receive()
    await send({"type": "websocket.accept"})
    while (heard := await receive())["type"] != "websocket.disconnect":
        await send({**heard, "type": "websocket.send"})


@pytest.fixture
def echo() -> Iterator[str]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        options = socket_options(heartbeat_seconds=15)
        options["ws_max_size"] = LARGEST
        config = uvicorn.Config(
            _echo, http=BoundedProtocol, lifespan="off", log_config=None, **options
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        eventually(lambda: server.started)
        yield f"ws://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.mark.anyio
async def test_no_case_of_the_suite_fails(echo: str):
    results = await run_fuzzingclient(echo, exclude_cases=COMPRESSION, concurrency=4)
    found = {each.case_id: (each.behavior.value, each.behavior_close.value) for each in results}
    assert len(found) >= 247
    well = {"OK", "NON-STRICT", "INFORMATIONAL"}
    assert {name: said for name, said in found.items() if not well.issuperset(said)} == {}
