"""One model call, said word by word, and what it took."""

import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from turnwire.errors import UpstreamUnavailable
from turnwire.events import Usage
from turnwire.graph.calls import asking
from turnwire.graph.heard import Heard, chunks_of, message_of
from turnwire.graph.thoughts import thoughts
from turnwire.probe import Answered, model_call


@dataclass(frozen=True, slots=True)
class Completion:
    """What the model said in all."""

    finish: Literal["stop", "length"]
    usage: Usage
    latency_ms: int
    """From the request to the last chunk."""
    model: str | None = None
    """Who answered, where a gateway chose among several."""
    usd: float | None = None
    """What all its calls cost in US dollars, where a gateway counted."""


async def complete(
    model: BaseChatModel,
    messages: Sequence[BaseMessage],
    *,
    say: Callable[[str], None],
    think: Callable[[str], None],
    clock: Callable[[], float] = time.perf_counter,
) -> Completion:
    """Call the model once and return what it took; its stream is closed however this ends.

    Args:
        model: any chat model.
        messages: the prompt.
        say: called with each piece of the answer.
        think: called with each piece of reasoning.
        clock: seconds that only grow.

    Raises:
        UpstreamUnavailable: the stream ended without the mark that its provider ends with, or
            with one that says that it failed or that the provider withheld the rest.
    """
    began, heard = clock(), Heard()
    with model_call(asking(model, messages)) as call:
        async with aclosing(chunks_of(model, list(messages))) as chunks:
            async for chunk in chunks:
                call.first_chunk()
                text = heard.add(chunk)
                if text:
                    say(text)
                    if call.keeps_words:
                        call.said(text)
                message = message_of(chunk)
                if message.additional_kwargs or not isinstance(message.content, str):
                    for thought in thoughts(message):
                        think(thought)
        if heard.fault is not None:
            raise UpstreamUnavailable(f"the model's answer is not whole: {heard.fault}")
        usage = Usage(
            prompt_tokens=heard.tokens_in,
            completion_tokens=heard.tokens_out,
            total_tokens=heard.tokens_in + heard.tokens_out,
        )
        call.ended(
            Answered(
                usage=usage if usage.total_tokens else None,
                finish=heard.ending,
                model=heard.bill.get("model"),
            )
        )
    return Completion(
        finish="length" if heard.ending == "length" else "stop",
        usage=usage,
        latency_ms=round((clock() - began) * 1000),
        model=heard.bill.get("model"),
        usd=heard.bill.get("usd"),
    )
