"""What every store has to do, as checks that anybody can run on a backend of their own.

Each check takes an open, empty store and returns, or raises :class:`AssertionError`. No test
framework is needed: ``for check in CHECKS: await check(store)``, with a new store for each.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final, cast

from turnwire.clock import system_now
from turnwire.events import (
    Citation,
    Envelope,
    Event,
    Pause,
    ReasoningDelta,
    TextDelta,
    TextReplaced,
    Topology,
    TurnCompleted,
    TurnFailed,
    TurnPaused,
    TurnStarted,
)
from turnwire.ids import BEGINNING, ConversationId, PauseId, RunId, Seq, TurnId, new_id
from turnwire.storage.base import Answer, Conflict, KeyRecord, Opening, Store, TurnRecord
from turnwire.storage.members import Charge
from turnwire.storage.tail import WINDOW
from turnwire.work import Message

Check = Callable[[Store], Awaitable[None]]

_AT: Final = 1_800_000_000_000
_PATIENCE: Final = 10.0


class Script:
    """Writes the envelopes of one turn as the engine would, without its grammar."""

    def __init__(self, *, conversation_id: ConversationId | None = None) -> None:
        self.conversation_id = conversation_id or ConversationId(new_id("conv"))
        self.turn_id = TurnId(new_id("trn"))
        self.run_id = RunId(new_id("run"))
        self.log: list[Envelope] = []

    def write(self, *events: Event) -> list[Envelope]:
        """Return the next envelopes."""
        written: list[Envelope] = []
        for event in events:
            seq = Seq(len(self.log) + 1)
            written.append(Envelope(seq, self.turn_id, self.run_id, _AT + seq, event))
            self.log.append(written[-1])
        return written

    def start(self) -> list[Envelope]:
        """Return a new run's first envelope."""
        resumed = bool(self.log)
        self.run_id = RunId(new_id("run"))
        return self.write(
            TurnStarted(
                conversation_id=self.conversation_id,
                agent="helper",
                model="none",
                locale="en",
                trace_id="0" * 32,
                resumed=resumed,
                topology=Topology(),
            )
        )

    def say(self, *texts: str) -> list[Envelope]:
        """Return words."""
        return self.write(*(TextDelta(text=each) for each in texts))

    def ask(self, *pause_ids: PauseId, expires_ms: int | None = None) -> list[Envelope]:
        """Return a pause."""
        pauses = tuple(
            Pause(
                pause_id=each,
                kind="input",
                payload=None,
                requested_ms=_AT,
                expires_ms=expires_ms,
            )
            for each in pause_ids
        )
        return self.write(TurnPaused(pauses=pauses, draft=f"draft {len(self.log)}"))

    def complete(self, content: str = "", finish_reason: str = "stop") -> list[Envelope]:
        """Return an ending."""
        return self.write(TurnCompleted(finish_reason=finish_reason, content=content))

    def fail(self) -> list[Envelope]:
        """Return an ending in an error."""
        return self.write(
            TurnFailed(code="agent_error", message="No.", retryable=False, error_id="err_1")
        )

    def opening(
        self,
        *,
        earlier_turns: int | None = None,
        principal: str = "key:1",
        key: str | None = None,
        charges: Sequence[Charge] = (),
    ) -> Opening:
        """Return what begins the turn."""
        started = self.start()
        record = TurnRecord(
            turn_id=self.turn_id,
            conversation_id=self.conversation_id,
            principal=principal,
            agent="helper",
            phase="running",
            run_id=self.run_id,
            messages=(Message(role="user", content="Hello"),),
            locale="en",
            trace_id="0" * 32,
            created_ms=_AT,
            updated_ms=_AT,
            idempotency_key=key,
            body_hash=key and "hash",
        )
        return Opening(turn=record, started=started, earlier_turns=earlier_turns, charges=charges)


async def _began(store: Store) -> Script:
    script = Script()
    await store.begin(script.opening())
    return script


async def _paused(store: Store, *pause_ids: PauseId, expires_ms: int | None = None) -> Script:
    script = await _began(store)
    await store.append(script.ask(*pause_ids, expires_ms=expires_ms))
    return script


def _pause_id() -> PauseId:
    return PauseId(new_id("cnf"))


