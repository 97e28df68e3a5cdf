"""What the store does, as functions of one connection; each runs inside a transaction."""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from functools import cache
from typing import Final

from sqlalchemy import (
    BindParameter,
    Connection,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import IntegrityError

from turnwire.events import Envelope, TurnPaused, pack, unpack
from turnwire.ids import BEGINNING, ConversationId, PauseId, Seq, TurnId
from turnwire.storage import auditing, metering
from turnwire.storage.audited import confirmations, decision, past, proposal
from turnwire.storage.base import (
    Answer,
    Conflict,
    ConversationFacts,
    ConversationRecord,
    Opening,
    PauseRecord,
    TurnRecord,
)
from turnwire.storage.members import Charge
from turnwire.storage.prepared import Prepared
from turnwire.storage.projection import changes, ends_run, opened, retracted, without_words
from turnwire.storage.receipt import Receipt, receipt_of
from turnwire.storage.rows import (
    conversation_record,
    new_turn_values,
    pause_record,
    pause_values,
    turn_record,
    turn_values,
)
from turnwire.storage.tables import CONVERSATIONS, EVENTS, PAUSES, RECEIPTS, TURNS

ACTIVE: Final = ("running", "paused")
ENDED: Final = ("completed", "failed")
_UNSETTLED: Final = 50
"""Turns without an ending of the agent's own that are looked back at."""

_COLUMNS: Final = ("turn_id", "first_seq", "last_seq", "packed")
_KEEP: Final = Prepared(
    insert(EVENTS).from_select(
        _COLUMNS,
        select(*(bindparam(each, type_=EVENTS.c[each].type) for each in _COLUMNS)).where(
            exists().where(TURNS.c.turn_id == bindparam("turn_id"))
        ),
    )
)
"""Of a turn that was erased while it ran nothing more is kept."""

_RECEIPT_COLUMNS: Final = ("turn_id", "receipt")
_RECEIPT: Final = Prepared(
    insert(RECEIPTS)
    .prefix_with("OR REPLACE")
    .from_select(
        _RECEIPT_COLUMNS,
        select(*(bindparam(each, type_=RECEIPTS.c[each].type) for each in _RECEIPT_COLUMNS)).where(
            exists().where(TURNS.c.turn_id == bindparam("turn_id"))
        ),
    )
)

_NEW_CONVERSATION: Final = Prepared(insert(CONVERSATIONS))
_NEXT_TURN: Final = Prepared(
    update(CONVERSATIONS)
    .where(
        CONVERSATIONS.c.conversation_id == bindparam("of_conversation"),
        CONVERSATIONS.c.turns == bindparam("before"),
    )
    .values(turns=bindparam("after"), updated_ms=bindparam("at"))
)
_NEW_TURN: Final = Prepared(insert(TURNS))
_REPEATED: Final = Prepared(
    select(TURNS).where(
        TURNS.c.principal == bindparam("principal"),
        TURNS.c.idempotency_key == bindparam("idempotency_key"),
    )
)
_ASKED: Final = Prepared(
    select(PAUSES.c.phase).where(PAUSES.c.turn_id == bindparam("turn_id")).distinct()
)
_CONVERSATION: Final = Prepared(
    select(CONVERSATIONS).where(CONVERSATIONS.c.conversation_id == bindparam("conversation_id"))
)


@cache
def _settles(*columns: str) -> Prepared:
    """Return the update of a turn's row; every kind of ending has columns of its own."""
    changed: dict[str, BindParameter[object]] = {each: bindparam(each) for each in columns}
    return Prepared(update(TURNS).where(TURNS.c.turn_id == bindparam("of_turn")).values(changed))


def read(db: Connection, turn_id: TurnId, after: Seq) -> list[Envelope]:
    """Return the turn's envelopes after ``after``."""
    rows = db.execute(
        select(EVENTS.c.packed)
        .where(EVENTS.c.turn_id == turn_id, EVENTS.c.last_seq > after)
        .order_by(EVENTS.c.first_seq)
    )
    return [each for (packed,) in rows for each in unpack(turn_id, packed) if each.seq > after]


def keep(db: Connection, batches: Sequence[Sequence[Envelope]]) -> None:
    """Store envelopes; each batch belongs to one turn and becomes one row.

    Where a guard took words back, they leave the turn's rows in the same transaction.
    """
    batches = [_without_retracted(db, each) for each in batches]
    rows = [
        {
            "turn_id": batch[0].turn_id,
            "first_seq": batch[0].seq,
            "last_seq": batch[-1].seq,
            "packed": pack(batch),
        }
        for batch in batches
    ]
    _KEEP.run_each(db, rows)


def keep_late(db: Connection, batch: Sequence[Envelope]) -> None:
    """Store envelopes of one turn after some that follow them, as far as those let them."""
    turn_id, last = batch[0].turn_id, batch[-1].seq
    keep(db, (without_words(batch, retracted(read(db, turn_id, last))),))


def _without_retracted(db: Connection, batch: Sequence[Envelope]) -> Sequence[Envelope]:
    taken_back = retracted(batch)
    if not taken_back:
        return batch
    turn_id = batch[0].turn_id
    mine = and_(EVENTS.c.turn_id == turn_id, EVENTS.c.first_seq < taken_back)
    for first, packed in db.execute(select(EVENTS.c.first_seq, EVENTS.c.packed).where(mine)).all():
        silent = pack(without_words(list(unpack(turn_id, packed)), taken_back))
        row = and_(EVENTS.c.turn_id == turn_id, EVENTS.c.first_seq == first)
        db.execute(update(EVENTS).where(row).values(packed=silent))
    return without_words(batch, taken_back)


def settle(db: Connection, envelopes: Sequence[Envelope], receipt: Receipt | None = None) -> None:
    """Store envelopes that begin or end a run, and what they change in the turn's row.

    ``receipt`` is what the whole turn comes to at the end of the run, where somebody has counted
    along; without it, the turn's events are read again.
    """
    turn_id = envelopes[0].turn_id
    keep(db, (envelopes,))
    changed = turn_values(changes(envelopes, lambda: read(db, turn_id, BEGINNING)))
    _settles(*changed).run(db, {"of_turn": turn_id, **changed})
    if isinstance(envelopes[-1].event, TurnPaused):
        record = turn(db, turn_id)
        asked = opened(record, envelopes) if record else []
        if asked:  # a question that waits on is announced again, and stays as first asked
            rows = [pause_values(each) for each in asked]
            db.execute(sqlite.insert(PAUSES).on_conflict_do_nothing(), rows)
            auditing.add(db, map(proposal, confirmations(asked)))
    if changed["phase"] in ENDED:
        _close_pauses(db, turn_id, at=envelopes[-1].ts_ms)
    if ends_run(envelopes):
        _account(db, turn_id, receipt, is_over=changed["phase"] != "paused")


def _close_pauses(db: Connection, turn_id: TurnId, *, at: int) -> None:
    """Nobody waits for an answer any more, and nobody begins what was approved."""
    phases = {each["phase"] for each in _ASKED.rows(db, {"turn_id": turn_id})}
    if "answered" in phases:
        auditing.not_begun(db, turn_id, at=at)
    if "open" in phases:
        auditing.dropped(db, turn_id, at=at)
        mine = and_(PAUSES.c.turn_id == turn_id, PAUSES.c.phase == "open")
        db.execute(update(PAUSES).where(mine).values(phase="dropped"))


def _account(db: Connection, turn_id: TurnId, receipt: Receipt | None, *, is_over: bool) -> None:
    if receipt is None:
        receipt = receipt_of(read(db, turn_id, BEGINNING))
    _RECEIPT.run(db, {"turn_id": turn_id, "receipt": receipt.model_dump_json()})
    metering.settle(db, turn_id, receipt.usage.total_tokens, is_over=is_over)


def facts(
    db: Connection,
    principal: str,
    conversation_id: ConversationId | None,
    idempotency_key: str | None,
    charges: Sequence[Charge],
) -> ConversationFacts:
    """Return what admission looks at."""
    repeated, used = None, metering.used(db, charges)
    if idempotency_key is not None:
        asked = {"principal": principal, "idempotency_key": idempotency_key}
        found = _REPEATED.rows(db, asked)
        repeated = turn_record(found[0]) if found else None
    known = conversation(db, conversation_id) if conversation_id else None
    if known is None:
        return ConversationFacts(repeated=repeated, used=used)
    recent = _recent(db, known.conversation_id)
    return ConversationFacts(
        conversation=known,
        active=recent[0] if recent and recent[0].phase in ACTIVE else None,
        unsettled=tuple(each for each in reversed(recent) if each.phase not in ACTIVE),
        repeated=repeated,
        used=used,
    )


def _recent(db: Connection, conversation_id: ConversationId) -> list[TurnRecord]:
    """Return the turns since the last that the agent itself completed, newest first."""
    settled = select(func.coalesce(func.max(TURNS.c.position), 0)).where(
        TURNS.c.conversation_id == conversation_id,
        TURNS.c.phase == "completed",
        TURNS.c.finish_reason != "cancelled",
    )
    rows = db.execute(
        select(TURNS)
        .where(
            TURNS.c.conversation_id == conversation_id,
            TURNS.c.position > settled.scalar_subquery(),
        )
        .order_by(TURNS.c.position.desc())
        .limit(_UNSETTLED)
    ).mappings()
    return [turn_record(each) for each in rows]


def begin(db: Connection, opening: Opening) -> None:
    """Store a new turn with everything that goes with it, or raise ``Conflict``."""
    new = opening.turn
    if opening.dropped is not None:
        close_paused(db, *opening.dropped)
    if opening.earlier_turns is None:
        record = ConversationRecord(
            conversation_id=new.conversation_id,
            principal=new.principal,
            agent=new.agent,
            created_ms=new.created_ms,
            updated_ms=new.created_ms,
            turns=1,
        )
        _insert(db, _NEW_CONVERSATION, asdict(record))
    else:
        values = {
            "of_conversation": new.conversation_id,
            "before": opening.earlier_turns,
            "after": opening.earlier_turns + 1,
            "at": new.created_ms,
        }
        _one_row(_NEXT_TURN.run(db, values))
    first = changes(opening.started, lambda: ())
    _insert(db, _NEW_TURN, {"position": None, **new_turn_values(new), **turn_values(first)})
    keep(db, (opening.started,))
    metering.take(db, new.turn_id, opening.charges)


def resume(
    db: Connection,
    turn_id: TurnId,
    answers: Sequence[Answer],
    started: Sequence[Envelope],
    *,
    at: int,
) -> Sequence[PauseRecord] | None:
    """Take answers at ``at`` (ms) and start the next run, or raise ``Conflict``.

    Returns the turn's other pauses that had expired, or none where a confirmation is answered too
    late, which is kept, and nothing else is changed.
    """
    if not auditing.answered(db, turn_id, answers, at=at):
        return None
    for each in answers:
        _one_row(
            db.execute(
                update(PAUSES)
                .where(
                    PAUSES.c.pause_id == each.pause_id,
                    PAUSES.c.turn_id == turn_id,
                    PAUSES.c.phase == "open",
                    or_(PAUSES.c.expires_ms.is_(None), PAUSES.c.expires_ms > at),
                )
                .values(phase="answered", decision=each.decision, decided_by=each.decided_by)
            ).rowcount
        )
    _require_paused(db, turn_id)
    gone = _drop_expired(db, turn_id, {each.pause_id for each in answers}, at=at)
    settle(db, started)
    return gone


def _drop_expired(
    db: Connection, turn_id: TurnId, answered: Collection[PauseId], *, at: int
) -> Sequence[PauseRecord]:
    """Nobody can answer these of the turn any more, and it does not wait for them."""
    gone = past(auditing.opened(db, PAUSES.c.turn_id == turn_id), answered, at=at)
    for each in gone:
        row = PAUSES.c.pause_id == each.pause.pause_id
        db.execute(update(PAUSES).where(row).values(phase=each.phase, decision=each.decision))
    auditing.add(db, (decision(each, None, at=at) for each in confirmations(gone)))
    return gone


def close_paused(db: Connection, turn_id: TurnId, envelopes: Sequence[Envelope]) -> None:
    """End a paused turn, or raise ``Conflict``."""
    _require_paused(db, turn_id)
    settle(db, envelopes)


def turn(db: Connection, turn_id: TurnId) -> TurnRecord | None:
    """Return the turn."""
    found = db.execute(select(TURNS).where(TURNS.c.turn_id == turn_id)).mappings().first()
    return turn_record(found) if found else None


def turns(db: Connection, conversation_id: ConversationId) -> list[TurnRecord]:
    """Return a conversation's turns, oldest first."""
    mine = select(TURNS).where(TURNS.c.conversation_id == conversation_id)
    return [turn_record(each) for each in db.execute(mine.order_by(TURNS.c.position)).mappings()]


def receipt(db: Connection, turn_id: TurnId) -> Receipt | None:
    """Return the turn's receipt."""
    stored = db.execute(select(RECEIPTS.c.receipt).where(RECEIPTS.c.turn_id == turn_id)).scalar()
    return Receipt.model_validate_json(stored) if stored is not None else None


def running(db: Connection) -> list[TurnRecord]:
    """Return the turns that are stored as running."""
    rows = db.execute(select(TURNS).where(TURNS.c.phase == "running")).mappings()
    return [turn_record(each) for each in rows]


def pauses(
    db: Connection, conversation_id: ConversationId | None, kind: str | None
) -> list[PauseRecord]:
    """Return pauses, newest first."""
    query = select(PAUSES).order_by(PAUSES.c.position.desc())
    if conversation_id is not None:
        query = query.where(PAUSES.c.conversation_id == conversation_id)
    else:
        query = query.where(PAUSES.c.phase == "open")
    if kind is not None:
        query = query.where(PAUSES.c.kind == kind)
    return [pause_record(each) for each in db.execute(query).mappings()]


def conversation(db: Connection, conversation_id: ConversationId) -> ConversationRecord | None:
    """Return the conversation."""
    found = _CONVERSATION.rows(db, {"conversation_id": conversation_id})
    return conversation_record(found[0]) if found else None


def erase(db: Connection, conversation_id: ConversationId) -> None:
    """Delete a conversation and everything that hangs on it."""
    its_turns = select(TURNS.c.turn_id).where(TURNS.c.conversation_id == conversation_id)
    db.execute(delete(EVENTS).where(EVENTS.c.turn_id.in_(its_turns)))
    db.execute(delete(RECEIPTS).where(RECEIPTS.c.turn_id.in_(its_turns)))
    for table in (PAUSES, TURNS, CONVERSATIONS):
        db.execute(delete(table).where(table.c.conversation_id == conversation_id))


def _require_paused(db: Connection, turn_id: TurnId) -> None:
    waits = and_(TURNS.c.turn_id == turn_id, TURNS.c.phase == "paused")
    _one_row(db.execute(update(TURNS).where(waits).values(phase="running")).rowcount)


def _insert(db: Connection, statement: Prepared, values: dict[str, object]) -> None:
    try:
        statement.run(db, values)
    except IntegrityError:
        raise Conflict from None


def _one_row(count: int) -> None:
    if count != 1:
        raise Conflict
