"""The two protocols as bytes: OpenAI's chat completions and Anthropic's messages.

A stream is an opening, words, and an ending; each is a list of events, so that a fault can leave
out, cut or add what it likes. https://platform.openai.com/docs/api-reference/chat-streaming and
https://docs.anthropic.com/en/docs/build-with-claude/streaming.
"""

import json
from collections.abc import Sequence
from typing import Final, Protocol

TOKENS_IN: Final = 7
"""Tokens that every prompt is said to be."""

_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Dialect(Protocol):
    """How one protocol says things."""

    path: str
    """What the request's path ends with."""

    def opening(self) -> list[bytes]:
        """Return what comes before the first word."""
        ...

    def words(self, words: Sequence[str], *, counted: bool = False) -> list[bytes]:
        """Return one event a word, each with the usage so far if ``counted``."""
        ...

    def thinking(self, thought: str) -> list[bytes]:
        """Return a piece of reasoning."""
        ...

    def tool(self, name: str, pieces: Sequence[str]) -> list[bytes]:
        """Return a tool call, its arguments in pieces."""
        ...

    def usage(self, tokens_out: int) -> list[bytes]:
        """Return an event that has no words and tells the usage."""
        ...

    def ending(self, reason: str, tokens_out: int) -> list[bytes]:
        """Return what comes after the last word; ``reason`` is stop, length, tool or filtered."""
        ...

    def error_event(self, status: int) -> list[bytes]:
        """Return an error inside a stream."""
        ...

    def error_body(self, status: int) -> bytes:
        """Return the body of an answer with ``status``."""
        ...

    def whole(self, text: str, reason: str | None) -> bytes:
        """Return the answer where no stream was asked for."""
        ...


class OpenAI:
    """Chat completions."""

    path = "/chat/completions"
    _reasons: Final = {"tool": "tool_calls", "filtered": "content_filter"}

    def opening(self) -> list[bytes]:
        """See :class:`Dialect`."""
        return [self._choice({"role": "assistant", "content": ""})]

    def words(self, words: Sequence[str], *, counted: bool = False) -> list[bytes]:
        """See :class:`Dialect`."""
        return [
            self._choice({"content": each}, usage=_usage(at) if counted else None)
            for at, each in enumerate(words, 1)
        ]

    def thinking(self, thought: str) -> list[bytes]:
        """See :class:`Dialect`; not OpenAI's own, but of many servers that speak its protocol."""
        return [self._choice({"reasoning_content": thought})]

    def tool(self, name: str, pieces: Sequence[str]) -> list[bytes]:
        """See :class:`Dialect`."""
        head = {"id": "call_demo", "type": "function", "function": {"name": name, "arguments": ""}}
        calls = [head, *({"function": {"arguments": each}} for each in pieces)]
        return [self._choice({"tool_calls": [{"index": 0, **each}]}) for each in calls]

    def usage(self, tokens_out: int) -> list[bytes]:
        """See :class:`Dialect`."""
        return [self._chunk(choices=[], usage=_usage(tokens_out))]

    def ending(self, reason: str, tokens_out: int) -> list[bytes]:
        """See :class:`Dialect`."""
        finish = self._reasons.get(reason, reason)
        return [self._choice({}, finish), *self.usage(tokens_out), b"data: [DONE]\n\n"]

    def error_event(self, status: int) -> list[bytes]:
        """See :class:`Dialect`."""
        return [_event(json.loads(self.error_body(status)))]

    def error_body(self, status: int) -> bytes:
        """See :class:`Dialect`."""
        error = {"message": _message(status), "type": _type(status), "code": None, "param": None}
        return _json({"error": error})

    def whole(self, text: str, reason: str | None) -> bytes:
        """See :class:`Dialect`."""
        finish = self._reasons.get(reason or "", reason)
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": finish}
        usage = _usage(len(text.split()))
        return _json(
            _about("chat.completion") | {"choices": [{"index": 0, **choice}], "usage": usage}
        )

    def _choice(
        self, delta: object, finish: str | None = None, usage: dict[str, int] | None = None
    ) -> bytes:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return self._chunk(choices=choices, usage=usage)

    def _chunk(self, **fields: object) -> bytes:
        return _event(_about("chat.completion.chunk") | fields)


