"""The demo portal in a thread of this process, on a port of its own."""

import logging
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import uvicorn
from starlette.applications import Starlette

from turnwire.clock import Now, system_now
from turnwire.errors import SetupError
from turnwire.portal.address import DEMO_SERVICE_KEY, PortalAddress
from turnwire.portal.routes import TOKEN_SECONDS, Portal
from turnwire.portal.store import PortalStore

FILE: Final = "portal.db"
"""In the data directory."""
_PATIENCE: Final = 10.0


@contextmanager
def serving(
    data_dir: Path,
    *,
    service_key: str = DEMO_SERVICE_KEY,
    now: Now = system_now,
    token_seconds: int = TOKEN_SECONDS,
) -> Generator[PortalAddress]:
    """Serve the portal on a free port of 127.0.0.1 for as long as the block runs.

    Raises:
        SetupError: the portal's file or a port can't be had.
    """
    with PortalStore(data_dir / FILE) as store, socket.create_server(("127.0.0.1", 0)) as listening:
        portal = Portal(store, service_key=service_key, now=now, token_seconds=token_seconds)
        server = _Server(config_of(portal.app()))
        thread = threading.Thread(
            target=server.run, args=([listening],), name="turnwire-portal", daemon=True
        )
        with _quiet(thread):
            thread.start()
            try:
                if not server.listens.wait(_PATIENCE):
                    raise SetupError("the demo portal did not start")
                yield PortalAddress(f"http://127.0.0.1:{listening.getsockname()[1]}", service_key)
            finally:
                server.should_exit = True
                thread.join(_PATIENCE)


def config_of(app: Starlette) -> uvicorn.Config:
    """Return how the portal is served: nothing of a request is logged but by itself."""
    return uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        http="httptools",
        timeout_graceful_shutdown=1,
    )


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listens.set()


@contextmanager
def _quiet(thread: threading.Thread) -> Generator[None]:
    """Leave out what uvicorn says of itself in ``thread``: the process has a server of its own."""
    log = logging.getLogger("uvicorn.error")

    def is_told(record: logging.LogRecord) -> bool:
        return record.thread != thread.ident

    log.addFilter(is_told)
    try:
        yield
    finally:
        log.removeFilter(is_told)
