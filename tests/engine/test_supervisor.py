"""Every turn that runs has an owner, whatever its agent does."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

import pytest
from pydantic import JsonValue

from tests.engine.stage import Batches, Script, ScriptedAgent, Stage, staged
from tests.scenarios.turns import asked, completed, ended, started, words
from turnwire.engine import supervisor as supervisor_module
from turnwire.engine.runner import Limits
from turnwire.engine.supervisor import SupervisorPolicy
from turnwire.errors import Draining, Overloaded, StorageUnavailable, UpstreamRateLimited
from turnwire.events import (
    ActionCompleted,
    Envelope,
    Event,
    NodeCompleted,
    TextDelta,
    TurnCompleted,
    TurnFailed,
    TurnPaused,
)
from turnwire.ids import PauseId, TurnId
from turnwire.storage.base import Conflict, Opening
from turnwire.storage.memory import MemoryStore
from turnwire.work import Aloud, Work

pytestmark = pytest.mark.anyio


async def answering(work: Work) -> Batches:
    yield [started("answer")]
    for each in ("Rest ", "well."):
        await asyncio.sleep(0)
        yield words(each)
    yield [ended("answer"), completed("Rest well.")]


class Waiting:
    """Says a few words, then waits until it is let go; tells whether it was closed."""

    def __init__(self, *, before: Sequence[Event] = ()) -> None:
        self.go = asyncio.Event()
        self.closed = asyncio.Event()
        self._before = before

    async def __call__(self, work: Work) -> Batches:
        try:
            yield [*self._before, *words("Rest ")]
            await self.go.wait()
            yield [completed("Rest ")]
        finally:
            self.closed.set()


async def test_a_turn_runs_to_its_ending_and_is_stored():
    async with staged() as stage:
        turn_id = await stage.begin(answering)
        ending = await stage.ending(turn_id)
        await stage.supervisor.ended(turn_id)
        stored = await stage.store.turn(turn_id)

        assert isinstance(ending, TurnCompleted)
        assert stored is not None
        assert (stored.phase, stored.content) == ("completed", "Rest well.")
        assert stage.supervisor.running == 0


async def test_words_said_aloud_take_their_place_between_the_batches():
    async def talking(work: Work) -> Batches:
        yield [started("answer"), *words("Rest ")]
        assert work.aloud(["and ", "drink "])
        yield words("well.")
        yield [ended("answer"), completed("Rest and drink well.")]

    async with staged() as stage:
        turn_id = await stage.begin(talking)
        heard = await stage.hear(turn_id)

        said = [each.event.text for each in heard if isinstance(each.event, TextDelta)]
        assert said == ["Rest ", "and ", "drink ", "well."]
        assert [each.seq for each in heard] == list(range(1, len(heard) + 1))
        assert await stage.store.read(turn_id) == heard


async def test_words_said_aloud_after_the_ending_are_not_heard():
    aloud: list[Aloud] = []

    async def talking(work: Work) -> Batches:
        aloud.append(work.aloud)
        yield words("Rest ")
        await asyncio.Event().wait()

    async with staged() as stage:
        turn_id = await stage.begin(talking)
        await stage.says(turn_id, TextDelta)
        await stage.supervisor.cancel(turn_id)

        assert not aloud[0](["more"])
        assert [each.event.type for each in await stage.store.read(turn_id)][-1] == (
            "turn.completed"
        )
        stored = await stage.store.turn(turn_id)
        assert stored is not None
        assert stored.content == "Rest "


async def test_a_log_that_takes_no_words_is_not_given_any():
    class Full(MemoryStore):
        def takes(self, turn_id: TurnId) -> bool:
            return False

    async def talking(work: Work) -> Batches:
        yield words("Rest ")
        assert not work.aloud(["and "])
        yield [*words("well."), completed("Rest well.")]

    async with staged(store=Full()) as stage:
        heard = await stage.hear(await stage.begin(talking))

        assert [each.seq for each in heard] == list(range(1, len(heard) + 1))
        assert "and " not in [getattr(each.event, "text", "") for each in heard]


async def test_cancelling_stops_the_agent_and_keeps_the_words():
    script = Waiting()
    async with staged() as stage:
        turn_id = await stage.begin(script)
        await stage.says(turn_id, TextDelta)

        assert await stage.supervisor.cancel(turn_id)

        ending = await stage.ending(turn_id)
        assert script.closed.is_set()
        assert isinstance(ending, TurnCompleted)
        assert (ending.finish_reason, ending.content) == ("cancelled", "Rest ")
        assert not await stage.supervisor.cancel(turn_id)


async def test_cancelling_before_the_first_word_ends_the_turn():
    async def silent(work: Work) -> Batches:
        await asyncio.Event().wait()
        yield []

    async with staged() as stage:
        turn_id = await stage.begin(silent)
        await stage.supervisor.cancel(turn_id)

        ending = await stage.ending(turn_id)
        assert isinstance(ending, TurnCompleted)
        assert (ending.finish_reason, ending.content) == ("cancelled", "")


async def test_cancelling_twice_at_once_gives_one_ending():
    async with staged() as stage:
        turn_id = await stage.begin(Waiting())
        await stage.says(turn_id, TextDelta)
        await asyncio.gather(*(stage.supervisor.cancel(turn_id) for _ in range(5)))

        heard = await stage.hear(turn_id)
        assert sum(isinstance(each.event, TurnCompleted | TurnFailed) for each in heard) == 1


async def test_without_grace_a_turn_is_cancelled_when_its_last_follower_leaves():
    script = Waiting()
    async with staged(SupervisorPolicy(disconnect_grace_seconds=0)) as stage:
        turn_id = await stage.begin(script)
        with stage.supervisor.watching(turn_id):
            with stage.supervisor.watching(turn_id):
                await stage.says(turn_id, TextDelta)
            await asyncio.sleep(0.02)
            assert not script.closed.is_set()
        async with asyncio.timeout(1):
            await stage.supervisor.ended(turn_id)

        assert script.closed.is_set()
        stored = await stage.store.turn(turn_id)
        assert stored is not None
        assert stored.finish_reason == "cancelled"


async def test_who_comes_back_within_the_grace_finds_the_turn_running():
    script = Waiting()
    async with staged(SupervisorPolicy(disconnect_grace_seconds=0.1)) as stage:
        turn_id = await stage.begin(script)
        for _ in range(4):
            with stage.supervisor.watching(turn_id):
                await asyncio.sleep(0.05)
            await asyncio.sleep(0.05)
        script.go.set()

        ending = await stage.ending(turn_id)
        assert isinstance(ending, TurnCompleted)
        assert ending.finish_reason == "stop"


async def test_when_the_grace_is_over_the_turn_is_cancelled():
    script = Waiting()
    async with staged(SupervisorPolicy(disconnect_grace_seconds=0.05)) as stage:
        turn_id = await stage.begin(script)
        began = time.monotonic()
        with stage.supervisor.watching(turn_id):
            pass
        await stage.supervisor.ended(turn_id)

        assert 0.04 <= time.monotonic() - began < 1


async def test_a_turn_that_nobody_has_followed_yet_is_not_cancelled_at_once():
    script = Waiting()
    async with staged(SupervisorPolicy(disconnect_grace_seconds=0)) as stage:
        turn_id = await stage.begin(script)
        await asyncio.sleep(0.1)

        assert stage.supervisor.running == 1
        script.go.set()
        await stage.supervisor.ended(turn_id)


async def test_a_turn_ends_when_its_time_is_over():
    script = Waiting(before=[started("answer")])
    limits = Limits(turn_seconds=0.05, node_seconds=60)
    async with staged(SupervisorPolicy(limits=limits)) as stage:
        turn_id = await stage.begin(script)

        heard = await stage.hear(turn_id)

        assert isinstance(heard[-2].event, NodeCompleted)
        assert heard[-2].event.status == "failed"
        assert isinstance(heard[-1].event, TurnFailed)
        assert heard[-1].event.code == "upstream_timeout"
        assert script.closed.is_set()


async def test_a_node_ends_the_turn_when_its_time_is_over():
    limits = Limits(turn_seconds=60, node_seconds=0.05)
    async with staged(SupervisorPolicy(limits=limits)) as stage:
        turn_id = await stage.begin(Waiting(before=[started("answer")]))

        assert await stage.code(turn_id) == "upstream_timeout"


async def test_many_short_nodes_may_take_longer_than_one_node_may():
    async def stepping(work: Work) -> Batches:
        for number in range(6):
            yield [started(f"node {number}")]
            await asyncio.sleep(0.05)
            yield [ended(f"node {number}")]
        yield [completed("")]

    limits = Limits(turn_seconds=60, node_seconds=0.15)
    async with staged(SupervisorPolicy(limits=limits)) as stage:
        ending = await stage.ending(await stage.begin(stepping))

        assert isinstance(ending, TurnCompleted)


async def test_a_node_that_begins_as_another_ends_has_its_own_time():
    async def stepping(work: Work) -> Batches:
        yield [started("node 0")]
        for number in range(6):
            await asyncio.sleep(0.05)
            yield [ended(f"node {number}"), started(f"node {number + 1}")]
        yield [ended("node 6"), completed("")]

    limits = Limits(turn_seconds=60, node_seconds=0.15)
    async with staged(SupervisorPolicy(limits=limits)) as stage:
        ending = await stage.ending(await stage.begin(stepping))

        assert isinstance(ending, TurnCompleted)


async def test_an_agent_that_raises_ends_the_turn_in_an_error_without_its_words():
    async def raising(work: Work) -> Batches:
        yield [started("answer"), *words("Rest ")]
        raise RuntimeError("password hunter2 in /etc/secret")

    async with staged() as stage:
        turn_id = await stage.begin(raising)
        heard = await stage.hear(turn_id)

        failed = heard[-1].event
        assert isinstance(failed, TurnFailed)
        assert (failed.code, failed.retryable) == ("agent_error", False)
        assert "hunter2" not in str(heard)
        [(error, error_id, reported)] = stage.reports.failures
        assert "hunter2" in str(error)
        assert (error_id, reported) == (failed.error_id, turn_id)


async def test_a_failure_that_clients_may_know_keeps_its_code():
    async def limited(work: Work) -> Batches:
        yield words("Rest ")
        raise UpstreamRateLimited("quota of org-123")

    async with staged() as stage:
        ending = await stage.ending(await stage.begin(limited))

        assert isinstance(ending, TurnFailed)
        assert (ending.code, ending.retryable) == ("upstream_rate_limited", True)
        assert "org-123" not in ending.message


async def test_an_agent_that_raises_before_its_first_event_ends_the_turn():
    async def broken(work: Work) -> Batches:
        raise ValueError
        yield []

    async with staged() as stage:
        assert await stage.code(await stage.begin(broken)) == "agent_error"


async def test_an_agent_that_stops_without_an_ending_was_interrupted():
    async def stopping(work: Work) -> Batches:
        yield words("Rest ")

    async with staged() as stage:
        assert await stage.code(await stage.begin(stopping)) == "stream_interrupted"


async def test_an_agent_that_says_something_illegal_keeps_what_it_said_before():
    async def illegal(work: Work) -> Batches:
        yield words("Rest ")
        yield [*words("well."), ended("never started"), *words("unheard")]

    async with staged() as stage:
        turn_id = await stage.begin(illegal)
        assert await stage.code(turn_id) == "agent_error"
        stored = await stage.store.turn(turn_id)

        assert stored is not None
        assert stored.content == "Rest well."


async def test_what_an_agent_says_after_its_ending_is_not_heard():
    async def talkative(work: Work) -> Batches:
        yield [completed("Done.")]
        yield words("more")

    async with staged() as stage:
        heard = await stage.hear(await stage.begin(talkative))

        assert isinstance(heard[-1].event, TurnCompleted)


async def test_an_agent_that_fails_while_it_cleans_up_has_still_ended_well():
    async def messy(work: Work) -> Batches:
        try:
            yield [completed("Done.")]
        finally:
            raise RuntimeError("cleaning up")

    async with staged() as stage:
        turn_id = await stage.begin(messy)

        assert isinstance(await stage.ending(turn_id), TurnCompleted)
        await stage.supervisor.ended(turn_id)


async def test_an_agent_that_swallows_its_cancellation_is_ended_by_force(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(supervisor_module, "_LET_GO_SECONDS", 0.05)
    go = asyncio.Event()

    async def stubborn(work: Work) -> Batches:
        yield words("Rest ")
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue
        yield words("too late")
        yield [completed("too late")]

    async with staged() as stage:
        turn_id = await stage.begin(stubborn)
        await stage.says(turn_id, TextDelta)
        async with asyncio.timeout(1):
            await stage.supervisor.cancel(turn_id)
        ending = await stage.ending(turn_id)
        assert isinstance(ending, TurnCompleted)
        assert (ending.finish_reason, ending.content) == ("cancelled", "Rest ")
        assert stage.supervisor.running == 0
        go.set()
        await asyncio.sleep(0.02)

        assert (await stage.store.read(turn_id))[-1].event == ending


def swallowing(seconds: float) -> Script:
    """As `asyncio.wait_for` does on Python 3.11 when the cancellation comes with the result."""

    async def script(work: Work) -> Batches:
        yield [started("answer"), *words("Rest ")]
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(seconds)
        yield words("too late")
        await asyncio.Event().wait()

    return script


async def test_an_agent_that_swallows_its_cancellation_and_goes_on_is_not_heard():
    async with staged() as stage:
        turn_id = await stage.begin(swallowing(60))
        await stage.says(turn_id, TextDelta)
        async with asyncio.timeout(1):
            await stage.supervisor.cancel(turn_id)

        ending = await stage.ending(turn_id)
        assert isinstance(ending, TurnCompleted)
        assert (ending.finish_reason, ending.content) == ("cancelled", "Rest ")


async def test_an_agent_that_swallows_its_time_limit_ends_all_the_same():
    limits = Limits(turn_seconds=0.05)
    async with staged(SupervisorPolicy(limits=limits)) as stage:
        turn_id = await stage.begin(swallowing(60))

        assert await stage.code(turn_id) == "upstream_timeout"


async def test_draining_lets_turns_end_and_starts_no_new_one():
    script = Waiting()
    async with staged(SupervisorPolicy(drain_seconds=5)) as stage:
        turn_id = await stage.begin(script)
        async with asyncio.TaskGroup() as tasks:
            draining = tasks.create_task(stage.supervisor.drain())
            await asyncio.sleep(0.02)
            with pytest.raises(Draining):
                stage.supervisor.require_capacity()
            with pytest.raises(Draining):
                await stage.begin(answering)
            assert not draining.done()
            script.go.set()

        ending = await stage.ending(turn_id)
        assert isinstance(ending, TurnCompleted)
        assert ending.finish_reason == "stop"


async def test_what_has_not_ended_when_the_drain_is_over_was_interrupted():
    async with staged(SupervisorPolicy(drain_seconds=0.02)) as stage:
        turn_ids = [await stage.begin(Waiting()) for _ in range(3)]
        await stage.supervisor.drain()

        assert [await stage.code(each) for each in turn_ids] == ["stream_interrupted"] * 3


async def test_a_turn_that_is_being_stored_when_the_drain_ends_is_interrupted_too():
    class Slow(MemoryStore):
        async def begin(self, opening: Opening) -> None:
            await asyncio.sleep(0.05)
            await super().begin(opening)

    store = Slow()
    policy = SupervisorPolicy(drain_seconds=0)
    async with (
        asyncio.timeout(3),
        asyncio.TaskGroup() as requests,
        staged(policy, store=store) as stage,
    ):
        beginning = requests.create_task(stage.begin(Waiting()))
        await asyncio.sleep(0.01)
    turn = await store.turn(beginning.result())

    assert turn is not None
    assert (turn.phase, turn.error_code) == ("failed", "stream_interrupted")


async def test_draining_leaves_a_paused_turn_as_it_is():
    async def asking(work: Work) -> Batches:
        yield [TurnPaused(pauses=(asked("pse_1"),))]

    async with staged() as stage:
        turn_id = await stage.begin(asking)
        await stage.hear(turn_id)
        await stage.supervisor.drain()
        stored = await stage.store.turn(turn_id)

        assert stored is not None
        assert stored.phase == "paused"


async def test_a_full_worker_refuses_and_one_ending_makes_room():
    script = Waiting()
    async with staged(SupervisorPolicy(max_turns=2)) as stage:
        first, second = await stage.begin(script), await stage.begin(Waiting())
        with pytest.raises(Overloaded):
            stage.supervisor.require_capacity()
        script.go.set()
        await stage.supervisor.ended(first)

        stage.supervisor.require_capacity()
        await stage.supervisor.cancel(second)


async def test_turns_that_come_all_at_once_do_not_slip_past_the_capacity():
    async with staged(SupervisorPolicy(max_turns=3, drain_seconds=0)) as stage:
        results = await asyncio.gather(
            *(stage.begin(Waiting()) for _ in range(20)), return_exceptions=True
        )

        assert sum(isinstance(each, Overloaded) for each in results) == 17
        assert stage.supervisor.running == 3


class Failing(MemoryStore):
    """Refuses to store endings, as a full disk does; shows what is announced."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.broken = True
        self._error = error

    async def append(self, envelopes: Sequence[Envelope]) -> None:
        ending = envelopes and isinstance(envelopes[-1].event, TurnCompleted | TurnPaused)
        if self.broken and ending:
            raise self._error
        await super().append(envelopes)


