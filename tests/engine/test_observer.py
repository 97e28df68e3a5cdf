"""An observer hears what the log took, and nothing else."""

import asyncio
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import contextmanager

from tests.engine.stage import Batches, Stage, staged
from turnwire.engine.observer import Earlier
from turnwire.errors import StorageUnavailable
from turnwire.events import (
    Envelope,
    Event,
    NodeCompleted,
    NodeStarted,
    Pause,
    TextDelta,
    TurnCompleted,
    TurnFailed,
    TurnPaused,
    TurnStarted,
)
from turnwire.ids import PauseId, TurnId
from turnwire.storage.memory import MemoryStore
from turnwire.work import Work


class Listener:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.heard_all: list[Envelope] = []
        self.earlier: list[Earlier] = []
        self.unstored_times = 0
        self.around: list[str] = []

    def heard(self, envelopes: Sequence[Envelope], *, earlier: Earlier | None = None) -> None:
        self.heard_all += envelopes
        if earlier is not None:
            self.earlier.append(earlier)

    @contextmanager
    def running(self, work: Work, /) -> Generator[None]:
        self.around.append(f"in {work.run_id}")
        try:
            yield
        finally:
            self.around.append(f"out {work.run_id}")

    def unstored(self) -> None:
        self.unstored_times += 1


def paused() -> TurnPaused:
    pause = Pause(pause_id=PauseId("rev_1"), kind="review", payload={}, requested_ms=0)
    return TurnPaused(pauses=(pause,))


async def answers(_: Work) -> AsyncGenerator[Sequence[Event], None]:
    yield (NodeStarted(node="a"), TextDelta(text="hi "), TextDelta(text="there"))
    yield (NodeCompleted(node="a"), TurnCompleted(finish_reason="stop", content="hi there"))


def news(log: Sequence[Envelope]) -> list[Envelope]:
    """Return the log without the words after the first."""
    words = [each for each in log if isinstance(each.event, TextDelta)]
    return [each for each in log if each not in words[1:]]


async def asks(_: Work) -> AsyncGenerator[Sequence[Event], None]:
    yield (NodeStarted(node="a"),)
    yield (paused(),)


def test_an_observer_hears_what_the_log_has_but_of_the_words_the_first_only():
    async def play() -> None:
        listener = Listener()
        async with staged(observer=listener) as stage:
            turn_id = await stage.begin(answers)
            log = await stage.hear(turn_id)
        assert listener.heard_all == news(log)
        assert [each[:3] for each in listener.around] == ["in ", "out"]

    asyncio.run(play())


def test_words_past_the_batches_are_words_too():
    async def says(work: Work) -> Batches:
        yield (NodeStarted(node="a"),)
        for each in ("one ", "two ", "three"):
            assert work.aloud((each,))
        yield (TurnCompleted(finish_reason="stop", content="one two three"),)

    async def play() -> None:
        listener = Listener()
        async with staged(observer=listener) as stage:
            log = await stage.hear(await stage.begin(says))
        assert listener.heard_all == news(log)

    asyncio.run(play())


def test_a_run_that_goes_on_is_told_with_what_was_before():
    async def play() -> None:
        listener = Listener()
        async with staged(observer=listener) as stage:
            turn_id = await stage.begin(asks)
            first = await stage.hear(turn_id)
            await asyncio.sleep(0.05)
            await stage.resume(turn_id, "rev_1", answers)
            log = await stage.hear(turn_id)
        assert listener.heard_all == news(log)
        (earlier,) = listener.earlier
        assert earlier.run_id == first[0].run_id != log[-1].run_id
        assert earlier.worked_ms is not None
        assert earlier.worked_ms <= log[-1].ts_ms - log[0].ts_ms - 45

    asyncio.run(play())


def test_a_dropped_turn_is_heard_to_its_end():
    async def play() -> None:
        listener = Listener()
        async with staged(observer=listener) as stage:
            turn_id = await stage.begin(asks)
            await stage.hear(turn_id)
            await stage.drop(turn_id)
            log = await stage.store.read(turn_id)
        assert listener.heard_all == log
        assert isinstance(log[-1].event, TurnCompleted)

    asyncio.run(play())


def test_a_turn_of_a_lost_process_is_heard_of_when_it_is_ended():
    async def play() -> None:
        listener = Listener()
        async with staged() as lost:
            turn_id = await lost.begin(_waits)
            await lost.says(turn_id, NodeStarted)
            async with staged(observer=listener, store=lost.store) as stage:
                assert await stage.supervisor.recover() == 1
            await lost.supervisor.cancel(turn_id)
        closed, failed = (each.event for each in listener.heard_all)
        assert isinstance(closed, NodeCompleted)
        assert isinstance(failed, TurnFailed)
        assert [each.started.agent for each in listener.earlier] == ["helper"]

    asyncio.run(play())


async def _waits(_: Work) -> AsyncGenerator[Sequence[Event], None]:
    yield (NodeStarted(node="a"),)
    await asyncio.sleep(30)


class _Refuses(MemoryStore):
    async def append(self, envelopes: Sequence[Envelope]) -> None:
        if any(isinstance(each.event, TextDelta) for each in envelopes):
            raise StorageUnavailable("full")
        await super().append(envelopes)

    async def announce(self, envelopes: Sequence[Envelope]) -> None:
        await MemoryStore.append(self, envelopes)


def test_what_the_store_refuses_is_counted_and_heard_only_as_it_was_told_in_the_end():
    async def play() -> None:
        listener = Listener()
        async with staged(observer=listener, store=_Refuses()) as stage:
            turn_id = await stage.begin(answers)
            await _over(stage, turn_id)
        kinds = [type(each.event) for each in listener.heard_all]
        assert kinds[0] is TurnStarted
        assert kinds[-1] is TurnFailed
        assert listener.unstored_times == 2  # the events, and the ending that told them again

    asyncio.run(play())


async def _over(stage: Stage, turn_id: TurnId) -> None:
    async with asyncio.timeout(10):
        await stage.supervisor.ended(turn_id)
