"""What every store has to do about lists; see :mod:`turnwire.storage.conformance`."""

from dataclasses import replace
from typing import Final

from turnwire.events import Pause, TurnPaused
from turnwire.ids import ConversationId, PauseId, new_id
from turnwire.storage.base import ConversationRecord, Place, Store
from turnwire.storage.conformance import Check, Script

_AT: Final = 1_800_000_000_000


async def conversations_are_listed_page_by_page(store: Store) -> None:
    """No page is over its limit, none is told twice, and those of one moment are told apart."""
    known: list[ConversationId] = []
    for number in range(7):
        script = Script()
        opening = script.opening()
        at = _AT + number // 3
        await store.begin(replace(opening, turn=replace(opening.turn, created_ms=at)))
        known.append(script.conversation_id)

    listed, before = list[ConversationRecord](), None
    for expected in (3, 3, 1, 0):
        page = await store.conversations("key:1", limit=3, before=before)
        assert len(page) == expected
        listed += page
        before = Place(listed[-1].updated_ms, listed[-1].conversation_id)

    assert {each.conversation_id for each in listed} == set(known)
    assert listed == sorted(
        listed, key=lambda each: (each.updated_ms, each.conversation_id), reverse=True
    )
    assert await store.conversations("key:9", limit=3, before=before) == []


async def abandoned_conversations_are_found_unless_something_is_awaited(store: Store) -> None:
    """Of those whose names begin so: old ones, where nothing runs and no reviewer may decide."""
    old = [await _conversation(store, "guest:1", _AT + each) for each in range(3)]
    await _conversation(store, "guest:2", _AT + 100)
    await _conversation(store, "guests:1", _AT)
    await _conversation(store, "key:1", _AT)
    running = Script()
    await store.begin(running.opening(principal="guest:3"))
    waits = Script()
    await store.begin(waits.opening(principal="guest:4"))
    review = Pause(
        pause_id=PauseId(new_id("cnf")),
        kind="review",
        payload=None,
        requested_ms=_AT,
        expires_ms=_AT + 60,
    )
    await store.append(waits.write(TurnPaused(pauses=(review,), draft="")))

    async def found(*, before: int = 50, now: int = 50, limit: int = 9) -> list[ConversationId]:
        return await store.abandoned("guest:", before_ms=_AT + before, now=_AT + now, limit=limit)

    assert set(await found()) == set(old)
    assert await found(before=2) == old[:2]
    assert await found(limit=1) == old[:1]
    assert set(await found(now=60)) == {*old, waits.conversation_id}


async def _conversation(store: Store, principal: str, at: int) -> ConversationId:
    script = Script()
    opening = script.opening(principal=principal)
    await store.begin(replace(opening, turn=replace(opening.turn, created_ms=at)))
    await store.append(script.complete())
    return script.conversation_id


CHECKS: Final[tuple[Check, ...]] = (
    conversations_are_listed_page_by_page,
    abandoned_conversations_are_found_unless_something_is_awaited,
)