def _answer(pause_id: PauseId, decision: str = "answered") -> Answer:
    return Answer(pause_id=pause_id, decision=decision, decided_by="key:2")


async def _heard(
    store: Store, script: Script, *, after: int = 0, run_id: RunId | None = None
) -> list[Envelope]:
    """Return what a follower hears, each batch checked for order."""
    heard: list[Envelope] = []
    following = store.follow(script.turn_id, after=Seq(after), patience=_PATIENCE, run_id=run_id)
    async for batch in following:
        assert batch, f"a follower waited for {_PATIENCE} s after {len(heard)} envelopes"
        heard += batch
    return heard


async def _conflicts(work: Awaitable[object]) -> bool:
    try:
        await work
    except Conflict:
        return True
    return False


async def what_was_appended_is_read_back(store: Store) -> None:
    """Reading gives the envelopes that were written, from any number on."""
    script = await _began(store)
    await store.append(script.say("Rest ", "for ", "two days."))
    await store.append(script.complete("Rest for two days."))

    assert await store.read(script.turn_id) == script.log
    assert await store.read(script.turn_id, after=Seq(3)) == script.log[3:]
    assert await store.read(script.turn_id, after=Seq(99)) == []
    assert await store.read(TurnId("trn_unknown")) == []


async def words_are_shown_without_a_wait(store: Store) -> None:
    """What is shown between two appends is followed and kept in its place."""
    script = await _began(store)
    await store.append(script.say("Rest "))
    assert store.takes(script.turn_id)
    store.show(script.say("for "))
    store.show(script.say("two "))
    await store.append(script.say("days."))
    await store.append(script.complete("Rest for two days."))

    assert await _heard(store, script) == script.log
    assert await store.read(script.turn_id) == script.log


async def text_is_kept_as_it_was(store: Store) -> None:
    """Any text comes back unchanged, halves of characters among it."""
    script = await _began(store)
    texts = ["\u2028\u0085\x00\x1c", "🌦️ naïve שלום", "\ud83d", "'; DROP TABLE turns; --", ""]
    await store.append(script.say(*texts))
    await store.append(script.complete("🌦️"))

    assert await store.read(script.turn_id) == script.log


async def live_and_replay_are_the_same(store: Store) -> None:
    """Who follows from the start, from the middle or afterwards hears the same envelopes."""
    script = await _began(store)
    async with asyncio.TaskGroup() as tasks:
        live = [tasks.create_task(_heard(store, script, after=n)) for n in (0, 1, 3)]
        for text in ("a", "b", "c", "d"):
            await store.append(script.say(text))
            await asyncio.sleep(0)
        await store.append(script.complete("abcd"))

    for after, task in zip((0, 1, 3), live, strict=True):
        assert task.result() == script.log[after:]
        assert await _heard(store, script, after=after) == script.log[after:]


async def a_follower_of_a_burst_misses_nothing(store: Store) -> None:
    """Followers that come in the middle of a burst hear every number once."""
    for seed in range(20):
        chance = random.Random(seed)
        script = await _began(store)

        async def follow(script: Script, chance: random.Random) -> None:
            await asyncio.sleep(chance.random() / 100)
            after = chance.randrange(2)
            heard = await _heard(store, script, after=after)
            assert [each.seq for each in heard] == list(range(after + 1, len(script.log) + 1))

        async with asyncio.TaskGroup() as tasks:
            for _ in range(5):
                tasks.create_task(follow(script, random.Random(chance.random())))
            for _ in range(chance.randrange(10, 60)):
                await store.append(script.say(*"ab"[: chance.randrange(1, 3)]))
                await asyncio.sleep(chance.choice((0, 0, 0, 0.001)))
            await store.append(script.complete())


