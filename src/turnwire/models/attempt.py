"""One call of one provider: its chunks, until they turn out to be no answer."""

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage

from turnwire.errors import BudgetExceeded
from turnwire.graph.heard import (
    Chunk,
    Heard,
    are_sound,
    calls_in,
    chunks_of,
    estimated,
    message_of,
)
from turnwire.graph.thoughts import thoughts
from turnwire.models.budget import Spent, estimated_prompt
from turnwire.models.failover import Failure, Unfit
from turnwire.models.outcome import Outcome
from turnwire.models.roles import FREE, Price


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """A model that a gateway may call."""

    name: str
    """What clients read."""
    label: str
    """What the log calls it: ``provider:model``."""
    key: str
    """Which breaker it has."""
    model: BaseChatModel
    price: Price = FREE
    timeout: float | None = None
    """Seconds until its first sign of an answer."""
    may_be_silent: bool = False
    """Whether no words are an answer too, as of the model that quotes."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What each call is given, such as tools."""


class Attempt:
    """Calls an upstream once.

    Chunks are passed on without their usage, which may be told twice. Pieces of tool calls are
    held until the stream has ended well, so that no half call is ever run; reasoning is held until
    the first words, so that the reasoning of a dead attempt isn't taken for the next one's, unless
    ``live`` is set.
    """

    def __init__(
        self, upstream: Upstream, *, room: float, live: bool, clock: Callable[[], float]
    ) -> None:
        self.upstream = upstream
        self.spoke = False
        """Whether words were passed on: nobody else may answer any more."""
        self.is_over_budget = False
        self.on_first_word: Callable[[], None] = _nothing
        self.began = clock()
        self.first_at: float | None = None
        """When its first sign came."""
        self._clock = clock
        self._room = room
        self._live = live
        self._heard = Heard()
        self._prompt = 0
        self._characters = 0
        self._held: list[Chunk] = []
        self._calls: list[Chunk] = []

    async def chunks(
        self,
        messages: Sequence[BaseMessage],
        **options: Any,  # noqa: ANN401 - each provider has its own
    ) -> AsyncGenerator[Chunk, None]:
        """Yield what may be passed on; the provider's stream is closed however this ends.

        Raises:
            Unfit: it was no answer.
            TimeoutError: no sign of an answer came in time.
            Exception: what the provider's package raised.
        """
        self._prompt = estimated_prompt(messages)
        options = {**self.upstream.options, **options}
        async with aclosing(chunks_of(self.upstream.model, list(messages), **options)) as stream:
            while (chunk := await self._next(stream)) is not None:
                for each in self._take(chunk):
                    yield each
                if self._is_used_up():
                    break
        self._judge()
        for each in (*self._held, *self._calls):
            yield each

    def spent(self) -> Spent:
        """Return what the call took; estimated where it was cut before the provider told."""
        tokens_in, tokens_out = self._heard.tokens_in, self._heard.tokens_out
        if not tokens_in and self.first_at is not None:
            tokens_in, tokens_out = self._prompt, estimated(self._characters)
        return Spent(tokens_in, tokens_out, self.upstream.price.of(tokens_in, tokens_out))

    def outcome(self, failure: Failure | None, *, turn_id: str | None) -> Outcome:
        """Return how the call went, now that it has ended."""
        first = None if self.first_at is None else self.first_at - self.began
        return Outcome(
            label=self.upstream.label,
            failure=failure,
            spoke=self.spoke,
            seconds=self._clock() - self.began,
            first_seconds=first,
            spent=self.spent(),
            turn_id=turn_id,
        )

    async def _next(self, stream: AsyncGenerator[Chunk, None]) -> Chunk | None:
        if self.first_at is not None or self.upstream.timeout is None:
            return await anext(stream, None)
        async with asyncio.timeout(self.began + self.upstream.timeout - self._clock()):
            return await anext(stream, None)

    def _take(self, chunk: Chunk) -> Sequence[Chunk]:
        """Return what may be passed on now; a blank is no word as long as it is alone."""
        text = self._heard.add(chunk)
        message = message_of(chunk)
        _strip(message)
        calls = calls_in(chunk)
        may_think = message.additional_kwargs or not isinstance(message.content, str)
        thought = sum(map(len, thoughts(message))) if may_think else 0
        self._characters += len(text) + thought
        is_word = bool(text.strip())
        if self.first_at is None and (is_word or calls or thought):
            self.first_at = self._clock()
        if calls:
            self._characters += sum(len(each["args"] or "") for each in calls)
            self._calls.append(chunk)
            return ()
        if self.spoke or (thought and self._live and not is_word):
            return (chunk,)
        self._held.append(chunk)
        if not is_word:
            return ()
        self.spoke = True
        self.on_first_word()
        held, self._held = self._held, []
        return held

    def _is_used_up(self) -> bool:
        if self._room == math.inf:
            return False
        written = max(self._heard.tokens_out, estimated(self._characters))
        self.is_over_budget = written > self._room
        return self.is_over_budget

    def _judge(self) -> None:
        if self.is_over_budget:
            self._calls.clear()
            if not self.spoke:
                raise BudgetExceeded(f"{self.upstream.name} wrote more than the turn may take")
            return
        if (fault := self._heard.fault) is not None:
            raise Unfit(fault)
        pieces = [each for chunk in self._calls for each in calls_in(chunk)]
        if pieces and (self._heard.ending == "length" or not are_sound(pieces)):
            raise Unfit("garbled")
        if not (self.spoke or pieces or self.upstream.may_be_silent):
            raise Unfit("empty")


def _strip(message: BaseMessage) -> None:
    """Take away what the gateway tells itself, at the end; setting a field costs a microsecond."""
    if isinstance(message, AIMessage) and message.usage_metadata is not None:
        message.usage_metadata = None
    if isinstance(message, AIMessageChunk) and message.chunk_position is not None:
        message.chunk_position = None


def _nothing() -> None:
    pass