@pytest.mark.parametrize("error", [StorageUnavailable(), ValueError("a bug in the store")])
async def test_a_store_that_fails_at_the_last_token_fails_the_turn_for_its_follower(
    error: Exception,
):
    async with staged(store=Failing(error)) as stage:
        heard = await stage.hear(await stage.begin(answering))

        assert [each.seq for each in heard] == list(range(1, len(heard) + 1))
        assert isinstance(heard[-1].event, TurnFailed)
        assert heard[-1].event.code == "storage_unavailable"
        assert not any(isinstance(each.event, TurnCompleted) for each in heard)


async def test_a_pause_that_cannot_be_stored_leaves_nothing_open():
    async def asking(work: Work) -> Batches:
        yield [started("ask")]
        yield [TurnPaused(pauses=(asked("pse_1"),))]

    async with staged(store=Failing(StorageUnavailable())) as stage:
        turn_id = await stage.begin(asking)
        heard = await stage.hear(turn_id)

        assert isinstance(heard[-2].event, NodeCompleted)
        assert isinstance(heard[-1].event, TurnFailed)
        assert (await stage.supervisor.restore(turn_id)).is_over


async def test_a_cancellation_while_the_ending_is_stored_waits_for_the_ending():
    class Slow(MemoryStore):
        async def append(self, envelopes: Sequence[Envelope]) -> None:
            if isinstance(envelopes[-1].event, TurnCompleted):
                await asyncio.sleep(0.05)
                raise StorageUnavailable
            await super().append(envelopes)

    async with staged(store=Slow()) as stage:
        turn_id = await stage.begin(answering)
        await asyncio.sleep(0.02)
        await stage.supervisor.cancel(turn_id)

        assert await stage.code(turn_id) == "storage_unavailable"


