"""Read off the graph's own channels how a turn ended."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic import ValidationError

from turnwire.events import Cost, Fact, TurnCompleted, Usage
from turnwire.graph.manifest import Manifest
from turnwire.graph.plain import mend
from turnwire.graph.translate import Translator

F = TypeVar("F", bound=Fact)


def completed(translator: Translator, manifest: Manifest) -> TurnCompleted:
    """Return the ending of a run that reached the graph's end.

    ``finish_reason``, ``usage`` and ``cost`` are the state's where it has such channels, else
    they are read off the messages that the models returned in this turn.
    """
    state = translator.state
    message = translator.final_message()
    usage = _usage(state)
    return TurnCompleted(
        finish_reason=_finish_reason(state, message),
        content=mend(str(message.text)) if message else "",
        usage=usage,
        cost=_cost(state, usage, message, manifest),
    )


def draft(state: Mapping[str, Any]) -> str:
    """Return the state's ``draft``, or nothing where the graph has no such channel."""
    text = state.get("draft")
    return mend(text) if isinstance(text, str) else ""


def _finish_reason(state: Mapping[str, Any], message: AIMessage | None) -> str:
    said = state.get("finish_reason")
    if isinstance(said, str) and said:
        return said
    metadata: Mapping[str, Any] = message.response_metadata if message else {}
    stopped = metadata.get("finish_reason") or metadata.get("stop_reason")
    return "length" if stopped in ("length", "max_tokens") else "stop"


def _said(model: type[F], channel: object) -> F | None:
    """Return a channel in our shape; a graph may have one of that name for something else."""
    try:
        return model.model_validate(channel)
    except ValidationError:
        return None


def _usage(state: Mapping[str, Any]) -> Usage:
    said = _said(Usage, state.get("usage"))
    if said is not None:
        return said
    tokens_in = tokens_out = 0
    for each in reversed(cast("Sequence[BaseMessage]", state.get("messages") or ())):
        if isinstance(each, HumanMessage):
            break
        if isinstance(each, AIMessage) and each.usage_metadata:
            tokens_in += each.usage_metadata["input_tokens"]
            tokens_out += each.usage_metadata["output_tokens"]
    return Usage(
        prompt_tokens=tokens_in,
        completion_tokens=tokens_out,
        total_tokens=tokens_in + tokens_out,
    )


def _cost(
    state: Mapping[str, Any], usage: Usage, message: AIMessage | None, manifest: Manifest
) -> Cost:
    said = _said(Cost, state.get("cost"))
    if said is not None:
        return said
    model = message.response_metadata.get("model_name") if message else None
    return Cost(
        model=str(model or manifest.model),
        tokens_in=usage.prompt_tokens,
        tokens_out=usage.completion_tokens,
    )