class Anthropic:
    """Messages."""

    path = "/messages"
    _reasons: Final = {
        "stop": "end_turn",
        "length": "max_tokens",
        "tool": "tool_use",
        "filtered": "refusal",
    }

    def opening(self) -> list[bytes]:
        """See :class:`Dialect`."""
        message: dict[str, object] = {**self._message(None), "content": []}
        return [_typed("message_start", message=message), _typed("ping")]

    def words(self, words: Sequence[str], *, counted: bool = False) -> list[bytes]:
        """See :class:`Dialect`."""
        told: list[bytes] = []
        for at, each in enumerate(words, 1):
            told.append(self._delta({"type": "text_delta", "text": each}, 1))
            told += self.usage(at) if counted else []
        return self._block({"type": "text", "text": ""}, told, 1)

    def thinking(self, thought: str) -> list[bytes]:
        """See :class:`Dialect`."""
        told = [
            self._delta({"type": "thinking_delta", "thinking": thought}, 0),
            self._delta({"type": "signature_delta", "signature": "demo"}, 0),
        ]
        return self._block({"type": "thinking", "thinking": "", "signature": ""}, told, 0)

    def tool(self, name: str, pieces: Sequence[str]) -> list[bytes]:
        """See :class:`Dialect`."""
        told = [
            self._delta({"type": "input_json_delta", "partial_json": each}, 2) for each in pieces
        ]
        return self._block(
            {"type": "tool_use", "id": "call_demo", "name": name, "input": {}}, told, 2
        )

    def usage(self, tokens_out: int) -> list[bytes]:
        """See :class:`Dialect`."""
        return [self._stop(None, tokens_out)]

    def ending(self, reason: str, tokens_out: int) -> list[bytes]:
        """See :class:`Dialect`."""
        return [self._stop(self._reasons[reason], tokens_out), _typed("message_stop")]

    def error_event(self, status: int) -> list[bytes]:
        """See :class:`Dialect`."""
        return [b"event: error\ndata: " + self.error_body(status) + b"\n\n"]

    def error_body(self, status: int) -> bytes:
        """See :class:`Dialect`."""
        error = {"type": _type(status), "message": _message(status)}
        return _json({"type": "error", "error": error, "request_id": "req_demo"})

    def whole(self, text: str, reason: str | None) -> bytes:
        """See :class:`Dialect`."""
        content = [{"type": "text", "text": text}] if text else []
        usage = {"input_tokens": TOKENS_IN, "output_tokens": len(text.split())}
        return _json({**self._message(reason), "content": content, "usage": usage})

    def _message(self, reason: str | None) -> dict[str, object]:
        return {
            "id": "msg_demo",
            "type": "message",
            "role": "assistant",
            "model": "demo",
            "stop_reason": self._reasons[reason] if reason else None,
            "stop_sequence": None,
            "usage": {"input_tokens": TOKENS_IN, "output_tokens": 1},
        }

    def _stop(self, reason: str | None, tokens_out: int) -> bytes:
        usage = {"input_tokens": TOKENS_IN, "output_tokens": tokens_out}
        stop = {"stop_reason": reason, "stop_sequence": None}
        return _typed("message_delta", delta=stop, usage=usage)

    def _block(self, block: object, told: list[bytes], at: int) -> list[bytes]:
        start = _typed("content_block_start", index=at, content_block=block)
        return [start, *told, _typed("content_block_stop", index=at)]

    def _delta(self, delta: object, at: int) -> bytes:
        return _typed("content_block_delta", index=at, delta=delta)


DIALECTS: Final[tuple[Dialect, ...]] = (OpenAI(), Anthropic())


def _about(kind: str) -> dict[str, object]:
    return {"id": "chatcmpl-demo", "object": kind, "created": 1, "model": "demo"}


def _usage(tokens_out: int) -> dict[str, int]:
    return {
        "prompt_tokens": TOKENS_IN,
        "completion_tokens": tokens_out,
        "total_tokens": TOKENS_IN + tokens_out,
    }


def _typed(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\n".encode() + _event({"type": kind, **fields})


def _event(value: object) -> bytes:
    return b"data: " + _json(value) + b"\n\n"


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _type(status: int) -> str:
    return _TYPES.get(status, "api_error")


def _message(status: int) -> str:
    return f"the demo provider answers {status}"
