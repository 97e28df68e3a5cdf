"""Own every running turn: start, watch, cancel, time out, drain."""

import asyncio
from collections.abc import Coroutine, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Self

from turnwire.clock import Now
from turnwire.engine.agent import Agent
from turnwire.engine.grammar import TurnState
from turnwire.engine.observer import NOBODY, Earlier, HeardLog, Observer
from turnwire.engine.runner import Limits, Reporter, Run
from turnwire.engine.turn import Turn
from turnwire.errors import Draining, Overloaded, StorageUnavailable, StreamInterrupted
from turnwire.events import Envelope
from turnwire.ids import ConversationId, TurnId, new_id
from turnwire.storage.base import Answer, Conflict, Opening, Store
from turnwire.storage.members import Charge
from turnwire.work import Work, expired_answer

_LET_GO_SECONDS: Final = 5.0
"""How long a cancelled run may clean up before it is given its ending by force."""

_TELL_SECONDS: Final = 5.0
"""How long a run that is to be stopped may take to tell how its action ended."""

_JOIN_SECONDS: Final = 5.0
"""How long the request that began a turn may take to follow it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorPolicy:
    """How many turns run here, for how long, and what happens when everybody has left."""

    limits: Limits = field(default_factory=Limits)
    max_turns: int = 1000
    disconnect_grace_seconds: float = 10.0
    """How long a turn that nobody follows goes on; 0: it is cancelled at once."""
    drain_seconds: float = 20.0
    """How long running turns may take to end when the worker is going away."""


class _Active:
    """A run that goes on here: its task, and who follows it."""

    __slots__ = (
        "acting",
        "begun",
        "confirmed",
        "done",
        "earlier",
        "grace",
        "run",
        "stopping",
        "task",
        "told_before",
        "watchers",
    )

    def __init__(self, run: Run, begun: Sequence[Envelope], earlier: Earlier | None) -> None:
        self.run = run
        self.begun = begun
        """What is stored with the run's beginning."""
        self.earlier = earlier
        self.confirmed = False
        """Whether it goes on although nobody follows."""
        self.acting: set[asyncio.Task[None]] = set()
        """What it does on a person's word."""
        self.told_before = run.turn.actions
        self.stopping = False
        """Whether it is stopped as soon as that is done."""
        self.watchers = 0
        self.grace: asyncio.TimerHandle | None = None
        self.task: asyncio.Task[None] | None = None
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class Supervisor:
    """The owner of every background task; an async context that waits for them when it is left."""

    def __init__(
        self,
        store: Store,
        *,
        now: Now,
        reporter: Reporter,
        policy: SupervisorPolicy,
        observer: Observer = NOBODY,
    ) -> None:
        self._store = store
        self._observer = observer
        self._now = now
        self._reporter = reporter
        self._policy = policy
        self._active: dict[TurnId, _Active] = {}
        self._starting = 0
        """Turns that are being stored and will run here."""
        self._drained = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._owed: dict[ConversationId, set[asyncio.Task[None]]] = {}
        """What runs have left to be done."""
        self.draining = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.drain()
        if self._tasks:
            # What never lets go (a blocked thread, say) has its ending and is left behind.
            await asyncio.wait(self._tasks, timeout=_LET_GO_SECONDS)

    def _own(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    @property
    def running(self) -> int:
        """How many runs go on here."""
        return len(self._active)

    def require_capacity(self) -> None:
        """Return if one more turn may start here.

        Raises:
            Draining: the worker is going away.
            Overloaded: it runs as many turns as it may.
        """
        if self.draining.is_set():
            raise Draining("This worker is going away; send the request again.")
        if len(self._active) + self._starting >= self._policy.max_turns:
            raise Overloaded("This worker runs as many turns as it may; try again shortly.")

    async def start(self, agent: Agent, turn: Turn, opening: Opening, work: Work) -> None:
        """Store a new turn, which has begun, and run it; returns when it is stored.

        Raises:
            Conflict: the facts have changed; nothing was stored.
            StorageUnavailable: nothing was stored.
            Draining, Overloaded: as :meth:`require_capacity`.
        """
        self.require_capacity()
        dropped = opening.dropped[1] if opening.dropped else ()
        active = self._activate(turn, [*dropped, *opening.started])

        async def store() -> Work:
            await self._store.begin(opening)
            return work

        await self._launch(agent, active, store())

    async def resume(
        self,
        agent: Agent,
        turn: Turn,
        answers: Sequence[Answer],
        work: Work,
        *,
        charges: Sequence[Charge] = (),
    ) -> Sequence[Envelope]:
        """Take the answers, run on, and return the new run's first envelopes.

        Of the turn's pauses that have expired by then, the run is told so.

        Raises:
            Conflict: somebody answered first, the turn does not wait, or an allowance is used up;
                nothing was stored.
            Draining, Overloaded: as :meth:`require_capacity`.
        """
        self.require_capacity()
        if turn.started is None or turn.state is not TurnState.PAUSED:
            raise Conflict
        event, before = turn.started.model_copy(update={"resumed": True}), turn.run_id
        started = turn.begin(work.run_id, event, at=work.started_ms)
        earlier = Earlier(event, before, turn.worked_ms(at=work.started_ms))

        async def store() -> Work:
            gone = await self._store.resume(
                turn.turn_id, answers, started, now=work.started_ms, charges=charges
            )
            late = {each.pause.pause_id: expired_answer(each.pause) for each in gone}
            return replace(work, answers={**work.answers, **late})

        await self._launch(agent, self._activate(turn, started, earlier), store())
        return started

    async def drop(self, turn_id: TurnId, ending: Sequence[Envelope]) -> None:
        """End a paused turn by these envelopes, or raise :class:`Conflict`."""
        await self._store.close_paused(turn_id, ending)
        self._observer.heard(ending)

    @contextmanager
    def watching(self, turn_id: TurnId) -> Generator[None]:
        """Count somebody as following the turn; when the last one leaves, the grace begins."""
        active = self._active.get(turn_id)
        if active is None:
            yield
            return
        active.watchers += 1
        if active.grace is not None:
            active.grace.cancel()
            active.grace = None
        try:
            yield
        finally:
            active.watchers -= 1
            if not active.watchers and not active.done.done():
                self._begin_grace(active)

    async def cancel(self, turn_id: TurnId) -> bool:
        """Stop the run and wait for its ending; false if it does not run here."""
        active = self._active.get(turn_id)
        if active is None:
            return False
        self._stop(active)
        await asyncio.wait([active.done])
        return True

    async def ended(self, turn_id: TurnId) -> None:
        """Wait until the turn does not run here."""
        active = self._active.get(turn_id)
        if active is not None:
            await asyncio.wait([active.done])

    async def settled(self, conversation_id: ConversationId) -> None:
        """Wait for what the conversation's runs have left to be done."""
        while owed := self._owed.get(conversation_id):
            await asyncio.wait(owed)

    async def restore(self, turn_id: TurnId) -> Turn:
        """Return the turn as its log tells it."""
        return Turn.restore(turn_id, await self._store.read(turn_id))

    async def recover(self) -> int:
        """Give every turn that died with an earlier process its ending; return how many."""
        lost = [each for each in await self._store.running() if each.turn_id not in self._active]
        for record in lost:
            error_id = new_id("err")
            cause = StreamInterrupted("the process ended while the turn ran")
            self._reporter.failed(cause, error_id=error_id, turn_id=record.turn_id)
            try:
                turn = await self.restore(record.turn_id)
                ending = turn.fail(cause, error_id=error_id, at=self._now())
                await self._store.append(ending)
                self._observer.heard(ending, earlier=_earlier(turn))
            except Exception as error:  # one turn that can't be read must not stop the server
                self._reporter.failed(error, error_id=error_id, turn_id=record.turn_id)
        if not self._active:
            await self._store.close_actions()
        return len(lost)

    def drain_soon(self) -> None:
        """Begin to drain, in a task of its own; to be called on the event loop."""
        if not self.draining.is_set():
            self.draining.set()
            self._own(self.drain())

    async def drain(self) -> None:
        """Start nothing new; let running turns end within the policy's time, then end them."""
        self.draining.set()
        try:
            async with asyncio.timeout(self._policy.drain_seconds):
                await self._all_done()
        except TimeoutError:
            for each in list(self._active.values()):
                self._interrupt(each)
            await self._all_done()
        self._drained = True

    async def _all_done(self) -> None:
        while self._active:
            await asyncio.wait([next(iter(self._active.values())).done])

    def _activate(
        self, turn: Turn, begun: Sequence[Envelope], earlier: Earlier | None = None
    ) -> _Active:
        unheard = self._observer is NOBODY
        log = self._store if unheard else HeardLog(self._store, self._observer)
        return _Active(Run(turn, log, now=self._now, reporter=self._reporter), begun, earlier)

    async def _launch(
        self, agent: Agent, active: _Active, stored: Coroutine[None, None, Work]
    ) -> None:
        """Store and run in one task that no request owns, so that a lost client splits neither.

        ``stored`` returns what is to be run, once that is stored.
        """
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._starting += 1
        active.task = self._own(self._live(agent, active, stored, told))
        await asyncio.shield(told)

    async def _live(
        self,
        agent: Agent,
        active: _Active,
        stored: Coroutine[None, None, Work],
        told: asyncio.Future[None],
    ) -> None:
        try:
            work = await stored
        except BaseException as error:  # the request that waits is told, whatever it is
            if isinstance(error, StorageUnavailable):
                self._observer.unstored()
            told.set_exception(error)
            told.exception()  # marks it as retrieved, should the request have left
            return
        finally:
            self._starting -= 1
        active.confirmed = work.confirmed
        self._active[work.turn_id] = active
        self._observer.heard(active.begun, earlier=active.earlier)
        self._begin_grace(active, at_least=_JOIN_SECONDS)
        told.set_result(None)
        if self._drained:
            self._interrupt(active)
        try:
            with self._observer.running(work):
                own = replace(work, own=partial(self._own_action, active, work.conversation_id))
                await active.run.work(agent, own, self._policy.limits)
        except Exception as error:  # a bug of ours must not take the other turns along
            self._reporter.failed(error, error_id=new_id("err"), turn_id=work.turn_id)
        finally:
            if active.grace is not None:
                active.grace.cancel()
            self._let_go(active)

    def _begin_grace(self, active: _Active, *, at_least: float = 0.0) -> None:
        grace = max(at_least, self._policy.disconnect_grace_seconds)
        active.grace = asyncio.get_running_loop().call_later(grace, self._left_alone, active)

    def _left_alone(self, active: _Active) -> None:
        if not active.watchers and not active.confirmed:
            self._stop(active)

    def _interrupt(self, active: _Active) -> None:
        active.run.draining = True
        self._stop(active)

    def _own_action(
        self,
        active: _Active,
        conversation_id: ConversationId,
        work: Coroutine[Any, Any, None],
    ) -> asyncio.Task[None]:
        """Start what a person approved; it ends before its run is stopped."""
        task = self._own(work)
        active.acting.add(task)
        task.add_done_callback(partial(self._acted, active))
        self._owed.setdefault(conversation_id, set()).add(task)
        task.add_done_callback(partial(self._settle, conversation_id))
        return task

    def _settle(self, conversation_id: ConversationId, task: asyncio.Task[None]) -> None:
        owed = self._owed[conversation_id]
        owed.discard(task)
        if not owed:
            del self._owed[conversation_id]

    def _acted(self, active: _Active, task: asyncio.Task[None]) -> None:
        active.acting.discard(task)
        if active.stopping and not active.acting:
            asyncio.get_running_loop().call_later(_TELL_SECONDS, self._stop, active)
            self._stop_if_told(active)

    def _stop_if_told(self, active: _Active) -> None:
        """Stop a run that was to act first, once the log tells how that ended."""
        if not active.acting and active.run.turn.actions > active.told_before:
            self._stop(active)

    def _stop(self, active: _Active) -> None:
        if active.run.stopped or active.task is None or active.run.storing:
            return
        if active.acting and not active.run.draining:
            active.stopping = True
            active.run.heard = partial(self._stop_if_told, active)
            return
        active.run.stopped = True
        active.task.cancel()
        asyncio.get_running_loop().call_later(_LET_GO_SECONDS, self._force, active)

    def _force(self, active: _Active) -> None:
        """Give a run its ending although the agent does not let go (a blocking node, say)."""
        if not active.done.done() and not active.run.storing:
            self._own(self._end_by_force(active))

    async def _end_by_force(self, active: _Active) -> None:
        try:
            await active.run.stop()
        finally:
            self._let_go(active)

    def _let_go(self, active: _Active) -> None:
        if not active.done.done():
            active.done.set_result(None)
        turn_id = active.run.turn.turn_id
        if self._active.get(turn_id) is active:  # and not a later run of the same turn
            del self._active[turn_id]


def _earlier(turn: Turn) -> Earlier | None:
    """Return what the log told of a turn whose beginning nobody here has heard."""
    if turn.started is None:
        return None
    return Earlier(turn.started, turn.run_id, None)
