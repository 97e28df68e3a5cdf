"""The studio wire: what staff see of a turn while it runs, over a socket.

``docs/reference/wires.md`` is generated from its types.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from turnwire.errors import StreamInterrupted
from turnwire.events import (
    RUN_ENDINGS,
    ActionCompleted,
    CitationAdded,
    Envelope,
    ModelCalled,
    NodeCompleted,
    NodeStarted,
    ReasoningDelta,
    RetrievalCompleted,
    TextDelta,
    TextReplaced,
    ToolCompleted,
    ToolStarted,
    TurnCompleted,
    TurnFailed,
    TurnPaused,
    TurnStarted,
)
from turnwire.wires.base import FRAME_BYTES, WireMessage, to_json
from turnwire.wires.studio_frames import (
    FRAMES,
    ActionCompletedFrame,
    CitationFrame,
    Done,
    ErrorBody,
    FailedCall,
    NodeComplete,
    NodeStart,
    Reasoning,
    Retrieval,
    StudioFrame,
    TextReplacedFrame,
    ToolResult,
    ToolStart,
    TurnStartedFrame,
    approval,
)

_NAMES: Final = {body: name for name, body in FRAMES.items()}


class Studio:
    """Says a turn on the studio wire, over as many runs as it hears."""

    def __init__(self, *, client_message_id: str | None = None, retells: bool = True) -> None:
        """Begin to say a turn.

        Args:
            client_message_id: of the message that it answers here.
            retells: whether a client that has heard it all is told the ending again.
        """
        self._retells = retells
        self._client_message_id = client_message_id
        self._nodes = _Nodes()
        self._latest: Envelope | None = None
        self._has_said = False

    def say(self, envelope: Envelope, /) -> Iterable[WireMessage]:
        """Return the frames that say this event; only a pause that asks several has several."""
        event = envelope.event
        self._has_said = True
        if type(event) is TextDelta:  # nine of ten events
            self._latest = envelope
            if not event.text:  # it was taken back
                return ()
            data = f'{{"content":{to_json(event.text)},"node_id":{self._nodes.speaking}}}'
            return (WireMessage(f"{envelope.turn_id}.{envelope.seq}", "token", data),)
        said = [_message(envelope, each) for each in self._frames(envelope)]
        self.hear(envelope)
        return said

    def hear(self, envelope: Envelope, /) -> None:
        """See :class:`turnwire.wires.base.Wire`."""
        self._latest = envelope
        self._nodes.hear(envelope)

    def end(self, *, error_id: str) -> Iterable[WireMessage]:
        """See :class:`turnwire.wires.base.Wire`."""
        latest, cut = self._latest, StreamInterrupted
        if latest is not None and isinstance(latest.event, RUN_ENDINGS):
            if self._has_said or not self._retells:
                return ()
            return [_message(latest, each) for each in self._frames(latest)]
        body = ErrorBody(
            code=cut.code, message=cut.public, retryable=cut.retryable, error_id=error_id
        )
        position = f"{latest.turn_id}.{latest.seq}" if latest else ""
        return (message(position, body),)

    def _frames(self, envelope: Envelope) -> Sequence[StudioFrame]:
        event = envelope.event
        match event:
            case TurnStarted():
                return (_started(event, self._client_message_id),)
            case NodeStarted() | NodeCompleted():
                return (self._nodes.frame(event, ts_ms=envelope.ts_ms),)
            case TextReplaced():
                return (TextReplacedFrame(content=event.text, reason=event.reason),)
            case ReasoningDelta():
                return (Reasoning(node_id=event.node, text=event.text),) if event.text else ()
            case TurnPaused():
                return [approval(each, draft=event.draft) for each in event.pauses]
            case TurnCompleted() | TurnFailed():
                return (_ended(event),)
            case _:
                return _used(envelope)


class _Nodes:
    """Which nodes work, and which models they asked."""

    def __init__(self) -> None:
        self.speaking = '""'
        """The node whose words come, as JSON: the one that began last and has not ended, or of
        which the last word was."""
        self._open: list[str] = []
        self._kinds: dict[str, str] = {}
        self._asked: dict[str, list[ModelCalled]] = {}

    def hear(self, envelope: Envelope) -> None:
        event = envelope.event
        match event:
            case TurnStarted():
                self._kinds = {each.id: each.kind for each in event.topology.nodes}
                self._open.clear()
                self._asked.clear()
            case NodeStarted():
                self._open.append(event.node)
                self._speaks(event.node)
            case NodeCompleted():
                self._close(event)
            case ModelCalled() if self._open:
                self._asked.setdefault(self._open[-1], []).append(event)
            case _:
                pass

    def frame(self, event: NodeStarted | NodeCompleted, *, ts_ms: int) -> StudioFrame:
        if isinstance(event, NodeStarted):
            kind = self._kinds.get(event.node, "node")
            return NodeStart(node_id=event.node, kind=kind, ts_ms=ts_ms)
        asked = self._asked.get(event.node, ()) if event.status != "skipped" else ()
        answered = [each.provider for each in asked if each.outcome == "ok"]
        failed = tuple(
            FailedCall(model=each.provider, outcome=each.outcome)
            for each in asked
            if each.outcome != "ok"
        )
        return NodeComplete(
            node_id=event.node,
            status=event.status,
            duration_ms=event.duration_ms,
            route=event.route,
            model=answered[-1] if answered else None,
            failed=failed or None,
        )

    def _close(self, event: NodeCompleted) -> None:
        if event.status == "skipped":
            return
        if event.node in self._open:
            self._open.remove(event.node)
        if event.node not in self._open:
            self._asked.pop(event.node, None)
        if self._open:
            self._speaks(self._open[-1])

    def _speaks(self, node: str) -> None:
        self.speaking = to_json(node)


def message(position: str, body: StudioFrame) -> WireMessage:
    """Return a frame; what outgrows a client's buffer is told in short.

    Args:
        position: ``turn_id.seq``, or nothing for a frame that is of no turn.
        body: what the frame carries.
    """
    data = _dumped(body)
    if len(data) > FRAME_BYTES // 4 and len(data.encode()) > FRAME_BYTES:
        data = _dumped(body.shorter())
    return WireMessage(position, _NAMES[type(body)], data)


def _message(envelope: Envelope, body: StudioFrame) -> WireMessage:
    return message(f"{envelope.turn_id}.{envelope.seq}", body)


def _dumped(body: StudioFrame) -> str:
    return to_json(body.model_dump(mode="json", exclude_none=True))


def _started(event: TurnStarted, client_message_id: str | None) -> TurnStartedFrame:
    return TurnStartedFrame(
        conversation_id=event.conversation_id,
        agent=event.agent,
        model=event.model,
        locale=event.locale,
        resumed=event.resumed,
        nodes=event.topology.nodes,
        edges=event.topology.edges,
        client_message_id=client_message_id,
    )


def _used(envelope: Envelope) -> Sequence[StudioFrame]:
    """Return what says an event of tools, searches and sources."""
    event = envelope.event
    match event:
        case ToolStarted() | ToolCompleted():
            return (_tool(event),)
        case RetrievalCompleted():
            return (Retrieval.model_validate(event.model_dump(exclude={"type"})),)
        case CitationAdded():
            return (CitationFrame.model_validate(event.citation.model_dump()),)
        case ActionCompleted():
            ended = ActionCompletedFrame(
                approval_id=event.confirmation_id,
                approved=event.decision == "approve",
                status=event.status,
                error=event.error,
            )
            return (ended,)
        case _:
            return ()  # what guardrails and models did is told with the nodes that did it


def _tool(event: ToolStarted | ToolCompleted) -> StudioFrame:
    call = event.tool_call_id
    if isinstance(event, ToolStarted):
        return ToolStart(tool_call_id=call, name=event.name, arguments=event.arguments)
    return ToolResult(
        tool_call_id=call,
        name=event.name,
        status=event.status,
        duration_ms=event.duration_ms,
        result=event.result,
        error=event.error,
        code=event.code,
    )


def _ended(event: TurnCompleted | TurnFailed) -> StudioFrame:
    if isinstance(event, TurnFailed):
        return ErrorBody.model_validate(event.model_dump(exclude={"type"}))
    return Done(
        finish_reason=event.finish_reason,
        usage=event.usage,
        cost=event.cost,
        human_wait_ms=event.human_wait_ms,
    )