async def test_a_turn_that_cannot_be_stored_does_not_start():
    class Full(MemoryStore):
        async def begin(self, opening: Opening) -> None:
            raise StorageUnavailable

    async with staged(store=Full()) as stage:
        with pytest.raises(StorageUnavailable):
            await stage.begin(answering)

        assert stage.supervisor.running == 0
        stage.supervisor.require_capacity()


async def test_who_leaves_while_the_turn_is_being_stored_splits_nothing():
    class Slow(MemoryStore):
        async def begin(self, opening: Opening) -> None:
            await asyncio.sleep(0.02)
            await super().begin(opening)

    store = Slow()
    async with staged(store=store) as stage:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.005):
                await stage.begin(answering)
        await asyncio.sleep(0.05)
        [conversation] = await store.conversations("key:1")
        [turn] = await store.turns(conversation.conversation_id)

        assert turn.phase == "completed"


async def test_one_turn_that_breaks_touches_no_other():
    async def breaking(work: Work) -> Batches:
        yield words("Rest ")
        raise BaseExceptionGroup("all of it", [RuntimeError("x"), ValueError("y")])

    async with staged() as stage:
        good = [await stage.begin(answering) for _ in range(10)]
        bad = [await stage.begin(breaking) for _ in range(10)]

        assert {type(await stage.ending(each)) for each in good} == {TurnCompleted}
        assert {await stage.code(each) for each in bad} == {"agent_error"}