async def what_a_guard_takes_back_is_in_no_replay(store: Store) -> None:
    """The events keep their numbers and lose their words, also for who is behind or comes late."""
    taken_back = TextReplaced(text="No.", reason="persona_stability", retracts=True)
    script = await _began(store)
    await store.append(script.say("I am ", "a "))
    await asyncio.sleep(0.1)  # time to flush
    await store.append(script.write(TextReplaced(text="We are", reason="edited")))
    await store.append(script.write(ReasoningDelta(node="answer", text="Say surgeon.")))
    behind = store.follow(script.turn_id, after=BEGINNING, patience=_PATIENCE)
    heard = list(await anext(behind))
    store.show(script.say("surgeons"))
    await store.append([*script.say("!"), *script.write(taken_back)])
    late = await store.read(script.turn_id)
    live = [*heard, *(each for each in await anext(behind))]
    await store.append([*script.say(" Sorry."), *script.complete("No. Sorry.")])

    for found in (late, await store.read(script.turn_id), await _heard(store, script)):
        assert [each.seq for each in found] == list(range(1, len(found) + 1))
        assert not _words(found[: _taken_back_at(script) - 1]), _words(found)
        assert found[_taken_back_at(script) - 1].event == taken_back
    assert _words(await store.read(script.turn_id))[-1] == " Sorry."
    assert "surgeons" not in _words(live), "a follower that was behind heard what was taken back"
    record = await store.turn(script.turn_id)
    assert record is not None
    assert record.content == "No. Sorry."


async def a_follower_far_behind_does_not_hear_what_was_taken_back(store: Store) -> None:
    """Who reads an old part of a long turn from the store gets no words read before."""
    script = await _began(store)
    for _ in range(200):
        await store.append(script.say(*["surgeon "] * 50))
    await asyncio.sleep(0.2)
    await store.append(script.say("surgeon"))
    await asyncio.sleep(0.2)  # time to flush, so that memory is trimmed
    following = store.follow(script.turn_id, after=BEGINNING, patience=_PATIENCE)
    await anext(following)
    await store.append(script.write(TextReplaced(text="No.", reason="pii", retracts=True)))
    await store.append(script.complete("No."))
    heard = [each async for batch in following for each in batch]

    assert len(heard) > WINDOW
    assert _words(heard) == ["No."]


async def what_a_guard_takes_back_as_it_ends_is_gone(store: Store) -> None:
    """The same where the ending comes with it, and where the turn fails afterwards."""
    taken_back = TextReplaced(text="No.", reason="pii", retracts=True)
    ended, failed = await _began(store), await _began(store)
    for script in (ended, failed):
        await store.append(script.say("surgeons"))
    await store.append([*ended.write(taken_back), *ended.complete("No.")])
    await store.append(failed.write(taken_back))
    await store.append(failed.fail())

    for script in (ended, failed):
        assert _words(await store.read(script.turn_id)) == ["No."]
        assert _words(await _heard(store, script)) == ["No."]
    record = await store.turn(failed.turn_id)
    assert record is not None
    assert record.content == "No."


def _taken_back_at(script: Script) -> int:
    """Return the number of the event by which a guard took words back."""
    return next(
        each.seq
        for each in script.log
        if isinstance(each.event, TextReplaced) and each.event.retracts
    )


def _words(envelopes: Sequence[Envelope]) -> list[str]:
    spoken = (TextDelta, TextReplaced, ReasoningDelta)
    said = [each.event for each in envelopes if isinstance(each.event, spoken)]
    return [each.text for each in said if each.text]


async def patience_yields_an_empty_batch(store: Store) -> None:
    """Silence is told as an empty batch, and does not end the stream."""
    script = await _began(store)
    following = cast(
        "AsyncGenerator[Sequence[Envelope], None]",
        store.follow(script.turn_id, after=Seq(1), patience=0.01),
    )
    async with aclosing(following):
        assert await anext(following) == ()
        assert await anext(following) == ()
        await store.append(script.say("a"))
        assert [each.seq for each in await anext(following)] == [2]
    await store.append(script.complete("a"))


async def a_run_bounds_what_is_followed(store: Store) -> None:
    """With a run's id the end of that run is the end; without it the turn's latest is."""
    pause_id = _pause_id()
    script = await _paused(store, pause_id)
    first = script.run_id
    await store.resume(script.turn_id, [_answer(pause_id)], script.start(), now=_AT)
    second = script.run_id
    async with asyncio.TaskGroup() as tasks:
        bound = tasks.create_task(_heard(store, script, run_id=first))
        whole = tasks.create_task(_heard(store, script))
        going_on = tasks.create_task(_heard(store, script, after=2, run_id=second))
        await asyncio.sleep(0.01)
        await store.append(script.say("a"))
        await store.append(script.complete("a"))

    assert bound.result() == script.log[:2]
    assert whole.result() == script.log
    assert going_on.result() == script.log[2:]


