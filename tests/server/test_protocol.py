import asyncio
import socket

import pytest
import uvicorn
from uvicorn.server import ServerState

from turnwire.server.protocol import UNHEARD_SECONDS, BoundedProtocol


async def _app(scope: object, receive: object, send: object) -> None:
    raise NotImplementedError


@pytest.mark.anyio
async def test_a_client_that_acknowledges_nothing_is_left_where_the_system_can():
    config = uvicorn.Config(_app, http=BoundedProtocol, log_config=None)
    config.load()
    accepted: asyncio.Future[socket.socket] = asyncio.get_running_loop().create_future()

    class Told(BoundedProtocol):
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            accepted.set_result(transport.get_extra_info("socket"))

    loop = asyncio.get_running_loop()
    made = loop.create_server(lambda: Told(config, ServerState(), {}), "127.0.0.1", 0)
    async with await made as server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        option = getattr(socket, "TCP_USER_TIMEOUT", None)
        patience = option and (await accepted).getsockopt(socket.IPPROTO_TCP, option)
        assert patience == (option and UNHEARD_SECONDS * 1000)
        writer.close()
        await writer.wait_closed()
