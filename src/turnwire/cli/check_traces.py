"""Whether traces are wanted, and whether somebody takes them: for ``turnwire doctor``."""

import socket
from importlib.util import find_spec
from typing import Final
from urllib.parse import urlsplit

from turnwire.cli.check import Check
from turnwire.errors import SetupError
from turnwire.settings import Settings, traces_endpoint, wanted_traces

_REACH_SECONDS: Final = 3.0


def traces(_: Settings) -> Check:
    """Return what becomes of traces; nothing is sent."""
    try:
        wanted = wanted_traces()
    except SetupError as error:
        return Check("traces", "broken", str(error), "correct the OTEL_ variable")
    if wanted is None:
        return Check("traces", "ok", "off; OTEL_EXPORTER_OTLP_ENDPOINT switches them on")
    if find_spec("opentelemetry.sdk") is None:
        found = "wanted, and the exporter is not installed"
        return Check("traces", "missing", found, "pip install 'turnwire[otel]'")
    if wanted == "console":
        return Check("traces", "ok", "written to the server's output")
    where = urlsplit(traces_endpoint())
    host, port = where.hostname or "", where.port or (443 if where.scheme == "https" else 80)
    shown = f"{host}:{port}"
    try:
        socket.create_connection((host, port), timeout=_REACH_SECONDS).close()
    except OSError:
        step = "start the collector, or set OTEL_TRACES_EXPORTER=none"
        return Check("traces", "warning", f"nobody takes them at {shown}", step)
    return Check("traces", "ok", f"sent to {shown}")