async def a_paused_turn_is_followed_to_its_pause(store: Store) -> None:
    """Nothing runs at a pause, so the stream ends there."""
    script = await _paused(store, _pause_id())

    assert await _heard(store, script) == script.log


async def a_follower_that_stops_reading_catches_up(store: Store) -> None:
    """A turn longer than memory keeps is whole for who reads late, slowly or afterwards."""
    script = await _began(store)
    following = store.follow(script.turn_id, after=BEGINNING, patience=_PATIENCE)
    heard = list(await anext(following))
    for number in range(200):
        await store.append(script.say(*[f"{number} "] * 50))
        if number % 50 == 0:
            await asyncio.sleep(0.1)  # time to flush, so that memory may be trimmed
    await asyncio.sleep(0.1)
    heard += await anext(following)
    await store.append(script.say("last"))
    await store.append(script.complete("".join(["x"])))
    async for batch in following:
        heard += batch

    seqs = list(range(1, 10_004))
    assert [each.seq for each in heard] == seqs
    assert [each.seq for each in await _heard(store, script)] == seqs
    assert [each.seq for each in await store.read(script.turn_id)] == seqs


async def a_follower_that_fell_behind_is_not_cut_short(store: Store) -> None:
    """Who reads the store for what memory dropped still hears what came meanwhile."""
    script = await _began(store)
    for _ in range(200):
        await store.append(script.say(*["word "] * 50))
    await asyncio.sleep(0.2)
    await store.append(script.say("one more"))
    await asyncio.sleep(0.2)
    following = store.follow(script.turn_id, after=BEGINNING, patience=_PATIENCE)
    heard = list(await anext(following))
    await store.append(script.say("meanwhile"))
    await store.append(script.complete("meanwhile"))
    async for batch in following:
        heard += batch

    assert [each.seq for each in heard] == list(range(1, len(script.log) + 1))


async def two_turns_at_once_are_one(store: Store) -> None:
    """Of turns that begin at once on one conversation exactly one is stored."""
    conversation_id = ConversationId(new_id("conv"))
    for earlier in (None, 1):
        scripts = [Script(conversation_id=conversation_id) for _ in range(10)]
        openings = [each.opening(earlier_turns=earlier) for each in scripts]
        refused = await asyncio.gather(*(_conflicts(store.begin(each)) for each in openings))

        assert refused.count(False) == 1
        winner = scripts[refused.index(False)]
        stored = [each.turn_id for each in await store.turns(conversation_id)]
        assert stored[-1] == winner.turn_id
        assert len(stored) == (earlier or 0) + 1
        await store.append(winner.complete())


async def a_busy_conversation_takes_no_turn(store: Store) -> None:
    """While a turn runs or waits, no other begins; nothing of it is stored."""
    pause_id = _pause_id()
    script = await _began(store)
    other = Script(conversation_id=script.conversation_id)

    assert await _conflicts(store.begin(other.opening(earlier_turns=1)))
    await store.append(script.ask(pause_id))
    other = Script(conversation_id=script.conversation_id)
    assert await _conflicts(store.begin(other.opening(earlier_turns=1)))
    assert await store.turn(other.turn_id) is None
    assert await store.read(other.turn_id) == []
    known = await store.conversation(script.conversation_id)
    assert known is not None
    assert known.turns == 1


async def a_turn_may_end_the_paused_one_before_it(store: Store) -> None:
    """The paused turn is dropped and the new one begun, both or neither."""
    pause_id = _pause_id()
    script = await _paused(store, pause_id)
    dropped = [*script.start(), *script.complete("draft", "cancelled")]
    other = Script(conversation_id=script.conversation_id)
    opening = replace(other.opening(earlier_turns=1), dropped=(script.turn_id, dropped))
    await store.begin(opening)

    before = await store.turn(script.turn_id)
    assert before is not None
    assert (before.phase, before.finish_reason) == ("completed", "cancelled")
    [pause] = await store.pauses(script.conversation_id)
    assert pause.phase == "dropped"
    assert await store.read(script.turn_id) == script.log

    third = Script(conversation_id=script.conversation_id)
    again = replace(third.opening(earlier_turns=2), dropped=(script.turn_id, dropped))
    assert await _conflicts(store.begin(again))
    assert await store.read(script.turn_id) == script.log


