"""``turnwire serve``."""

import gc
import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Literal

import typer
import uvicorn

from turnwire.app import access_policy, alone_in, corpora, create, portal_beside
from turnwire.cli.address import bound, http_url, reachable
from turnwire.cli.ingest import ingest_into
from turnwire.cli.keys import link, new_link, no_page
from turnwire.cli.output import STDERR, STDOUT, DataDir
from turnwire.cli.serving import Serving, announced
from turnwire.cli.store import with_store
from turnwire.errors import SetupError
from turnwire.portal.address import PortalAddress
from turnwire.server.protocol import BoundedProtocol
from turnwire.server.socket_protocol import socket_options
from turnwire.settings import Settings, read
from turnwire.telemetry.logs import LogFormat, log_to_stderr


def serve(  # noqa: PLR0913 - one an option
    host: Annotated[
        str | None, typer.Option(help="Address to listen on. [default: 127.0.0.1]")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 takes a free one. [8000]")] = None,
    data_dir: DataDir = None,
    docs: Annotated[Path | None, typer.Option(help="Answer from these documents.")] = None,
    agent: Annotated[
        str | None, typer.Option(help="Serve this graph: package.module:graph.")
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(help="The guardrails: health, insurance, docs, or a policy's file."),
    ] = None,
    log_level: Annotated[
        Literal["error", "warning", "info", "debug"], typer.Option(help="What is logged.")
    ] = "info",
    log_format: Annotated[
        LogFormat | None, typer.Option(help="How a log line looks. [default: json]")
    ] = None,
) -> None:
    """Serve turns over HTTP.

    Example: turnwire serve --docs ./handbook --port 8080
    """
    settings = read(
        host=host,
        port=port,
        data_dir=data_dir,
        docs=docs,
        agent=agent,
        policy=policy,
        log_format=log_format,
    )
    log_to_stderr(
        log_level,
        form=settings.log_format,
        messages=settings.environment == "development",
    )
    with alone_in(settings.data_dir):
        pass  # said before anything is read; the application holds it while it runs
    with_store(settings, lambda store: store.keys())
    if settings.agent is None:
        for corpus, root in corpora(settings).items():
            ingest_into(settings, root, corpus, skips="none" if settings.docs is None else "new")
    code = new_link(settings) if access_policy(settings).cookies else None
    with _listen(settings) as listening, ExitStack() as beside, ExitStack() as told:
        portal = beside.enter_context(portal_beside(settings))
        if portal is not None:  # the demo portal's address is known only now
            found = {"portal_url": portal.url, "portal_service_key": portal.service_key}
            settings = settings.model_copy(update=found)
        taken = int(listening.getsockname()[1])
        address = http_url(settings.host, taken)
        here = Serving(http_url(reachable(settings.host), taken), no_page(settings))

        def tell() -> None:
            told.enter_context(announced(settings.data_dir, here))
            _tell(address, code, portal)

        server = _Server(
            uvicorn.Config(
                create(settings),
                log_config=None,
                access_log=False,
                proxy_headers=False,  # the application's own setting says which are trusted
                server_header=False,
                http=BoundedProtocol,
                **socket_options(heartbeat_seconds=settings.heartbeat_seconds),
                timeout_graceful_shutdown=int(settings.drain_seconds) + 10,
                backlog=4096,
            ),
            ready=tell,
            leaving=told.close,
            left=beside.close,
        )
        server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """Uvicorn, which says when it listens and then leaves the collector little to do."""

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        ready: Callable[[], None],
        leaving: Callable[[], None],
        left: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._leaving = leaving
        self._left = left

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen."""
        await super().startup(sockets)
        if self.started:
            _tune_collector()
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop to listen; uvicorn then ends the process by the signal, and nothing runs after."""
        self._leaving()
        await super().shutdown(sockets)
        self._left()  # running turns may have needed it until now


def _tune_collector() -> None:
    # What was made at start-up stays; a full collection over it stalls every stream by 170 ms.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _listen(settings: Settings) -> socket.socket:
    try:
        return bound(settings.host, settings.port)
    except OSError as error:
        raise SetupError(
            f"can't listen on {settings.host}:{settings.port} ({error.strerror}); "
            "choose another with --port"
        ) from None


def _tell(address: str, code: str | None, portal: PortalAddress | None) -> None:
    if portal is not None:
        STDERR.print(f"the members' portal is {portal.url}", highlight=False)
    STDERR.print(f"turnwire listens on {address}", highlight=False)
    if code is None:
        STDERR.print("Every route but health needs an API key: turnwire keys create --help")
    else:
        STDOUT.print(f"Open {link(address, code)}", highlight=False)
