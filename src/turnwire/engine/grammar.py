"""The life of a turn and of its runs, as a table.

Everything that decides which event may follow which lives here. It knows nothing of LangGraph,
clocks or sockets. ``docs/reference/lifecycle.md`` is drawn from :data:`TRANSITIONS`.
"""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from turnwire.errors import IllegalTransition
from turnwire.events import (
    ActionCompleted,
    BaseEvent,
    CitationAdded,
    Event,
    GuardrailDecided,
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


class TurnState(StrEnum):
    """Where a turn is; ``completed`` and ``failed`` are final."""

    NEW = "new"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"


TRANSITIONS: Final[Mapping[TurnState, Mapping[type[BaseEvent], TurnState]]] = {
    TurnState.NEW: {TurnStarted: TurnState.RUNNING},
    TurnState.RUNNING: {
        NodeStarted: TurnState.RUNNING,
        NodeCompleted: TurnState.RUNNING,
        GuardrailDecided: TurnState.RUNNING,
        ReasoningDelta: TurnState.RUNNING,
        ModelCalled: TurnState.RUNNING,
        RetrievalCompleted: TurnState.RUNNING,
        ToolStarted: TurnState.RUNNING,
        ToolCompleted: TurnState.RUNNING,
        TextDelta: TurnState.RUNNING,
        TextReplaced: TurnState.RUNNING,
        CitationAdded: TurnState.RUNNING,
        ActionCompleted: TurnState.RUNNING,
        TurnPaused: TurnState.PAUSED,
        TurnCompleted: TurnState.COMPLETED,
        TurnFailed: TurnState.FAILED,
    },
    TurnState.PAUSED: {TurnStarted: TurnState.RUNNING},
    TurnState.COMPLETED: {},
    TurnState.FAILED: {},
}

FINAL: Final = frozenset(state for state, allowed in TRANSITIONS.items() if not allowed)


def next_state(state: TurnState, event: Event) -> TurnState:
    """Return the state after ``event``, or raise :class:`IllegalTransition`."""
    try:
        return TRANSITIONS[state][type(event)]
    except KeyError:
        raise IllegalTransition(f"{event.type!r} cannot happen while {state.value}") from None


class Order:
    """The order inside a turn: what is open, and what had to come first.

    Parallel copies of one node are counted, not named: each start wants one completion.
    """

    __slots__ = ("_waiting", "nodes", "said", "state", "tools")

    def __init__(self) -> None:
        self.state = TurnState.NEW
        self.nodes: Counter[str] = Counter()
        self.tools: dict[str, str] = {}
        self.said = False
        self._waiting: tuple[Counter[str], dict[str, str]] = Counter(), {}
        """What was open when the turn paused last."""

    def follow(self, event: Event) -> None:
        """Take the next event, or raise :class:`IllegalTransition` and change nothing."""
        after = next_state(self.state, event)
        match event:
            case TextDelta() | TextReplaced():
                self.said = True
            case NodeStarted() | NodeCompleted():
                self._follow_node(event)
            case ToolStarted() | ToolCompleted():
                self._follow_tool(event)
            case CitationAdded() if not self.said:
                raise IllegalTransition("a citation needs the text that it stands on")
            case TurnStarted():
                self._follow_start(event)
            case TurnPaused() | TurnCompleted() | TurnFailed():
                self._follow_ending(event)
            case _:
                pass
        self.state = after

    def reopen(self) -> None:
        """Take the ending of the latest run back, so that another can be given."""
        if self.state is TurnState.PAUSED:
            self.nodes, self.tools = self._waiting
        self.state = TurnState.RUNNING

    def may_speak(self) -> bool:
        """Whether words may come now, and if so take them as said."""
        self.said = self.said or self.state is TurnState.RUNNING
        return self.state is TurnState.RUNNING

    def _follow_node(self, event: NodeStarted | NodeCompleted) -> None:
        if isinstance(event, NodeStarted):
            self.nodes[event.node] += 1
        elif event.status != "skipped":
            if not self.nodes[event.node]:
                raise IllegalTransition(f"node {event.node!r} completed without a start")
            self.nodes[event.node] -= 1

    def _follow_tool(self, event: ToolStarted | ToolCompleted) -> None:
        call = event.tool_call_id
        if isinstance(event, ToolStarted):
            if call in self.tools:
                raise IllegalTransition(f"tool call {call!r} is already open")
            self.tools[call] = event.name
        elif self.tools.pop(call, None) is None:
            raise IllegalTransition(f"tool call {call!r} completed without a start")

    def _follow_start(self, event: TurnStarted) -> None:
        if event.resumed != (self.state is TurnState.PAUSED):
            raise IllegalTransition("a turn is resumed after a pause and only then")

    def _follow_ending(self, event: TurnPaused | TurnCompleted | TurnFailed) -> None:
        if isinstance(event, TurnPaused):
            # What waits at the pause is started anew by the run that goes on.
            self._waiting = self.nodes, self.tools
            self.nodes, self.tools = Counter(), {}
        elif self.tools or +self.nodes:
            raise IllegalTransition(f"{event.type!r} while something is open")