async def an_idempotency_key_is_used_once_by_each_principal(store: Store) -> None:
    """The second turn under a key is refused; another principal's key is another key."""
    first, second, foreign = Script(), Script(), Script()
    await store.begin(first.opening(key="retry"))

    assert await _conflicts(store.begin(second.opening(key="retry")))
    assert await store.turns(second.conversation_id) == []
    assert await store.conversation(second.conversation_id) is None
    await store.begin(foreign.opening(key="retry", principal="key:2"))
    mine = (await store.facts("key:1", None, "retry")).repeated
    theirs = (await store.facts("key:2", None, "retry")).repeated
    assert mine is not None
    assert theirs is not None
    assert (mine.turn_id, theirs.turn_id) == (first.turn_id, foreign.turn_id)
    assert (await store.facts("key:3", None, "retry")).repeated is None


async def of_many_answers_one_wins(store: Store) -> None:
    """Twenty answers at once: one run is started, nineteen are refused."""
    pause_id = _pause_id()
    script = await _paused(store, pause_id)
    at = len(script.log)
    starts: list[list[Envelope]] = []
    for _ in range(20):
        del script.log[at:]
        starts.append(script.start())

    refused = await asyncio.gather(
        *(
            _conflicts(
                store.resume(script.turn_id, [_answer(pause_id, f"no {n}")], started, now=_AT)
            )
            for n, started in enumerate(starts)
        )
    )

    assert refused.count(False) == 1
    winner = refused.index(False)
    [record] = await store.pauses(script.conversation_id)
    assert (record.phase, record.decision) == ("answered", f"no {winner}")
    assert record.decided_by == "key:2"
    assert (await store.read(script.turn_id))[at:] == starts[winner]


async def the_stores_own_clock_says_what_is_too_late(store: Store) -> None:
    """Whatever time the caller names, an expired pause is not answered and another one is."""
    for seconds, late in ((-1, True), (60, False)):
        pause_id, now = _pause_id(), system_now()
        script = await _paused(store, pause_id, expires_ms=now + seconds * 1000)
        named = now + (-3600_000 if late else 3600_000)
        resumed = store.resume(script.turn_id, [_answer(pause_id)], script.start(), now=named)

        assert await _conflicts(resumed) == late
        [record] = await store.pauses(script.conversation_id)
        assert record.phase == ("open" if late else "answered")


async def what_a_turn_asked_is_over_when_it_ends(store: Store) -> None:
    """Of two questions one is answered; the turn ends, and the other waits no more."""
    first, second = _pause_id(), _pause_id()
    script = await _paused(store, first, second)
    await store.resume(script.turn_id, [_answer(first)], script.start(), now=_AT)
    await store.append(script.fail())

    records = {each.pause.pause_id: each for each in await store.pauses(script.conversation_id)}
    assert (records[first].phase, records[second].phase) == ("answered", "dropped")


async def answers_are_taken_together_or_not_at_all(store: Store) -> None:
    """One stale answer among good ones changes nothing."""
    first, second = _pause_id(), _pause_id()
    script = await _paused(store, first, second)
    answers = [_answer(first), _answer(_pause_id())]

    assert await _conflicts(store.resume(script.turn_id, answers, script.start(), now=_AT))
    assert {each.phase for each in await store.pauses(script.conversation_id)} == {"open"}
    turn = await store.turn(script.turn_id)
    assert turn is not None
    assert turn.phase == "paused"


async def a_question_asked_again_stays_as_first_asked(store: Store) -> None:
    """A pause that waits on is one record, with its first draft; an answer to it is final."""
    first, second = _pause_id(), _pause_id()
    script = await _paused(store, first, second)
    draft = f"draft {len(script.log) - 1}"
    await store.resume(script.turn_id, [_answer(first)], script.start(), now=_AT)
    await store.append(script.ask(first, second))

    records = {each.pause.pause_id: each for each in await store.pauses(script.conversation_id)}
    assert (records[first].phase, records[second].phase) == ("answered", "open")
    assert (records[first].draft, records[second].draft) == (draft, draft)


