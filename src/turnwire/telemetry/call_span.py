"""The span of one model call."""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.trace import Span, Status, StatusCode

from turnwire.probe import Answered, Words

Redact = Callable[[str], str]
"""Returns a text without the private details in it."""

FAILED: Final = Status(StatusCode.ERROR)


class CallSpan:
    """See :class:`turnwire.probe.Call`."""

    def __init__(self, span: Span, content: Redact | None) -> None:
        self._span = span
        self._content = content
        self._began = time.perf_counter()
        self._waits = True
        self._said: list[str] = []
        self.keeps_words = content is not None and span.is_recording()

    def first_chunk(self) -> None:
        """Note when the answer began to come."""
        if self._waits:
            self._waits = False
            took = time.perf_counter() - self._began
            self._span.set_attribute("gen_ai.request.stream", True)
            self._span.set_attribute("gen_ai.response.time_to_first_chunk", took)

    def said(self, text: str) -> None:
        """Keep a piece of the answer."""
        self._said.append(text)

    def ended(self, answered: Answered) -> None:
        """End the span of a call that went well."""
        span = self._span
        if answered.usage is not None:
            span.set_attribute("gen_ai.usage.input_tokens", answered.usage.prompt_tokens)
            span.set_attribute("gen_ai.usage.output_tokens", answered.usage.completion_tokens)
        if answered.finish is not None:
            span.set_attribute("gen_ai.response.finish_reasons", (answered.finish,))
        if answered.model is not None:
            span.set_attribute("gen_ai.response.model", answered.model)
        if self.keeps_words and self._content is not None:
            answer = messages([Words("assistant", "".join(self._said))], self._content)
            span.set_attribute("gen_ai.output.messages", answer)
        span.end()

    def failed(self, error: BaseException) -> None:
        """End the span of a call that went wrong; what the error says is not kept."""
        if self._span.is_recording():
            self._span.set_attribute("error.type", type(error).__name__)
            self._span.set_status(FAILED)
            self._span.end()

    def current(self) -> AbstractContextManager[object]:
        """Make the span the parent of what is traced inside, such as the provider's request."""
        return trace.use_span(
            self._span, end_on_exit=False, record_exception=False, set_status_on_exception=False
        )


def messages(said: Sequence[Words], redact: Redact) -> str:
    """Return messages as the conventions write them (their JSON schema for input messages)."""
    parts: list[dict[str, Any]] = [
        {"role": each.role, "parts": [{"type": "text", "content": redact(each.text)}]}
        for each in said
    ]
    return json.dumps(parts, ensure_ascii=False)
