"""Measure the model calls that a graph makes through LangChain."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langgraph.config import get_config

from turnwire.events import Usage
from turnwire.graph.plain import root_task
from turnwire.probe import CALLS, Answered, Asked, Call, Words

_ROLES: Final[Mapping[str, str]] = {"human": "user", "ai": "assistant"}
_PROVIDERS: Final[Mapping[str, str]] = {
    # LangChain's names that are not those of the conventions' `gen_ai.provider.name`.
    "azure": "azure.ai.openai",
    "azure_openai": "azure.ai.openai",
    "amazon_bedrock": "aws.bedrock",
    "google_genai": "gcp.gemini",
    "google_vertexai": "gcp.vertex_ai",
    "ibm": "ibm.watsonx.ai",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
_REASONS: Final = ("finish_reason", "stop_reason", "done_reason")


class MeasuredCalls(BaseCallbackHandler):
    """Tells of each call to the run's :data:`turnwire.probe.CALLS`; one instance a run."""

    run_inline = True
    ignore_chain = ignore_agent = ignore_retriever = True  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    ignore_retry = ignore_custom_event = True  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def __init__(self) -> None:
        self._calls: dict[UUID, Call] = {}

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,  # noqa: ANN401 - LangChain's signature
    ) -> None:
        """Begin a call."""
        calls, known = CALLS.get(), metadata or {}
        if calls is not None:
            self._calls[run_id] = calls.begin(_asked(known, root_task(known)[0], messages[0]))

    def on_llm_new_token(self, token: Any, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ANN401
        """Note the first chunk."""
        call = self._calls.get(run_id)
        if call is not None:
            call.first_chunk()

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ANN401
        """End the call."""
        call = self._calls.pop(run_id, None)
        if call is None:
            return
        said = [one for each in response.generations for one in each]
        message = said[0].message if said and isinstance(said[0], ChatGeneration) else None
        if call.keeps_words and message is not None:
            call.said(str(message.text))
        call.ended(answered(message))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ANN401
        """End the call."""
        call = self._calls.pop(run_id, None)
        if call is not None:
            call.failed(error)


def asking(model: BaseChatModel, messages: Sequence[BaseMessage]) -> Callable[[], Asked]:
    """Return what a node asks that reads ``model`` without LangChain's callbacks."""

    def asked() -> Asked:
        try:
            running: Mapping[str, Any] = get_config().get("metadata") or {}
        except RuntimeError:  # outside a graph
            running = {}
        params = model._get_ls_params()  # pyright: ignore[reportPrivateUsage]
        return _asked(params, root_task(running)[0], messages)

    return asked


def answered(message: BaseMessage | None) -> Answered:
    """Return what a call came to, as the answer's message tells it."""
    if not isinstance(message, AIMessage):
        return Answered()
    used, about = message.usage_metadata, message.response_metadata
    usage = None
    if used:
        usage = Usage(
            prompt_tokens=used["input_tokens"],
            completion_tokens=used["output_tokens"],
            total_tokens=used["total_tokens"],
        )
    reason = next((about[each] for each in _REASONS if isinstance(about.get(each), str)), None)
    name = about.get("model_name")
    return Answered(usage=usage, finish=reason, model=name if isinstance(name, str) else None)


def _asked(params: Mapping[str, Any], node: str, messages: Sequence[BaseMessage]) -> Asked:
    provider = str(params.get("ls_provider") or "unknown")
    return Asked(
        model=str(params.get("ls_model_name") or provider),
        provider=_PROVIDERS.get(provider, provider),
        node=node,
        temperature=params.get("ls_temperature"),
        max_tokens=params.get("ls_max_tokens"),
        prompt=lambda: [
            Words(_ROLES.get(each.type, each.type), str(each.text)) for each in messages
        ],
    )
