"""``turnwire demo-provider``: a model provider that fails on demand, to try failover with."""

import socket
from pathlib import Path
from typing import Annotated

import typer
import uvicorn

from turnwire.cli.address import bound, http_url
from turnwire.cli.output import STDERR
from turnwire.errors import SetupError
from turnwire.models.demo.faults import FAULTS
from turnwire.models.demo.server import MODEL, DemoProvider, Script

_HOST = "127.0.0.1"


def demo_provider(
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 takes a free one.")] = 9000,
    fault: Annotated[
        list[str] | None,
        typer.Option(help="What the next request gets; may be repeated, the last one stays."),
    ] = None,
    script: Annotated[
        Path | None, typer.Option(help="The same from a file: a fault a line, # begins a comment.")
    ] = None,
    pace: Annotated[float, typer.Option(min=0, help="Seconds between two words.")] = 0.03,
    faults: Annotated[bool, typer.Option("--faults", help="List the faults and end.")] = False,
) -> None:
    """Answer as OpenAI and Anthropic would, or fail as they might; no model is behind it.

    The model 'demo' gets what --fault says, and a model 'demo-FAULT' that fault each time.

    Example: turnwire demo-provider --fault overloaded --fault ok
    """
    if faults:
        for name in FAULTS:
            typer.echo(name)
        return
    app = DemoProvider(Script(_named(fault, script) or ["ok"]), pace=pace)
    with _listening(port) as listening:
        address = http_url(_HOST, int(listening.getsockname()[1]))
        STDERR.print(f"OpenAI's protocol:    base_url {address}/v1", highlight=False)
        STDERR.print(f"Anthropic's protocol: base_url {address}", highlight=False)
        STDERR.print(f"model: {MODEL} or {MODEL}-FAULT; any key will do", highlight=False)
        config = uvicorn.Config(app, lifespan="off", log_level="critical", http="httptools")
        config.timeout_graceful_shutdown = 1
        uvicorn.Server(config).run(sockets=[listening])


def _named(fault: list[str] | None, script: Path | None) -> list[str]:
    if fault and script:
        raise SetupError("give --fault or --script, not both")
    names = list(fault or [])
    if script is not None:
        try:
            lines = script.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise SetupError(f"{script} can't be read: {error}") from None
        names = [name for line in lines if (name := line.partition("#")[0].strip())]
    for each in names:
        if each not in FAULTS:
            raise SetupError(f"'{each}' is no fault; turnwire demo-provider --faults lists them")
    return names


def _listening(port: int) -> socket.socket:
    try:
        return bound(_HOST, port)
    except OSError as error:
        raise SetupError(
            f"can't listen on {_HOST}:{port} ({error.strerror}); choose another with --port"
        ) from None