async def test_a_resumed_turn_goes_on_under_its_id():
    async def asking(work: Work) -> Batches:
        yield [*words("Shall I? "), TurnPaused(pauses=(asked("pse_1"),))]

    async def going_on(work: Work) -> Batches:
        assert work.answers == {"pse_1": "yes"}
        yield [*words("Done."), completed("Shall I? Done.")]

    async with staged() as stage:
        turn_id = await stage.begin(asking)
        before = await stage.hear(turn_id)
        started = await stage.resume(turn_id, "pse_1", going_on)
        after = await stage.hear(turn_id, after=before[-1].seq)

        assert [each.seq for each in [*before, *after]] == list(range(1, 7))
        assert list(started) == after[:1]
        assert isinstance(after[-1].event, TurnCompleted)
        assert after[-1].event.human_wait_ms is not None
        with pytest.raises(Conflict):
            await stage.resume(turn_id, "pse_1", going_on)


async def test_a_run_is_told_what_expired_beside_the_answer_and_nothing_of_what_waits_on():
    heard: list[Mapping[PauseId, JsonValue]] = []
    late = {"expires_ms": 1}

    async def asking(work: Work) -> Batches:
        first, second = asked("pse_1"), asked("pse_2")
        old = asked("pse_3").model_copy(update=late)
        action = asked("cnf_4").model_copy(update={**late, "kind": "confirmation"})
        yield [TurnPaused(pauses=(first, second, old, action))]

    async def going_on(work: Work) -> Batches:
        heard.append(work.answers)
        yield [completed("Done.")]

    async with staged() as stage:
        turn_id = await stage.begin(asking)
        await stage.hear(turn_id)
        await stage.resume(turn_id, "pse_1", going_on)
        await stage.hear(turn_id)

    assert heard == [
        {
            "pse_1": "yes",
            "pse_3": {"decision": "expired"},
            "cnf_4": {"decision": "expired", "confirmation_id": "cnf_4"},
        }
    ]


