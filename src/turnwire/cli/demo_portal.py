"""``turnwire demo-portal``: the upstream of the member agent, with members who are all made up."""

import socket
from typing import Annotated

import typer
import uvicorn

from turnwire.cli.address import bound, http_url
from turnwire.cli.output import STDERR, DataDir
from turnwire.clock import system_now
from turnwire.errors import SetupError
from turnwire.portal.address import DEMO_SERVICE_KEY
from turnwire.portal.routes import Portal
from turnwire.portal.serving import FILE, config_of
from turnwire.portal.store import PortalStore
from turnwire.settings import read
from turnwire.telemetry.logs import log_to_stderr


def demo_portal(
    host: Annotated[
        str, typer.Option(help="Address to listen on; whoever reaches it may turn its switches.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = 9100,
    data_dir: DataDir = None,
    service_key: Annotated[
        str | None,
        typer.Option(help="The key of service calls. [default: the setting portal_service_key]"),
    ] = None,
) -> None:
    """Be a members' portal: plans, benefits, claims, call-backs, and switches for its failures.

    Example: turnwire demo-portal --port 9100 --data-dir ./demo
    """
    settings = read(data_dir=data_dir, portal_service_key=service_key)
    log_to_stderr("info", form="text")
    with PortalStore(settings.data_dir / FILE) as store, _listening(host, port) as listening:
        portal = Portal(
            store, service_key=settings.portal_service_key or DEMO_SERVICE_KEY, now=system_now
        )
        address = http_url(host, int(listening.getsockname()[1]))
        STDERR.print(f"demo portal: portal_url {address}", highlight=False)
        uvicorn.Server(config_of(portal.app())).run(sockets=[listening])


def _listening(host: str, port: int) -> socket.socket:
    try:
        return bound(host, port)
    except OSError as error:
        raise SetupError(
            f"can't listen on {host}:{port} ({error.strerror}); "
            "choose another with --host or --port"
        ) from None
