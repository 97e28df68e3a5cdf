"""Traces where they are wanted; the SDK and its exporter are the extra ``turnwire[otel]``."""

import importlib
from typing import Literal, Protocol, cast

from opentelemetry.trace import Tracer

from turnwire.errors import SetupError

Exporter = Literal["otlp", "console"]


class Exported(Protocol):
    """A tracer whose spans leave the process."""

    tracer: Tracer

    def close(self) -> None:
        """Send what is left; blocks for a few seconds at the most."""
        ...


def export(exporter: Exporter, *, version: str) -> Exported:
    """Return a tracer with that exporter.

    Raises:
        SetupError: the packages are not installed.
    """
    try:
        sdk = importlib.import_module("turnwire.telemetry.exporting")
    except ImportError:
        raise SetupError(
            "The OTEL_* variables ask for traces, which need more packages: "
            "pip install 'turnwire[otel]'"
        ) from None
    return cast("Exported", sdk.Exporting(sdk.processor(exporter), version=version))
