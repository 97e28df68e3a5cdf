"""Drive one run: the only loop in turnwire that awaits an agent."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol

from turnwire.clock import Now
from turnwire.engine.agent import Agent
from turnwire.engine.grammar import TurnState
from turnwire.engine.turn import Turn
from turnwire.errors import (
    AgentError,
    StorageUnavailable,
    StreamInterrupted,
    TurnBroken,
    UpstreamTimeout,
)
from turnwire.events import Envelope, Event, ModelCalled
from turnwire.ids import new_id
from turnwire.probe import NOTES
from turnwire.storage.base import EventLog
from turnwire.work import Work


class Reporter(Protocol):
    """Where failures are told to the operators."""

    def failed(self, error: BaseException, *, error_id: str, turn_id: str) -> None:
        """Record the error with its traceback under the id that the client is given."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long things may take, in seconds."""

    turn_seconds: float = 300.0
    node_seconds: float = 120.0


class Run:
    """One run of a turn, and the reason for which it was stopped, if it was."""

    def __init__(self, turn: Turn, log: EventLog, *, now: Now, reporter: Reporter) -> None:
        self.turn = turn
        self.draining = False
        """Set before the task is cancelled, where the worker and not a person ends the run."""
        self.stopped = False
        """Set before the task is cancelled: an agent that swallows that is not heard any more."""
        self.storing = False
        """Whether the ending is being stored, which nothing may cut short."""
        self.heard: Callable[[], None] | None = None
        """Called after each batch that is in the log, if somebody waits for what is told."""
        self._calls: list[ModelCalled] = []
        """Providers' calls that ended and are not in the log yet."""
        self._unseen: Sequence[Envelope] = ()
        """Numbered and refused by the log: the ending has to tell them."""
        self._log = log
        self._now = now
        self._reporter = reporter

    @property
    def is_over(self) -> bool:
        """Whether the run has its ending."""
        return self.turn.state is not TurnState.RUNNING

    async def work(self, agent: Agent, work: Work, limits: Limits) -> None:
        """Run to one of the endings, writing every event to the log."""
        noting = NOTES.set(self._calls.append)
        try:
            await self._pump(agent, replace(work, aloud=self.say), limits)
        except asyncio.CancelledError:
            await self.stop()
        except TimeoutError as error:
            await self._fail(UpstreamTimeout(), error)
        except TurnBroken as error:
            await self._fail(error, error)
        except Exception as error:  # an agent may raise anything
            await self._fail(AgentError(), error)
        finally:
            NOTES.reset(noting)

    async def stop(self) -> None:
        """Give the run the ending of one that was stopped; whatever it says later is not heard."""
        if self.is_over:
            return
        if self.draining:
            await self._fail(StreamInterrupted(), asyncio.CancelledError("draining"))
        else:
            at = self._now()
            await self._write([*self._noted(at), *self.turn.cancel(at=at)])

    def say(self, words: Sequence[str]) -> bool:
        """Say words between two of the agent's batches; false if they can't be said so now."""
        turn = self.turn
        speaks = turn.state is TurnState.RUNNING and not self.stopped
        if not speaks or not self._log.takes(turn.turn_id):
            return False
        self._log.show(turn.say(words, at=self._now()))
        return True

    async def _pump(self, agent: Agent, work: Work, limits: Limits) -> None:
        loop = asyncio.get_running_loop()
        ends = loop.time() + limits.turn_seconds
        turn, log, now = self.turn, self._log, self._now
        async with asyncio.timeout_at(ends) as limit, aclosing(agent.work(work)) as batches:
            oldest: int | None = None
            async for batch in batches:
                if limit.expired():  # and the agent swallowed the cancellation
                    raise TimeoutError
                envelopes = self._receive(batch, now())
                if self.is_over:
                    limit.reschedule(None)
                    await self._write(envelopes)
                    limit.reschedule(ends)
                    return
                try:
                    await log.append(envelopes)
                except Exception:
                    self._unseen = envelopes
                    raise
                if self.heard is not None:
                    self.heard()
                since = next(iter(turn.open_since.values()), None)
                if since != oldest:
                    oldest = since
                    limit.reschedule(self._deadline(since, ends, limits))
        raise StreamInterrupted("the agent stopped without an ending")

    def _receive(self, batch: Sequence[Event], at: int) -> list[Envelope]:
        if self.stopped or self.is_over:  # and the agent does not let go
            raise asyncio.CancelledError
        if self._calls:
            batch = (*self._take_calls(), *batch)
        return self.turn.receive(batch, at=at)

    def _take_calls(self) -> Sequence[Event]:
        calls = tuple(self._calls)
        del self._calls[: len(calls)]  # a node in a thread may note another one meanwhile
        return calls

    def _noted(self, at: int) -> list[Envelope]:
        """Return what an ending that the agent did not give has to tell before it."""
        return self.turn.receive(self._take_calls(), at=at)

    def _deadline(self, since: int | None, ends: float, limits: Limits) -> float:
        """Return when the oldest open node has had its time, or the turn its own."""
        if since is None:
            return ends
        left = limits.node_seconds - (self._now() - since) / 1000
        return min(ends, asyncio.get_running_loop().time() + max(0.0, left))

    async def _fail(self, error: TurnBroken, cause: BaseException) -> None:
        if self.is_over:
            return
        error_id = new_id("err")
        self._reporter.failed(cause, error_id=error_id, turn_id=self.turn.turn_id)
        at = self._now()
        failed = [*self._noted(at), *self.turn.fail(error, error_id=error_id, at=at)]
        await self._write([*self._unseen, *failed])

    async def _write(self, ending: list[Envelope]) -> None:
        """Store an ending, then show it; one that can't be stored is shown as a failure."""
        self.storing = True
        try:
            await self._log.append(ending)
        except Exception as error:  # whatever is wrong with the store, followers need an ending
            broken = error if isinstance(error, StorageUnavailable) else StorageUnavailable()
            error_id = new_id("err")
            self._reporter.failed(error, error_id=error_id, turn_id=self.turn.turn_id)
            await self._log.announce(self.turn.instead(ending, broken, error_id=error_id))
        finally:
            self.storing = False
