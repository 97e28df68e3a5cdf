"""Turn what LangGraph streams into events: pure, one stream part at a time."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.types import Interrupt
from pydantic_core import PydanticSerializationError

from turnwire.events import (
    EVENT,
    EVENT_TYPES,
    Event,
    NodeCompleted,
    NodeStarted,
    ReasoningDelta,
    TextDelta,
    ToolCompleted,
    ToolStarted,
)
from turnwire.events.node import NodeStatus
from turnwire.graph.emit import Batch
from turnwire.graph.manifest import Manifest
from turnwire.graph.plain import (
    PIECE,
    Joiner,
    is_whole,
    mend,
    pieces,
    preview,
    preview_arguments,
    to_json,
    unchanged,
)

Part = Mapping[str, Any]
"""One item of ``astream(version="v2")``: ``type``, ``ns`` and ``data``."""


class Translator:
    """What one run has shown so far; feed it parts, take events.

    ``previewed`` returns a text of a tool's arguments or result as it may be shown.
    """

    def __init__(
        self,
        manifest: Manifest,
        heard: Container[str] = (),
        previewed: Callable[[str], str] = unchanged,
    ) -> None:
        self.manifest = manifest
        self._previewed = previewed
        self.state: Mapping[str, Any] = {}
        """The root graph's latest state."""
        self.interrupts: dict[str, Interrupt] = {}
        self.tasks: dict[str, tuple[str, int]] = {}
        """The root graph's open tasks by id: the node, and when it started (ms)."""
        self._tools: dict[str, tuple[str, int]] = {}
        self._heard = heard
        self._joiner = Joiner()
        self._thoughts = Joiner()

    def translate(self, part: Part, *, at: int) -> Sequence[Event]:
        """Return the events that one stream part amounts to, at ``at`` (ms)."""
        data = part["data"]
        match part["type"]:
            case "custom":
                return self._custom(data)
            case "tasks" if not part["ns"]:
                return self._task(data, at)
            case "updates" if not part["ns"]:
                return self._update(data, at)
            case "values" if not part["ns"]:
                self.state = data if isinstance(data, Mapping) else {}
            case "tools":
                return self._tool(data, at)
            case _:
                pass
        return ()

    def may_pass(self, text: str) -> bool:
        """Whether the words are whole as they are, and nothing before them is held back."""
        return not self._joiner.held and is_whole(text)

    def close(self, *, at: int) -> list[Event]:
        """Return what is left to say at the end of a run that went well."""
        tail = self._joiner.flush()
        said: list[Event] = [TextDelta(text=tail)] if tail else []
        if not self.interrupts:
            for task_id in list(self.tasks):
                said += self._end_task(task_id, at, status="executed")
        return said

    def final_message(self) -> AIMessage | None:
        """Return the turn's answer in the state: the last that is meant for the member.

        A model call that was not heard (tagged ``nostream``, or of another node) may have left
        its message in the state; that one is for the graph, not for people.
        """
        for each in reversed(cast("Sequence[BaseMessage]", self.state.get("messages") or ())):
            if isinstance(each, HumanMessage):
                return None
            if isinstance(each, AIMessage) and each.text and not self._is_internal(each):
                return each
        return None

    def _is_internal(self, message: AIMessage) -> bool:
        if self.manifest.speaks:
            return False
        by_model = bool(
            message.usage_metadata
            or message.response_metadata
            or (message.id or "").startswith(("lc_run-", "run-"))
        )
        return by_model and (message.id or "") not in self._heard

    def _custom(self, data: object) -> Sequence[Event]:
        if isinstance(data, Batch):
            return list(self._spoken(data.take()))
        if isinstance(data, EVENT_TYPES):
            return list(self._spoken((cast("Event", data),)))
        return ()  # a graph's own custom data is not ours to publish

    def _spoken(self, events: Sequence[Event]) -> Iterator[Event]:
        for event in events:
            if type(event) is TextDelta:
                if len(event.text) < PIECE and self.may_pass(event.text):
                    yield event
                else:
                    yield from self._text(event.text)
            elif type(event) is ReasoningDelta:
                for piece in pieces(self._thoughts.feed(event.text)):
                    yield ReasoningDelta(node=event.node, text=piece)
            else:
                yield _mended(event)

    def _text(self, text: str) -> Iterator[TextDelta]:
        for piece in pieces(self._joiner.feed(text)):
            yield TextDelta(text=piece)

    def _task(self, data: Mapping[str, Any], at: int) -> Sequence[Event]:
        task_id, node = data["id"], data["name"]
        if "result" not in data and "error" not in data:
            self.tasks[task_id] = (node, at)
            return (NodeStarted(node=node),)
        if data.get("interrupts"):
            return ()  # it waits; the run that goes on starts it anew
        status = "failed" if data.get("error") else "executed"
        return self._end_task(task_id, at, status=status, route=_route(data.get("result")))

    def _end_task(
        self,
        task_id: str,
        at: int,
        *,
        status: NodeStatus,
        route: str | None = None,
    ) -> Sequence[Event]:
        known = self.tasks.pop(task_id, None)
        if known is None:  # LangGraph's error handlers report an end without a start
            return ()
        node, since = known
        duration_ms = max(0, at - since)
        return (NodeCompleted(node=node, status=status, duration_ms=duration_ms, route=route),)

    def _update(self, data: Mapping[str, Any], at: int) -> Sequence[Event]:
        for each in cast("Sequence[Interrupt]", data.get("__interrupt__") or ()):
            self.interrupts[each.id] = each
        metadata = cast("Mapping[str, Any]", data.get("__metadata__") or {})
        if not metadata.get("cached"):
            return ()
        ended: list[Event] = []
        for task_id, (node, _) in list(self.tasks.items()):
            if node in data:
                ended += self._end_task(task_id, at, status="executed")
                break
        return ended

    def _tool(self, data: Mapping[str, Any], at: int) -> Sequence[Event]:
        call, event = str(data.get("tool_call_id")), data.get("event")
        if event == "tool-started" and call not in self._tools:
            name = str(data.get("tool_name"))
            self._tools[call] = (name, at)
            arguments = preview_arguments(data.get("input"), text=self._previewed)
            return (ToolStarted(tool_call_id=call, name=name, arguments=arguments),)
        if event not in ("tool-finished", "tool-error") or call not in self._tools:
            return ()
        name, since = self._tools.pop(call)
        ok = event == "tool-finished"
        return (
            ToolCompleted(
                tool_call_id=call,
                name=name,
                status="ok" if ok else "error",
                duration_ms=max(0, at - since),
                result=preview(_content(data.get("output")), text=self._previewed) if ok else None,
                error=None if ok else "the tool failed",
            ),
        )


def _content(output: object) -> object:
    return output.content if isinstance(output, BaseMessage) else output


def _route(result: object) -> str | None:
    if isinstance(result, Mapping):
        route = cast("Mapping[str, object]", result).get("route")
        return mend(route) if isinstance(route, str) and route else None
    return None


def _mended(event: Event) -> Event:
    """Return the event without half characters, which no store and no client takes."""
    try:
        event.model_dump_json()
    except PydanticSerializationError:
        return EVENT.validate_python(to_json(event.model_dump()))
    return event