async def an_answer_and_a_drop_do_not_both_win(store: Store) -> None:
    """A paused turn is resumed or closed, never both."""
    for _ in range(10):
        pause_id = _pause_id()
        script = await _paused(store, pause_id)
        at = len(script.log)
        started = script.start()
        del script.log[at:]
        closing = [*script.start(), *script.complete("", "cancelled")]
        resumed, closed = await asyncio.gather(
            _conflicts(store.resume(script.turn_id, [_answer(pause_id)], started, now=_AT)),
            _conflicts(store.close_paused(script.turn_id, closing)),
        )

        assert resumed != closed
        turn = await store.turn(script.turn_id)
        assert turn is not None
        assert turn.phase == ("completed" if resumed else "running")
        [record] = await store.pauses(script.conversation_id)
        assert record.phase == ("dropped" if resumed else "answered")


async def unsettled_turns_are_told_since_the_last_good_one(store: Store) -> None:
    """Cancelled and failed turns are told, oldest first, until the agent ends one itself."""
    conversation_id = ConversationId(new_id("conv"))
    ids: list[TurnId] = []
    endings = ("failed", "stop", "cancelled", "failed")
    for number, ending in enumerate(endings):
        script = Script(conversation_id=conversation_id)
        await store.begin(script.opening(earlier_turns=number or None))
        await store.append(script.say(ending))
        ended = script.fail() if ending == "failed" else script.complete(ending, ending)
        await store.append(ended)
        ids.append(script.turn_id)

    facts = await store.facts("key:1", conversation_id, None)

    assert [each.turn_id for each in facts.unsettled] == ids[2:]
    assert [each.content for each in facts.unsettled] == ["cancelled", "failed"]
    assert facts.active is None
    assert facts.conversation is not None
    assert facts.conversation.turns == 4


async def the_active_turn_is_told(store: Store) -> None:
    """A running or paused turn is active and not unsettled."""
    script = await _began(store)
    facts = await store.facts("key:1", script.conversation_id, None)
    assert facts.active is not None
    assert (facts.active.turn_id, facts.active.phase) == (script.turn_id, "running")
    assert facts.unsettled == ()

    await store.append(script.ask(_pause_id()))
    facts = await store.facts("key:1", script.conversation_id, None)
    assert facts.active is not None
    assert (facts.active.phase, facts.unsettled) == ("paused", ())
    assert (await store.facts("key:1", ConversationId("conv_no"), None)).conversation is None


async def a_row_tells_what_the_events_said(store: Store) -> None:
    """Content, reason, citations, error and number are the events'."""
    citation = Citation(marker=1, id="psg", title="T", document_id="doc", snippet="s")
    script = await _began(store)
    await store.append(script.say("first "))
    await store.append(
        script.write(
            TextReplaced(text="second", reason="edited"),
            TurnCompleted(finish_reason="stop", content="second", citations=(citation,)),
        )
    )
    failed = await _began(store)
    await store.append(failed.say("first "))
    await store.append(failed.write(TextReplaced(text="again", reason="edited")))
    await store.append([*failed.say(" and"), *failed.fail()])

    good, bad = await store.turn(script.turn_id), await store.turn(failed.turn_id)
    assert good is not None
    assert bad is not None
    assert (good.phase, good.content, good.finish_reason) == ("completed", "second", "stop")
    assert (good.citations, good.last_seq, good.updated_ms) == ((citation,), 4, _AT + 4)
    assert (bad.phase, bad.content, bad.error_code) == ("failed", "again and", "agent_error")
    assert good.messages == (Message(role="user", content="Hello"),)
    assert await store.running() == []


async def running_turns_are_told(store: Store) -> None:
    """A turn runs from its start to its pause or ending."""
    running, paused, done = await _began(store), await _began(store), await _began(store)
    await store.append(paused.ask(_pause_id()))
    await store.append(done.complete())

    assert [each.turn_id for each in await store.running()] == [running.turn_id]


async def conversations_are_listed_to_their_owner(store: Store) -> None:
    """Newest first, and nobody else's."""
    scripts = [Script() for _ in range(3)]
    for number, script in enumerate(scripts):
        opening = script.opening(principal="key:2" if number == 1 else "key:1")
        await store.begin(replace(opening, turn=replace(opening.turn, created_ms=_AT + number)))

    listed = await store.conversations("key:1")

    assert [each.conversation_id for each in listed] == [
        scripts[2].conversation_id,
        scripts[0].conversation_id,
    ]
    assert await store.conversations("key:9") == []


