"""A chain of chat models that answers as one: the first that can, does.

    model = Gateway(upstreams=[primary, secondary])

It goes on to the next model only as long as no word was passed on; later, a failure is the
answer's end. It is an ordinary chat model, for any graph; it works asynchronously only.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Self, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import agenerate_from_stream
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableBinding
from pydantic import Field, SkipValidation

from turnwire.graph.heard import BILL, SELF_METERED, Chunk
from turnwire.models.attempt import Attempt, Upstream
from turnwire.models.budget import Spent, estimated_prompt
from turnwire.models.calls import Calls, Terms


class Gateway(BaseChatModel):
    """Answers with the first of ``upstreams`` that can.

    The last chunk has the usage of all calls together, and in ``response_metadata`` under
    ``turnwire`` the ``model`` that answered and the US dollars of all calls, ``usd``.

    Raises, from ``ainvoke`` and ``astream``:
        UpstreamUnavailable, UpstreamRateLimited, UpstreamTimeout: nobody could answer, or the
            provider failed after its first word.
        BudgetExceeded: the turn may not spend what another call would take.
        Exception: the provider's own, where every provider refused the request as wrong.
    """

    upstreams: SkipValidation[Sequence[Upstream]] = Field(exclude=True, repr=False)
    tags: list[str] | None = Field(default_factory=lambda: [SELF_METERED])
    terms: SkipValidation[Terms] = Field(default_factory=Terms, exclude=True, repr=False)

    @property
    def _llm_type(self) -> str:
        return "turnwire-gateway"

    def after(self, key: str | None) -> Self | None:
        """Return the chain behind the provider with this key, or none where nobody is."""
        keys = [each.key for each in self.upstreams]
        if key not in keys or key == keys[-1]:
            return None
        return self.model_copy(update={"upstreams": self.upstreams[keys.index(key) + 1 :]})

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Self:  # noqa: ANN401 - LangChain's signature
        """Return a gateway that offers ``tools`` to each model, in the form that it takes."""
        bound = [
            replace(each, options={**each.options, **_bound(each.model, tools, **kwargs)})
            for each in self.upstreams
        ]
        return self.model_copy(update={"upstreams": bound})

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 - LangChain's signature
    ) -> ChatResult:
        raise NotImplementedError("the gateway is asynchronous: call ainvoke or astream")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 - LangChain's signature
    ) -> ChatResult:
        return await agenerate_from_stream(self._astream(messages, stop, run_manager, **kwargs))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 - LangChain's signature
    ) -> AsyncIterator[ChatGenerationChunk]:
        options = kwargs if stop is None else {**kwargs, "stop": stop}
        calls = Calls(self.upstreams, self.terms, prompt=estimated_prompt(messages))
        while True:
            attempt = calls.next()
            try:
                with calls.watched(attempt):
                    async with aclosing(attempt.chunks(messages, **options)) as chunks:
                        async for chunk in chunks:
                            yield await _told(chunk, run_manager)
            except Exception as error:  # each provider's package has its own
                await asyncio.sleep(calls.wait_after(attempt, error))
            else:
                yield await _told(_ending(attempt, calls.took), run_manager)
                return


async def _told(
    chunk: Chunk, run_manager: AsyncCallbackManagerForLLMRun | None
) -> ChatGenerationChunk:
    if not isinstance(chunk, ChatGenerationChunk):
        chunk = ChatGenerationChunk(message=cast("AIMessageChunk", chunk))
    if run_manager is not None:
        await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
    return chunk


def _ending(attempt: Attempt, took: Spent) -> AIMessageChunk:
    said: dict[str, Any] = {BILL: {"model": attempt.upstream.name, "usd": took.usd}}
    if attempt.is_over_budget:  # the provider's own ending was not waited for
        said["finish_reason"] = "length"
    return AIMessageChunk(
        content="",
        usage_metadata={
            "input_tokens": took.tokens_in,
            "output_tokens": took.tokens_out,
            "total_tokens": took.tokens_in + took.tokens_out,
        },
        response_metadata=said,
        chunk_position="last",
    )


def _bound(model: BaseChatModel, tools: Sequence[Any], **kwargs: Any) -> dict[str, Any]:  # noqa: ANN401 - LangChain's
    bound = model.bind_tools(tools, **kwargs)
    if not isinstance(bound, RunnableBinding):
        raise TypeError(f"{type(model).__name__} binds tools in a way of its own")
    return dict(bound.kwargs)
