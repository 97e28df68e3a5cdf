"""A turn as a script: what happens to it step by step, and what must be left of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from turnwire.engine.grammar import TurnState
from turnwire.engine.turn import Turn
from turnwire.errors import StreamInterrupted, TurnBroken
from turnwire.events import Envelope, Event, Topology, TurnStarted
from turnwire.ids import ConversationId, PauseId, RunId, TurnId
from turnwire.storage.base import Answer, Opening, Store, TurnPhase, TurnRecord
from turnwire.work import Message

EPOCH: Final = 1_800_000_000_000
STEP_MS: Final = 100
TURN_ID: Final = TurnId("trn_1")
CONVERSATION_ID: Final = ConversationId("conv_1")
NO_TOPOLOGY: Final = Topology()


@dataclass(frozen=True)
class Say:
    """The agent says these together."""

    events: Sequence[Event]


@dataclass(frozen=True)
class Answered:
    """People answered; the next run starts."""

    decisions: Mapping[str, str]


@dataclass(frozen=True)
class Cancelled:
    """Somebody stops the running turn."""


@dataclass(frozen=True)
class Failed:
    """The run fails."""

    error: TurnBroken


@dataclass(frozen=True)
class Dropped:
    """Nobody waits for the paused turn any more."""


@dataclass(frozen=True)
class Restarted:
    """The process ended; all that is left of the turn is its log."""


Step = Say | Answered | Cancelled | Failed | Dropped | Restarted


def say(*events: Event) -> Say:
    return Say(events)


@dataclass(frozen=True)
class Scenario:
    """What happens, and what the conversation says afterwards."""

    name: str
    steps: Sequence[Step]
    phase: TurnPhase
    content: str
    finish_reason: str | None = None
    error_code: str | None = None
    markers: Sequence[int] = ()
    pauses: Mapping[str, str] = field(default_factory=dict[str, str])
    """Each pause's id and what became of it."""
    topology: Topology = NO_TOPOLOGY
    turn_id: TurnId = TURN_ID
    conversation_id: ConversationId = CONVERSATION_ID


@dataclass(frozen=True)
class Written:
    """One write to the store: what was done, and the envelopes that say so."""

    step: Step | None
    """None: the turn began."""
    envelopes: list[Envelope]
    at: int


def written(scenario: Scenario) -> Iterator[Written]:
    """Yield what the engine would write, one step after another."""
    turn, at, runs = Turn(scenario.turn_id), EPOCH, 1
    first = TurnStarted(
        conversation_id=scenario.conversation_id,
        agent="helper",
        model="quoting",
        locale="en",
        trace_id="0" * 32,
        topology=scenario.topology,
    )
    log = turn.begin(RunId("run_1"), first, at=at)
    yield Written(None, list(log), at)
    for step in scenario.steps:
        at += STEP_MS
        runs += isinstance(step, Answered | Dropped)
        if isinstance(step, Restarted):
            turn = Turn.restore(scenario.turn_id, log)
        new = _take(turn, step, RunId(f"run_{runs}"), at)
        log += new
        yield Written(step, new, at)


def _take(turn: Turn, step: Step, run_id: RunId, at: int) -> list[Envelope]:
    match step:
        case Say(events):
            return turn.receive(events, at=at)
        case Answered():
            assert turn.started is not None
            resumed = turn.started.model_copy(update={"resumed": True})
            return turn.begin(run_id, resumed, at=at)
        case Cancelled():
            return turn.cancel(at=at)
        case Failed(error):
            return turn.fail(error, error_id="err_1", at=at)
        case Dropped():
            return turn.drop(run_id, at=at)
        case Restarted():
            lost = turn.state is TurnState.RUNNING
            return turn.fail(StreamInterrupted(), error_id="err_1", at=at) if lost else []


def envelopes(scenario: Scenario) -> list[Envelope]:
    """Return the whole log of a scenario."""
    return [each for one in written(scenario) for each in one.envelopes]


def opening(scenario: Scenario, started: Sequence[Envelope]) -> Opening:
    """Return what stores the scenario's turn in a new conversation."""
    record = TurnRecord(
        turn_id=scenario.turn_id,
        conversation_id=scenario.conversation_id,
        principal="key:1",
        agent="helper",
        phase="running",
        run_id=started[0].run_id,
        messages=(Message(role="user", content="How long do I rest?"),),
        locale="en",
        trace_id="0" * 32,
        created_ms=started[0].ts_ms,
        updated_ms=started[0].ts_ms,
    )
    return Opening(turn=record, started=started, earlier_turns=None)


async def play(scenario: Scenario, store: Store) -> None:
    """Do in a store what the engine does."""
    for one in written(scenario):
        match one.step:
            case None:
                await store.begin(opening(scenario, one.envelopes))
            case Answered(decisions):
                answers = [
                    Answer(pause_id=PauseId(each), decision=decision, decided_by="key:2")
                    for each, decision in decisions.items()
                ]
                await store.resume(scenario.turn_id, answers, one.envelopes, now=one.at)
            case Dropped():
                await store.close_paused(scenario.turn_id, one.envelopes)
            case _:
                await store.append(one.envelopes)