async def test_of_twenty_resumes_at_once_one_runs():
    runs: list[TurnId] = []

    async def asking(work: Work) -> Batches:
        yield [TurnPaused(pauses=(asked("pse_1"),))]

    async def acting(work: Work) -> Batches:
        runs.append(work.turn_id)
        yield [completed("Paid.")]

    async with staged() as stage:
        turn_id = await stage.begin(asking)
        await stage.hear(turn_id)
        results = await asyncio.gather(
            *(stage.resume(turn_id, "pse_1", acting) for _ in range(20)), return_exceptions=True
        )
        await stage.hear(turn_id)

        assert sum(isinstance(each, Conflict) for each in results) == 19
        assert runs == [turn_id]


async def test_a_cancelled_turn_tells_how_its_action_ended_however_long_that_takes_to_the_log():
    acts, is_done, on_the_way = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def action() -> None:
        acts.set()
        await is_done.wait()

    async def acting(work: Work) -> Batches:
        yield words("I act. ")
        assert work.own is not None
        await work.own(action())
        await on_the_way.wait()
        yield [ActionCompleted(confirmation_id="cnf_1", decision="approve", status="ok")]
        await asyncio.Event().wait()

    async with staged() as stage:
        turn_id = await stage.begin(acting)
        await acts.wait()
        stopping = asyncio.ensure_future(stage.supervisor.cancel(turn_id))  # noqa: TID251
        await asyncio.sleep(0)
        is_done.set()
        with pytest.raises(TimeoutError):  # longer than any fixed moment that was waited before
            async with asyncio.timeout(0.2):
                await asyncio.shield(stopping)
        on_the_way.set()
        async with asyncio.timeout(1):
            assert await stopping
        told = [type(each.event) for each in await stage.hear(turn_id)]
        assert told[-2:] == [ActionCompleted, TurnCompleted]
        assert (await stage.ending(turn_id)).finish_reason == "cancelled"  # pyright: ignore[reportAttributeAccessIssue]


