"""A supervisor with agents that do what a test wrote."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from turnwire.clock import system_now
from turnwire.engine.observer import NOBODY, Observer
from turnwire.engine.supervisor import Supervisor, SupervisorPolicy
from turnwire.engine.turn import Turn
from turnwire.events import Envelope, Event, Topology, TurnCompleted, TurnFailed, TurnStarted
from turnwire.ids import BEGINNING, ConversationId, PauseId, RunId, Seq, TurnId, new_id
from turnwire.storage.base import Answer, Opening, Store, TurnRecord
from turnwire.storage.memory import MemoryStore
from turnwire.work import Message, Work

Batches = AsyncGenerator[Sequence[Event], None]
Script = Callable[[Work], Batches]


class ScriptedAgent:
    """An agent whose work is the script."""

    slug = "helper"
    version = None
    title = "Helper"
    description = ""
    model = "quoting"
    models = ()
    topology = Topology()

    def __init__(self, script: Script) -> None:
        self._script = script

    def work(self, work: Work, /) -> Batches:
        return self._script(work)

    async def forget(self, conversation_id: ConversationId, /) -> None:
        """Nothing is kept."""


@dataclass
class Reports:
    """Failures as they were told to the operators."""

    failures: list[tuple[BaseException, str, str]] = field(
        default_factory=list[tuple[BaseException, str, str]]
    )

    def failed(self, error: BaseException, *, error_id: str, turn_id: str) -> None:
        self.failures.append((error, error_id, turn_id))


class Stage:
    """Begins turns and listens to them."""

    def __init__(self, supervisor: Supervisor, store: Store, reports: Reports) -> None:
        self.supervisor = supervisor
        self.store = store
        self.reports = reports

    async def begin(
        self, script: Script, *, agent: ScriptedAgent | None = None, trace_id: str = "0" * 32
    ) -> TurnId:
        """Begin a turn in a new conversation."""
        turn, at = Turn(TurnId(new_id("trn"))), system_now()
        event = TurnStarted(
            conversation_id=ConversationId(new_id("conv")),
            agent="helper",
            model="quoting",
            locale="en",
            trace_id=trace_id,
            topology=Topology(),
        )
        started = turn.begin(RunId(new_id("run")), event, at=at)
        work = Work(
            turn_id=turn.turn_id,
            conversation_id=event.conversation_id,
            run_id=turn.run_id,
            principal="key:1",
            locale="en",
            trace_id=event.trace_id,
            started_ms=at,
            messages=(Message(role="user", content="Hello"),),
        )
        record = TurnRecord(
            turn_id=turn.turn_id,
            conversation_id=event.conversation_id,
            principal="key:1",
            agent="helper",
            phase="running",
            run_id=turn.run_id,
            messages=work.messages,
            locale="en",
            trace_id=event.trace_id,
            created_ms=at,
        )
        opening = Opening(turn=record, started=started, earlier_turns=None)
        turn = Turn.restore(opening.turn.turn_id, opening.started)
        await self.supervisor.start(agent or ScriptedAgent(script), turn, opening, work)
        return turn.turn_id

    async def resume(self, turn_id: TurnId, pause_id: str, script: Script) -> Sequence[Envelope]:
        """Answer a pause and go on."""
        turn = await self.supervisor.restore(turn_id)
        assert turn.started is not None
        work = Work(
            turn_id=turn_id,
            conversation_id=turn.started.conversation_id,
            run_id=RunId(new_id("run")),
            principal="key:1",
            locale="en",
            trace_id=turn.started.trace_id,
            started_ms=system_now(),
            answers={PauseId(pause_id): "yes"},
        )
        answer = Answer(pause_id=PauseId(pause_id), decision="answered", decided_by="key:1")
        return await self.supervisor.resume(ScriptedAgent(script), turn, [answer], work)

    async def drop(self, turn_id: TurnId) -> None:
        """End a paused turn, for which nobody waits any more."""
        turn = await self.supervisor.restore(turn_id)
        ending = turn.drop(RunId(new_id("run")), at=system_now())
        await self.supervisor.drop(turn_id, ending)

    async def hear(self, turn_id: TurnId, *, after: int = 0) -> list[Envelope]:
        """Follow the turn to its end, as a client does."""
        heard: list[Envelope] = []
        with self.supervisor.watching(turn_id):
            async with asyncio.timeout(10):
                following = self.store.follow(turn_id, after=Seq(after), patience=5)
                async for batch in following:
                    heard += batch
        return heard

    async def says(self, turn_id: TurnId, kind: type[Event]) -> None:
        """Wait until the turn said an event of this kind."""
        async with asyncio.timeout(10):
            async for batch in self.store.follow(turn_id, after=BEGINNING, patience=5):
                if any(isinstance(each.event, kind) for each in batch):
                    return

    async def ending(self, turn_id: TurnId) -> TurnCompleted | TurnFailed:
        """Follow the turn and return its ending."""
        last = (await self.hear(turn_id))[-1].event
        assert isinstance(last, TurnCompleted | TurnFailed)
        return last

    async def code(self, turn_id: TurnId) -> str:
        """Follow the turn and return the code of its failure."""
        ending = await self.ending(turn_id)
        assert isinstance(ending, TurnFailed), ending
        return ending.code


@asynccontextmanager
async def staged(
    policy: SupervisorPolicy | None = None,
    *,
    store: Store | None = None,
    observer: Observer = NOBODY,
) -> AsyncGenerator[Stage]:
    """A running supervisor; leaving drains it."""
    kept, reports = store or MemoryStore(), Reports()
    supervisor = Supervisor(
        kept,
        now=system_now,
        reporter=reports,
        policy=policy or SupervisorPolicy(drain_seconds=1),
        observer=observer,
    )
    async with supervisor:
        yield Stage(supervisor, kept, reports)
