"""What goes through a ``ToolNode``: the state that it reads, and what its calls return."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypedDict, cast

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

Result = ToolMessage | Command[Any]
Execute = Callable[[ToolCallRequest], Result]
AsyncExecute = Callable[[ToolCallRequest], Awaitable[Result]]


class Wrappers(TypedDict):
    """What ``ToolNode`` takes."""

    wrap_tool_call: Callable[[ToolCallRequest, Execute], Result]
    awrap_tool_call: Callable[[ToolCallRequest, AsyncExecute], Awaitable[Result]]


def messages_of(state: Any) -> Sequence[BaseMessage]:  # noqa: ANN401 - whatever a graph declares
    """Return the messages of a graph's state."""
    if isinstance(state, list):
        return cast("Sequence[BaseMessage]", state)
    if isinstance(state, Mapping):
        return cast("Sequence[BaseMessage]", cast("Mapping[str, Any]", state).get("messages", ()))
    return cast("Sequence[BaseMessage]", getattr(state, "messages", ()))


def passages_of(state: Any) -> Sequence[str]:  # noqa: ANN401 - whatever a graph declares
    """Return the passages that stand under ``evidence``; see ``nodes.evidence.source.to_state``."""
    found: object = cast("Any", state).get("evidence") if isinstance(state, Mapping) else None
    rows = cast("Sequence[object]", found) if isinstance(found, list) else ()
    return [_passage(cast("Mapping[str, Any]", each)) for each in rows if isinstance(each, Mapping)]


def locale_of(runtime: object, usual: str) -> str:
    """Return the language of the turn's texts, or ``usual`` where its context does not tell."""
    context: object = getattr(runtime, "context", None)
    return getattr(context, "locale", None) or usual


def change_messages(result: Result, by: Callable[[ToolMessage], ToolMessage]) -> Result:
    """Return what a call returned with each tool message in it changed."""
    if isinstance(result, ToolMessage):
        return by(result)
    if isinstance(result, list):  # a tool that returns several
        several = cast("list[Result]", result)
        return cast("Any", [change_messages(each, by) for each in several])
    return Command(
        graph=result.graph,
        update=_change_update(result.update, by),
        resume=result.resume,
        goto=result.goto,
    )


def _change_update(update: Any, by: Callable[[ToolMessage], ToolMessage]) -> Any:  # noqa: ANN401
    match update:
        case dict():
            channels = cast("Mapping[str, Any]", update)
            return {key: _change_update(each, by) for key, each in channels.items()}
        case list():
            return [
                by(each) if isinstance(each, ToolMessage) else each
                for each in cast("list[Any]", update)
            ]
        case _:
            return update


def _passage(row: Mapping[str, Any]) -> str:
    passage: object = row.get("passage")
    title: object = (
        cast("Mapping[str, object]", passage).get("title") if isinstance(passage, Mapping) else ""
    )
    return f"{title}\n{row.get('text', '')}"