async def open_pauses_of_everybody_are_listed(store: Store) -> None:
    """Without a conversation the open ones are told, newest first, by kind where one is named."""
    first, second, answered = _pause_id(), _pause_id(), _pause_id()
    await _paused(store, first)
    script = await _paused(store, answered)
    await store.resume(script.turn_id, [_answer(answered)], script.start(), now=_AT)
    await _paused(store, second)

    assert [each.pause.pause_id for each in await store.pauses()] == [second, first]
    assert len(await store.pauses(kind="input")) == 2
    assert await store.pauses(kind="review") == []


async def erasing_leaves_nothing(store: Store) -> None:
    """Nothing of an erased conversation is found, whatever it is asked by."""
    pause_id = _pause_id()
    script = Script()
    await store.begin(script.opening(key="retry"))
    await store.append(script.say("secret"))
    await store.append(script.ask(pause_id))
    other = await _began(store)
    await store.erase(script.conversation_id)

    assert await store.conversation(script.conversation_id) is None
    assert await store.turn(script.turn_id) is None
    assert await store.turns(script.conversation_id) == []
    assert await store.read(script.turn_id) == []
    assert await store.pauses(script.conversation_id) == []
    assert await store.pauses() == []
    assert (await store.facts("key:1", script.conversation_id, "retry")).repeated is None
    assert [each.turn_id for each in await store.running()] == [other.turn_id]
    await store.begin(
        Script(conversation_id=script.conversation_id).opening(key="retry", principal="key:1")
    )


async def what_an_erased_turn_says_is_not_kept(store: Store) -> None:
    """A conversation that is erased while its turn runs stays erased."""
    script = await _began(store)
    await store.append(script.say("before"))
    await store.erase(script.conversation_id)
    await store.append(script.say("after"))
    await asyncio.sleep(0.1)
    await store.append(script.complete("before after"))

    assert await store.read(script.turn_id) == []
    assert await store.turn(script.turn_id) is None


async def keys_are_kept_and_revoked(store: Store) -> None:
    """Keys are found by their public part; one is revoked once."""
    keys = [
        KeyRecord(
            key_id=f"{n:016x}",
            name=f"key {n}",
            environment="test",
            scopes=("chat", "review"),
            secret_hash="0" * 64,
            created_ms=_AT + n,
        )
        for n in range(3)
    ]
    for each in keys:
        await store.add_key(each)

    assert await store.keys() == keys
    assert await store.key(keys[1].key_id) == keys[1]
    assert await store.key("unknown") is None
    assert await store.revoke_key(keys[1].key_id, now=_AT + 9)
    assert not await store.revoke_key(keys[1].key_id, now=_AT + 10)
    assert not await store.revoke_key("unknown", now=_AT)
    assert await store.key(keys[1].key_id) == replace(keys[1], revoked_ms=_AT + 9)


def _key(key_id: str, secret_hash: str = "0" * 64) -> KeyRecord:
    return KeyRecord(
        key_id=key_id,
        name="a key",
        environment="test",
        scopes=("chat",),
        secret_hash=secret_hash,
        created_ms=_AT,
        per_minute=60,
    )


async def keys_are_found_by_name_in_any_number(store: Store) -> None:
    """Those that are named and known are told, and no others; a key keeps its limit."""
    for each in ("a", "b", "c"):
        await store.add_key(_key(each))

    assert {each.key_id for each in await store.keys({"a", "c", "unknown"})} == {"a", "c"}
    assert await store.keys(()) == []
    assert await store.key("b") == _key("b")


async def a_rotated_key_keeps_one_secret_before_it(store: Store) -> None:
    """The secret is another one; the one before it is kept as long as was said, or not at all."""
    await store.add_key(_key("a", "1" * 64))
    await store.add_key(_key("gone"))
    await store.revoke_key("gone", now=_AT)

    assert await store.rotate_key("a", "2" * 64, previous_until_ms=_AT + 9)
    kept = replace(_key("a", "2" * 64), previous_hash="1" * 64, previous_until_ms=_AT + 9)
    assert await store.key("a") == kept
    assert await store.rotate_key("a", "3" * 64, previous_until_ms=_AT + 19)
    again = replace(_key("a", "3" * 64), previous_hash="2" * 64, previous_until_ms=_AT + 19)
    assert await store.key("a") == again
    assert await store.rotate_key("a", "4" * 64, previous_until_ms=None)
    assert await store.key("a") == _key("a", "4" * 64)
    assert not await store.rotate_key("gone", "5" * 64, previous_until_ms=None)
    assert not await store.rotate_key("unknown", "5" * 64, previous_until_ms=None)


