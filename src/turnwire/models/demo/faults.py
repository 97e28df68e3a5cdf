"""What the demo provider can do wrong, by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from turnwire.models.demo.dialects import Dialect

_STREAM: Final = {"content-type": "text/event-stream"}
_JSON: Final = {"content-type": "application/json"}
_HTML: Final = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
_SLOW: Final = 30.0


class Play(Enum):
    """What a reply may do beside writing and waiting."""

    HANG = "hang"
    """Say nothing more, until the client leaves."""
    CUT = "cut"
    """Close the connection in the middle of the body."""


HANG: Final = Play.HANG
CUT: Final = Play.CUT

Step = bytes | float | Play
"""Bytes to write at once, a pause in seconds, or a :class:`Play`."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered to one request."""

    steps: Sequence[Step]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: _STREAM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request, as far as it matters for the reply."""

    dialect: Dialect
    model: str
    words: Sequence[str]
    """The answer that would be right."""
    is_streamed: bool = True
    tools: Sequence[str] = ()
    pace: float = 0.0
    """Seconds between two words."""

    def stream(self, *parts: Sequence[bytes]) -> list[Step]:
        """Return events as steps, at the pace."""
        steps: list[Step] = []
        for each in (event for part in parts for event in part):
            steps += [each, self.pace] if self.pace else [each]
        return steps

    def ending(self, reason: str = "stop") -> list[bytes]:
        """Return the ending of the right answer."""
        return self.dialect.ending(reason, len(self.words))


Fault = Callable[[Ask], Reply]


def _ok(ask: Ask) -> Reply:
    if not ask.is_streamed:
        return Reply([ask.dialect.whole("".join(ask.words), "stop")], headers=_JSON)
    opening, words = ask.dialect.opening(), ask.dialect.words(ask.words)
    return Reply(ask.stream(opening, words, ask.ending()))


def _refusing(status: int, **headers: str) -> Fault:
    """Return a fault that answers with ``status``."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda ask: Reply([ask.dialect.error_body(status)], status, {**_JSON, **named})


def _streamed(make: Callable[[Ask], list[Step]]) -> Fault:
    """Return a fault of streams; without a stream it is the same bytes, which no client takes."""
    return lambda ask: Reply([*ask.stream(ask.dialect.opening()), *make(ask)])


def _some(ask: Ask) -> list[Step]:
    """Return the first two words."""
    words = ask.dialect.words(ask.words)
    first = next(at for at, each in enumerate(words) if ask.words[0].encode() in each)
    return ask.stream(words[: first + 2])


def _before(*steps: Step) -> Fault:
    """Return a fault that answers well behind ``steps``."""
    return lambda ask: Reply([*steps, *_ok(ask).steps], headers=_ok(ask).headers)


def _without_words(reason: str) -> Fault:
    return _streamed(lambda ask: ask.stream(ask.dialect.ending(reason, 0)))


def _tool(ask: Ask, pieces: Sequence[str]) -> list[Step]:
    name = ask.tools[0] if ask.tools else "lookup"
    return ask.stream(ask.dialect.tool(name, pieces), ask.ending("tool"))


FAULTS: Final[Mapping[str, Fault]] = {
    "ok": _ok,
    "rate-limited": _refusing(429, retry_after="1"),
    "rate-limited-long": _refusing(429, retry_after="600"),
    "unavailable": _refusing(500),
    "overloaded": _refusing(529),
    "bad-request": _refusing(400),
    "unauthorized": _refusing(401),
    "forbidden": _refusing(403),
    "slow": _before(_SLOW),
    "hang": _streamed(lambda _: [HANG]),
    "html": lambda _: Reply([_HTML], headers={"content-type": "text/html"}),
    "garbled": _streamed(lambda _: [b"event: message_delta\ndata: {oops\n\n"]),
    "cut-first": _streamed(lambda _: [CUT]),
    "cut": _streamed(lambda ask: [*_some(ask), CUT]),
    "error-first": _streamed(lambda ask: ask.stream(ask.dialect.error_event(529))),
    "error": _streamed(lambda ask: [*_some(ask), *ask.dialect.error_event(529)]),
    "quota-first": _streamed(lambda ask: ask.stream(ask.dialect.error_event(429))),
    "empty": _without_words("stop"),
    "filtered": _without_words("filtered"),
    "no-end": _streamed(_some),
    "length": _streamed(lambda ask: [*_some(ask), *ask.ending("length")]),
    "usage-only": _streamed(
        lambda ask: ask.stream(ask.dialect.usage(0), ask.dialect.words(ask.words), ask.ending())
    ),
    "usage-each": _streamed(
        lambda ask: ask.stream(ask.dialect.words(ask.words, counted=True), ask.ending())
    ),
    "reasoning": _streamed(
        lambda ask: ask.stream(
            ask.dialect.thinking("Hm. "), ask.dialect.words(ask.words), ask.ending()
        )
    ),
    "reasoning-only": _streamed(lambda ask: ask.stream(ask.dialect.thinking("Hm. "), ask.ending())),
    "tool": _streamed(lambda ask: _tool(ask, ['{"amount"', ": 100}"])),
    "bad-tool": _streamed(lambda ask: _tool(ask, ['{"amount"', ": 100"])),
    "cut-tool": _streamed(
        lambda ask: [*ask.stream(ask.dialect.tool("lookup", ['{"amount"', ": 1"])), CUT]
    ),
}
"""Every fault; ``ok`` is none."""