async def test_a_lost_turn_is_given_its_ending_and_a_running_one_is_left_alone():
    script = Waiting()
    store = MemoryStore()
    async with staged(SupervisorPolicy(drain_seconds=0), store=store) as here:
        lost = await here.begin(script)
        await here.says(lost, TextDelta)
        async with staged(store=store) as fresh:
            mine = await fresh.begin(Waiting())
            assert await fresh.supervisor.recover() == 1
            assert await fresh.code(lost) == "stream_interrupted"
            assert [each.turn_id for each in await store.running()] == [mine]
            assert await fresh.supervisor.recover() == 0
            await fresh.supervisor.cancel(mine)


async def test_nothing_is_left_running_when_the_supervisor_is_left():
    async def failing(work: Work) -> Batches:
        yield words("Rest ")
        raise RuntimeError

    before = asyncio.all_tasks()
    async with staged(SupervisorPolicy(drain_seconds=0.01)) as stage:
        for script in (answering, failing, Waiting(), Waiting()):
            await stage.begin(script)
        cancelled = await stage.begin(Waiting())
        await stage.supervisor.cancel(cancelled)

    assert asyncio.all_tasks() == before


async def test_two_hundred_turns_at_once_keep_their_words_apart():
    async def echoing(work: Work) -> Batches:
        canary = work.turn_id
        for _ in range(5):
            await asyncio.sleep(0)
            yield words(canary)
        yield [completed(canary * 5)]

    async def heard_by(stage: Stage, script: Script) -> None:
        turn_id = await stage.begin(script, agent=ScriptedAgent(script))
        ending = await stage.ending(turn_id)
        assert isinstance(ending, TurnCompleted)
        assert ending.content == turn_id * 5

    async with staged() as stage:
        await asyncio.gather(*(heard_by(stage, echoing) for _ in range(200)))
