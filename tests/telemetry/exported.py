"""Spans as an exporter gets them, kept in memory."""

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from turnwire.telemetry.call_span import Redact
from turnwire.telemetry.exporting import Exporting
from turnwire.telemetry.spans import Tracing


class Spans:
    """A tracing observer, and what it has exported."""

    def __init__(self, content: Redact | None = None) -> None:
        self._memory = InMemorySpanExporter()
        exporting = Exporting(SimpleSpanProcessor(self._memory), version="1")
        self.tracer = exporting.tracer
        self.tracing = Tracing(exporting.tracer, content=content)

    @property
    def all(self) -> list[ReadableSpan]:
        """Every span in the order of its end."""
        return list(self._memory.get_finished_spans())

    def one(self, name: str) -> ReadableSpan:
        """Return the only span of that name."""
        (found,) = self.named(name)
        return found

    def named(self, name: str) -> list[ReadableSpan]:
        return [each for each in self.all if each.name == name]

    def tree(self) -> set[tuple[str, str | None]]:
        """Return each span's name with its parent's; a parent of another process is its id."""
        names = {span_id(each): each.name for each in self.all}
        return {
            (each.name, names.get(each.parent.span_id, f"{each.parent.span_id:016x}"))
            if each.parent
            else (each.name, None)
            for each in self.all
        }

    def dump(self) -> str:
        """Return everything that is exported, as text."""
        return "\n".join(each.to_json() for each in self.all)


def span_id(span: ReadableSpan) -> int:
    """Return the span's id."""
    context = span.get_span_context()
    assert context is not None
    return context.span_id


def trace_id(span: ReadableSpan) -> str:
    """Return the span's trace id in hexadecimal."""
    context = span.get_span_context()
    assert context is not None
    return f"{context.trace_id:032x}"


def facts(span: ReadableSpan) -> dict[str, object]:
    """Return the span's attributes."""
    return dict(span.attributes or {})
