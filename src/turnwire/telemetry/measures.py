"""How measurements are read off the events: pure, one envelope at a time.

What a graph names freely is counted under ``other`` where it is not known, or too many are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from turnwire.engine.observer import Earlier
from turnwire.errors import TURN_FAILURES
from turnwire.events import (
    Envelope,
    Event,
    GuardrailDecided,
    NodeCompleted,
    TextDelta,
    TextReplaced,
    TurnCompleted,
    TurnFailed,
    TurnPaused,
    TurnStarted,
)
from turnwire.ids import RunId, TurnId
from turnwire.telemetry.catalog import (
    COST,
    FAILOVERS,
    FIRST_TOKEN,
    GUARD_VERDICTS,
    NODE_SECONDS,
    TOKENS,
    TURN_SECONDS,
    TURNS,
    Metric,
)

OTHER: Final = "other"
_NAMES: Final = 100

FINISH_REASONS: Final = frozenset(
    {"stop", "insufficient_evidence", "no_match", "refused", "escalated", "length", "cancelled"}
)
"""The reasons that are counted by name; a graph may give any."""


class Measurement(NamedTuple):
    """One observation: a counter goes up by ``value``, a histogram takes it."""

    metric: Metric
    labels: tuple[str, ...]
    value: float = 1.0


class Names:
    """Lets the first names through as they are, and calls the rest ``other``."""

    def __init__(self, most: int = _NAMES) -> None:
        self._most = most
        self._known: set[str] = set()

    def bounded(self, name: str) -> str:
        """Return the name, or ``other``."""
        if name not in self._known:
            if len(self._known) >= self._most:
                return OTHER
            self._known.add(name)
        return name


def outcome_of(event: TurnCompleted | TurnFailed) -> str:
    """Return how a turn ended, as one of a closed set of words."""
    if isinstance(event, TurnFailed):
        return event.code if event.code in TURN_FAILURES else OTHER
    return event.finish_reason if event.finish_reason in FINISH_REASONS else OTHER


@dataclass(slots=True)
class _Running:
    run_id: RunId
    started: TurnStarted
    since_ms: int
    worked_ms: int | None
    silent: bool
    """Whether its first words are still awaited, and will be measured."""


class Account:
    """What the turns that run have shown so far; feed it envelopes, take measurements."""

    def __init__(self) -> None:
        self._turns: dict[TurnId, _Running] = {}
        self._models = Names()

    @property
    def running(self) -> int:
        """How many turns it follows; one that paused is followed no longer."""
        return len(self._turns)

    def forget(self, turn_id: TurnId, run_id: RunId) -> None:
        """Follow this run no longer, should its ending never have been told."""
        turn = self._turns.get(turn_id)
        if turn is not None and turn.run_id == run_id:
            del self._turns[turn_id]

    def hear(self, envelope: Envelope, earlier: Earlier | None = None) -> Sequence[Measurement]:
        """Return what the envelope amounts to; see :class:`turnwire.engine.observer.Observer`."""
        event = envelope.event
        if isinstance(event, TextDelta | TextReplaced):
            return self._words(envelope)
        return tuple(self._fact(envelope, event, earlier))

    def _words(self, envelope: Envelope) -> Sequence[Measurement]:
        turn = self._turns.get(envelope.turn_id)
        if turn is None or not turn.silent:
            return ()
        turn.silent = False
        took = (envelope.ts_ms - turn.since_ms) / 1000
        return (Measurement(FIRST_TOKEN, (turn.started.agent,), took),)

    def _fact(
        self, envelope: Envelope, event: Event, earlier: Earlier | None
    ) -> Iterator[Measurement]:
        match event:
            case TurnStarted():
                self._turns[envelope.turn_id] = _Running(
                    run_id=envelope.run_id,
                    started=event,
                    since_ms=envelope.ts_ms,
                    worked_ms=_worked(event, earlier),
                    silent=not event.resumed,
                )
            case GuardrailDecided():
                yield Measurement(GUARD_VERDICTS, (event.decision.check, event.decision.outcome))
            case NodeCompleted() if event.status != "skipped":
                yield from self._node(envelope.turn_id, event)
            case TurnPaused():
                self._turns.pop(envelope.turn_id, None)
            case TurnCompleted() | TurnFailed():
                yield from self._ended(envelope, event, earlier)
            case _:
                pass

    def _node(self, turn_id: TurnId, event: NodeCompleted) -> Iterator[Measurement]:
        turn = self._turns.get(turn_id)
        if turn is None:
            return
        known = any(each.id == event.node for each in turn.started.topology.nodes)
        labels = (turn.started.agent, event.node if known else OTHER, event.status)
        yield Measurement(NODE_SECONDS, labels, event.duration_ms / 1000)
        if event.failover is not None:
            outcome = "failed" if event.failover.answered is None else "answered"
            yield Measurement(FAILOVERS, (turn.started.agent, outcome))

    def _ended(
        self, envelope: Envelope, event: TurnCompleted | TurnFailed, earlier: Earlier | None
    ) -> Iterator[Measurement]:
        turn = self._turns.pop(envelope.turn_id, None)
        started = turn.started if turn else earlier.started if earlier else None
        agent = started.agent if started else OTHER
        yield Measurement(TURNS, (agent, outcome_of(event)))
        if turn is not None and turn.worked_ms is not None:
            took = turn.worked_ms + envelope.ts_ms - turn.since_ms
            yield Measurement(TURN_SECONDS, (agent,), took / 1000)
        if isinstance(event, TurnCompleted):
            yield from self._spent(event)

    def _spent(self, event: TurnCompleted) -> Iterator[Measurement]:
        model = self._models.bounded(event.cost.model)
        directions = (
            ("input", event.usage.prompt_tokens),
            ("output", event.usage.completion_tokens),
        )
        for direction, tokens in directions:
            if tokens > 0:
                yield Measurement(TOKENS, (model, direction), tokens)
        if event.cost.usd > 0:
            yield Measurement(COST, (model,), event.cost.usd)


def _worked(event: TurnStarted, earlier: Earlier | None) -> int | None:
    """Return how long the turn had worked; none where it goes on and nobody said so."""
    if not event.resumed:
        return 0
    return earlier.worked_ms if earlier else None
