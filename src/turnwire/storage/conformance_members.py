"""What every store has to do about members, as checks like those of ``conformance``."""

import asyncio
from dataclasses import replace
from typing import Final

from turnwire.events import GuardrailDecided, GuardrailDecision, ModelCalled, TurnCompleted, Usage
from turnwire.ids import PauseId, TurnId, new_id
from turnwire.storage.base import Answer, Conflict, Store
from turnwire.storage.conformance import Check, Script
from turnwire.storage.members import Charge, SessionRecord, Used
from turnwire.storage.receipt import receipt_of

_HOUR: Final = 3_600_000
_AT: Final = 1_800_000_000_000 // _HOUR * _HOUR


def _charge(
    subject: str = "member:1",
    *,
    messages: int | None = None,
    tokens: int | None = None,
    held: int = 50,
    start_ms: int = _AT,
) -> Charge:
    return Charge(
        subject=subject,
        window_ms=_HOUR,
        start_ms=start_ms,
        messages=messages,
        tokens=tokens,
        held=held,
    )


def _called(read: int, written: int) -> ModelCalled:
    return ModelCalled(
        provider="fake:one",
        outcome="ok",
        duration_ms=5,
        tokens_in=read,
        tokens_out=written,
    )


async def _began(store: Store, *charges: Charge) -> Script:
    script = Script()
    await store.begin(script.opening(charges=charges))
    return script


async def _refused(store: Store, *charges: Charge) -> bool:
    script = Script()
    try:
        await store.begin(script.opening(charges=charges))
    except Conflict:
        assert await store.turn(script.turn_id) is None
        assert await store.conversation(script.conversation_id) is None
        return True
    return False


async def a_session_is_found_until_it_expires(store: Store) -> None:
    """A session is known by its hash, may be renewed while it lives, and never afterwards."""
    session = SessionRecord(
        session_hash="abc",
        member="member:1",
        application="key:1",
        created_ms=_AT,
        seen_ms=_AT,
        expires_ms=_AT + 10,
    )
    await store.add_session(session)

    assert await store.session("abc", now=_AT + 9) == session
    assert await store.session("abc", now=_AT + 10) is None
    assert await store.session("other", now=_AT) is None
    await store.renew_session("abc", now=_AT + 9, expires_ms=_AT + 20)
    assert await store.session("abc", now=_AT + 19) == replace(
        session, seen_ms=_AT + 9, expires_ms=_AT + 20
    )
    await store.renew_session("abc", now=_AT + 20, expires_ms=_AT + 99)
    assert await store.session("abc", now=_AT + 20) is None
    await store.add_session(replace(session, session_hash="new", created_ms=_AT + 20))
    assert await store.session("abc", now=_AT) is None


async def of_many_turns_as_many_begin_as_the_allowance_has(store: Store) -> None:
    """A hundred at once against ten: ten begin, and the others leave nothing behind."""
    charge = _charge(messages=10)
    refused = await asyncio.gather(*(_refused(store, charge) for _ in range(100)))

    assert refused.count(False) == 10
    assert await store.used([charge]) == (Used(10, 500),)
    assert len(await store.conversations("key:1")) == 10


async def a_turn_is_charged_to_every_allowance_or_to_none(store: Store) -> None:
    """Where the second has nothing left, the first is as it was."""
    member, key = _charge(messages=5), _charge("key:1", messages=1)
    await _began(store, member, key)

    assert await _refused(store, member, key)
    assert await store.used([key, member]) == (Used(1, 50), Used(1, 50))
    facts = await store.facts("key:1", None, None, charges=[member, key])
    assert facts.used == (Used(1, 50), Used(1, 50))


async def what_is_held_is_settled_with_what_was_used(store: Store) -> None:
    """Completed, failed, cancelled or cut: the tokens used count, and the rest is given back."""
    charge = _charge(tokens=1000)
    for ending in ("complete", "fail", "cancel"):
        script = await _began(store, charge)
        await store.append(script.say("Rest "))
        await store.append(script.write(_called(20, 3)))
        if ending == "fail":
            await store.append(script.fail())
        else:
            await store.append(script.complete("Rest ", "stop" if ending == "complete" else ending))
    assert await store.used([charge]) == (Used(3, 69),)

    silent = await _began(store, charge)
    assert await store.used([charge]) == (Used(4, 119),)
    usage = Usage(prompt_tokens=4, completion_tokens=3, total_tokens=7)
    await store.append(silent.write(TurnCompleted(finish_reason="stop", content="", usage=usage)))
    assert await store.used([charge]) == (Used(4, 76),)


async def an_allowance_that_held_tokens_use_up_is_free_again_when_they_were_not_needed(
    store: Store,
) -> None:
    """Tokens held for a turn that runs count as used."""
    charge = _charge(tokens=60, held=60)
    script = await _began(store, charge)
    assert await _refused(store, charge)

    await store.append(script.write(_called(5, 5)))
    await store.append(script.complete())
    assert not await _refused(store, charge)


