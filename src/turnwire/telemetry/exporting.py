"""Spans that leave the process, by OpenTelemetry's SDK; imported only where that is wanted.

The exporter reads its endpoint, headers and the rest of the standard ``OTEL_*`` variables itself.
"""

import threading
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    ConsoleSpanExporter,
    SimpleSpanProcessor,
)
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Tracer

from turnwire.telemetry.otlp import Exporter
from turnwire.telemetry.span_ids import WANTED
from turnwire.telemetry.spans import SCOPE

_LEAVE_SECONDS: Final = 3.0
"""How long the last spans may take to leave when the process ends."""


class Ids(RandomIdGenerator):
    """Random ids, but inside :func:`turnwire.telemetry.span_ids.own_ids`."""

    def generate_trace_id(self) -> int:
        """Return the id of a new trace."""
        wanted = WANTED.get()
        return wanted[0] if wanted else super().generate_trace_id()

    def generate_span_id(self) -> int:
        """Return the id of a new span."""
        wanted = WANTED.get()
        return wanted[1] if wanted else super().generate_span_id()


class Exporting:
    """A tracer of our own, and the exporter behind it; nothing global changes."""

    def __init__(self, processor: SpanProcessor, *, version: str) -> None:
        ours = Resource.create({"service.name": "turnwire", "service.version": version})
        self._provider = TracerProvider(
            resource=ours.merge(OTELResourceDetector().detect()),
            shutdown_on_exit=False,
            id_generator=Ids(),
        )
        self._provider.add_span_processor(processor)
        self.tracer: Tracer = self._provider.get_tracer(SCOPE, version)

    def close(self) -> None:
        """Send what is left, and wait a few seconds for it at the most."""
        leaving = threading.Thread(target=self._provider.shutdown, daemon=True)
        leaving.start()
        leaving.join(_LEAVE_SECONDS)


def processor(exporter: Exporter) -> SpanProcessor:
    """Return what takes ended spans out of the process."""
    if exporter == "console":
        return SimpleSpanProcessor(ConsoleSpanExporter())
    return BatchSpanProcessor(OTLPSpanExporter())
