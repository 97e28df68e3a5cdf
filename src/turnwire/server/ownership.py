"""Whose is it? Unknown and somebody else's are the same answer, so that nothing leaks."""

from turnwire.admission.principal import Principal
from turnwire.errors import NotFound
from turnwire.ids import ConversationId, TurnId
from turnwire.storage.base import ConversationRecord, TurnRecord, TurnStore


async def owned(
    store: TurnStore, principal: Principal, conversation_id: ConversationId
) -> ConversationRecord:
    """Return the caller's conversation, or raise :class:`NotFound`."""
    known = await store.conversation(conversation_id)
    if known is None or known.principal != principal.id:
        raise NotFound("There is no such conversation.")
    return known


async def owned_turn(
    store: TurnStore, principal: Principal, conversation_id: ConversationId, turn_id: TurnId
) -> TurnRecord:
    """Return a turn of the caller's conversation, or raise :class:`NotFound`."""
    await owned(store, principal, conversation_id)
    turn = await store.turn(turn_id)
    if turn is None or turn.conversation_id != conversation_id:
        raise NotFound("There is no such turn.")
    return turn


async def readable_turn(
    store: TurnStore, principal: Principal, conversation_id: ConversationId, turn_id: TurnId
) -> TurnRecord:
    """Return a turn that the caller may follow: their own, or one that was put to reviewers."""
    if principal.may("review"):
        reviewed = await store.pauses(conversation_id, kind="review")
        turn = await store.turn(turn_id)
        if turn and any(each.turn_id == turn_id for each in reviewed):
            return turn
    return await owned_turn(store, principal, conversation_id, turn_id)