async def the_limit_of_a_key_is_changed(store: Store) -> None:
    """To another one or to none of its own; not a revoked or unknown key's."""
    await store.add_key(_key("a"))
    await store.add_key(_key("gone"))
    await store.revoke_key("gone", now=_AT)

    assert await store.limit_key("a", 7)
    assert await store.key("a") == replace(_key("a"), per_minute=7)
    assert await store.limit_key("a", None)
    assert await store.key("a") == replace(_key("a"), per_minute=None)
    assert not await store.limit_key("gone", 7)
    assert not await store.limit_key("unknown", 7)


async def the_last_use_of_keys_is_noted(store: Store) -> None:
    """The latest time that was told stays; an unknown key is passed over."""
    for each in ("a", "b"):
        await store.add_key(_key(each))
    await store.keys_used({})
    await store.keys_used({"a": _AT + 5, "unknown": _AT})
    await store.keys_used({"a": _AT + 4, "b": _AT + 6})

    assert {each.key_id: each.last_used_ms for each in await store.keys()} == {
        "a": _AT + 5,
        "b": _AT + 6,
    }


async def a_secret_is_taken_once(store: Store) -> None:
    """Of many who take a secret at once one gets it; an expired one is nobody's."""
    await store.add_secret("link", "abc", expires_ms=_AT + 10)
    await store.add_secret("link", "old", expires_ms=_AT)

    assert await store.has_secret("link", "abc", now=_AT + 9)
    assert not await store.has_secret("link", "abc", now=_AT + 10)
    assert not await store.has_secret("cookie", "abc", now=_AT)
    taken = await asyncio.gather(*(store.take_secret("link", "abc", now=_AT) for _ in range(20)))
    assert taken.count(True) == 1
    assert not await store.take_secret("link", "old", now=_AT)
    assert not await store.has_secret("link", "abc", now=_AT)


async def an_open_store_is_usable(store: Store) -> None:
    """The check returns."""
    await store.check()
    await store.append([])


CHECKS: Final[tuple[Check, ...]] = (
    what_was_appended_is_read_back,
    words_are_shown_without_a_wait,
    text_is_kept_as_it_was,
    live_and_replay_are_the_same,
    a_follower_of_a_burst_misses_nothing,
    what_a_guard_takes_back_is_in_no_replay,
    a_follower_far_behind_does_not_hear_what_was_taken_back,
    what_a_guard_takes_back_as_it_ends_is_gone,
    patience_yields_an_empty_batch,
    a_run_bounds_what_is_followed,
    a_paused_turn_is_followed_to_its_pause,
    a_follower_that_stops_reading_catches_up,
    a_follower_that_fell_behind_is_not_cut_short,
    two_turns_at_once_are_one,
    a_busy_conversation_takes_no_turn,
    a_turn_may_end_the_paused_one_before_it,
    an_idempotency_key_is_used_once_by_each_principal,
    of_many_answers_one_wins,
    the_stores_own_clock_says_what_is_too_late,
    what_a_turn_asked_is_over_when_it_ends,
    answers_are_taken_together_or_not_at_all,
    a_question_asked_again_stays_as_first_asked,
    an_answer_and_a_drop_do_not_both_win,
    unsettled_turns_are_told_since_the_last_good_one,
    the_active_turn_is_told,
    a_row_tells_what_the_events_said,
    running_turns_are_told,
    conversations_are_listed_to_their_owner,
    open_pauses_of_everybody_are_listed,
    erasing_leaves_nothing,
    what_an_erased_turn_says_is_not_kept,
    keys_are_kept_and_revoked,
    keys_are_found_by_name_in_any_number,
    a_rotated_key_keeps_one_secret_before_it,
    the_limit_of_a_key_is_changed,
    the_last_use_of_keys_is_noted,
    a_secret_is_taken_once,
    an_open_store_is_usable,
)
"""Every check, each to be given a new store."""
