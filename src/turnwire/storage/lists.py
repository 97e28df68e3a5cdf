"""Lists of conversations, as functions of one connection."""

from sqlalchemy import Connection, and_, exists, or_, select, tuple_

from turnwire.ids import ConversationId
from turnwire.storage.base import ConversationRecord, Place
from turnwire.storage.rows import conversation_record
from turnwire.storage.tables import CONVERSATIONS, PAUSES, TURNS


def conversations(
    db: Connection, principal: str, limit: int, before: Place | None
) -> list[ConversationRecord]:
    """Return ``limit`` of a principal's conversations below ``before``, newest first."""
    order = CONVERSATIONS.c.updated_ms, CONVERSATIONS.c.conversation_id
    mine = select(CONVERSATIONS).where(CONVERSATIONS.c.principal == principal)
    if before is not None:
        mine = mine.where(tuple_(*order) < before)
    rows = db.execute(mine.order_by(*(each.desc() for each in order)).limit(limit)).mappings()
    return [conversation_record(each) for each in rows]


def abandoned(
    db: Connection, prefix: str, *, before_ms: int, now: int, limit: int
) -> list[ConversationId]:
    """See :class:`turnwire.storage.base.TurnStore`."""
    of = CONVERSATIONS.c.conversation_id
    runs = exists().where(TURNS.c.conversation_id == of, TURNS.c.phase == "running")
    in_review = exists().where(
        PAUSES.c.conversation_id == of,
        PAUSES.c.kind == "review",
        PAUSES.c.phase == "open",
        or_(PAUSES.c.expires_ms.is_(None), PAUSES.c.expires_ms > now),
    )
    found = (
        select(of)
        # A range and no LIKE, which the index does not serve.
        .where(CONVERSATIONS.c.principal.between(prefix, f"{prefix}\U0010ffff"))
        .where(and_(CONVERSATIONS.c.updated_ms < before_ms, ~runs, ~in_review))
        .order_by(CONVERSATIONS.c.updated_ms)
        .limit(limit)
    )
    return [ConversationId(each) for each in db.execute(found).scalars()]