async def a_paused_turn_holds_nothing_and_goes_on_in_the_window_of_its_time(store: Store) -> None:
    """While a person is waited for, only what was used counts; the rest counts when it is used."""
    charge, pause_id = _charge(tokens=1000), PauseId(new_id("cnf"))
    script = await _began(store, charge)
    await store.append(script.write(_called(30, 0)))
    await store.append(script.ask(pause_id))
    assert await store.used([charge]) == (Used(1, 30),)

    answer = Answer(pause_id=pause_id, decision="answered", decided_by="key:1")
    later = _AT + _HOUR
    await store.resume(script.turn_id, [answer], script.start(), now=later + 5)
    await store.append(script.write(_called(40, 2)))
    await store.append(script.complete())
    next_window = replace(charge, start_ms=later)
    assert await store.used([charge, next_window]) == (Used(1, 30), Used(0, 42))


async def going_on_may_be_charged_as_a_message(store: Store) -> None:
    """A resume with charges takes them, or changes nothing where nothing is left."""
    charge, pause_id = _charge(messages=2, held=50), PauseId(new_id("cnf"))
    script = await _began(store, charge)
    await store.append(script.ask(pause_id))
    answer = Answer(pause_id=pause_id, decision="answered", decided_by="key:1")
    full = replace(charge, messages=1)
    started = script.start()

    try:
        await store.resume(script.turn_id, [answer], started, now=_AT, charges=[full])
    except Conflict:
        pass
    else:
        raise AssertionError("it went on without a message left")
    (open_still,) = await store.pauses(script.conversation_id)
    assert open_still.phase == "open"
    await store.resume(script.turn_id, [answer], started, now=_AT, charges=[charge])
    assert await store.used([charge]) == (Used(2, 50),)
    await store.append(script.complete())
    assert await store.used([charge]) == (Used(2, 0),)


async def a_turn_that_is_erased_leaves_no_tokens_held(store: Store) -> None:
    """What an erased turn held is given back when it ends."""
    charge = _charge(tokens=1000)
    script = await _began(store, charge)
    await store.erase(script.conversation_id)
    await store.append(script.complete())

    assert await store.used([charge]) == (Used(1, 0),)
    assert await store.receipt(script.turn_id) is None


async def what_was_charged_stays_charged_when_the_turn_is_erased(store: Store) -> None:
    """Erasing a conversation gives nothing back but what was only held."""
    charge, pause_id = _charge(tokens=1000), PauseId(new_id("cnf"))
    script = await _began(store, charge)
    await store.append(script.write(_called(30, 0)))
    await store.append(script.ask(pause_id))
    answer = Answer(pause_id=pause_id, decision="answered", decided_by="key:1")
    await store.resume(script.turn_id, [answer], script.start(), now=_AT)
    await store.erase(script.conversation_id)
    await store.append(script.complete())

    assert await store.used([charge]) == (Used(1, 30),)


async def a_new_window_begins_with_nothing_used(store: Store) -> None:
    """The next window has the whole allowance, and the old one is forgotten."""
    charge = _charge(messages=1)
    await _began(store, charge)
    assert await _refused(store, charge)

    later = replace(charge, start_ms=_AT + _HOUR)
    await _began(store, later)
    assert await store.used([charge, later]) == (Used(), Used(1, 50))


async def a_receipt_is_stored_with_each_end_of_a_run(store: Store) -> None:
    """At a pause and at the end, the receipt is what the turn's events come to."""
    script, pause_id = await _began(store), PauseId(new_id("cnf"))
    assert await store.receipt(script.turn_id) is None
    decided = GuardrailDecision(stage="pre", check="pii", outcome="pass")
    await store.append(script.write(GuardrailDecided(decision=decided), _called(7, 1)))
    await store.append(script.say("Rest "))
    await store.append(script.ask(pause_id))

    paused = await store.receipt(script.turn_id)
    assert paused == receipt_of(script.log)
    assert paused is not None
    assert (paused.usage.total_tokens, paused.runs, paused.guardrails) == (8, 1, (decided,))
    answer = Answer(pause_id=pause_id, decision="answered", decided_by="key:1")
    await store.resume(script.turn_id, [answer], script.start(), now=_AT)
    await store.append(script.complete("Rest "))
    ended = await store.receipt(script.turn_id)
    assert ended == receipt_of(script.log)
    assert ended is not None
    assert ended.runs == 2
    await store.erase(script.conversation_id)
    assert await store.receipt(script.turn_id) is None
    assert await store.receipt(TurnId("trn_unknown")) is None


CHECKS: Final[tuple[Check, ...]] = (
    a_session_is_found_until_it_expires,
    of_many_turns_as_many_begin_as_the_allowance_has,
    a_turn_is_charged_to_every_allowance_or_to_none,
    what_is_held_is_settled_with_what_was_used,
    an_allowance_that_held_tokens_use_up_is_free_again_when_they_were_not_needed,
    a_paused_turn_holds_nothing_and_goes_on_in_the_window_of_its_time,
    going_on_may_be_charged_as_a_message,
    a_turn_that_is_erased_leaves_no_tokens_held,
    what_was_charged_stays_charged_when_the_turn_is_erased,
    a_new_window_begins_with_nothing_used,
    a_receipt_is_stored_with_each_end_of_a_run,
)
"""Every check, each to be given a new store."""
