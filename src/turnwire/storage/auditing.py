"""The audit of actions and their grants, as functions of one connection inside a transaction."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace

from sqlalchemy import ColumnElement, Connection, and_, select
from sqlalchemy.dialects import sqlite

from turnwire.ids import TurnId
from turnwire.storage.audit import AuditEntry, AuditQuery, Result, Step
from turnwire.storage.audited import (
    KINDS,
    confirmations,
    covers,
    decision,
    expired,
    following,
    grants,
    is_granted,
    left,
)
from turnwire.storage.base import Answer, PauseRecord
from turnwire.storage.rows import audit_entry, pause_record
from turnwire.storage.tables import AUDIT, PAUSES, TURNS


def add(db: Connection, entries: Iterable[AuditEntry]) -> int:
    """Keep entries of steps that have none yet; return how many."""
    new = sqlite.insert(AUDIT).on_conflict_do_nothing()
    return sum(db.execute(new.values(**asdict(each))).rowcount for each in entries)


def answered(db: Connection, turn_id: TurnId, answers: Sequence[Answer], *, at: int) -> bool:
    """Keep what members decide on the turn's open confirmations; false where it is too late."""
    by_id = {each.pause_id: each for each in answers}
    mine = and_(PAUSES.c.turn_id == turn_id, PAUSES.c.pause_id.in_(by_id))
    records = _confirmations(db, mine)
    late = expired(records, at=at)
    told = [each for each in records if not late or expired([each], at=at)]
    add(db, (decision(each, by_id[each.pause.pause_id], at=at) for each in told))
    return not late


def dropped(db: Connection, turn_id: TurnId, *, at: int) -> None:
    """Keep that nobody answers the turn's open confirmations any more."""
    records = _confirmations(db, PAUSES.c.turn_id == turn_id)
    add(db, (decision(each, None, at=at) for each in records))


def take_grant(
    db: Connection,
    confirmation_id: str,
    *,
    principal: str,
    tool: str,
    arguments_hash: str,
    at: int,
) -> bool:
    """Begin an approved action, once; see :class:`turnwire.storage.audit.ActionStore`."""
    runs = and_(TURNS.c.turn_id == PAUSES.c.turn_id, TURNS.c.phase == "running")
    query = select(PAUSES).join(TURNS, runs).where(PAUSES.c.pause_id == confirmation_id)
    row = db.execute(query).mappings().first()
    record = pause_record(row) if row else None
    approved = _entry(db, confirmation_id, "decision")
    if approved is None or not grants(record, approved, principal=principal):
        return False
    if not covers(approved, tool=tool, arguments_hash=arguments_hash):
        return False
    if _entry(db, confirmation_id, "outcome"):
        return False
    return add(db, [following(approved, "start", "started", at=at)]) == 1


def note_outcome(
    db: Connection,
    confirmation_id: str,
    ended: Result,
    *,
    code: str | None,
    receipt: str | None,
    at: int,
) -> None:
    """Keep how a begun action ended."""
    begun = _entry(db, confirmation_id, "start")
    if begun is not None:
        entry = following(begun, "outcome", ended, at=at)
        add(db, [replace(entry, code=code, receipt=receipt)])


def close_actions(db: Connection, *, at: int) -> int:
    """Note the outcomes of actions that no process carries out any more; return how many."""
    over = select(AUDIT.c.confirmation_id).where(AUDIT.c.step == "outcome")
    found = _granted(db, AUDIT.c.confirmation_id.not_in(over))
    begun = [_entry(db, each.confirmation_id, "start") is not None for each in found]
    return add(db, (left(e, is_begun=b, at=at) for e, b in zip(found, begun, strict=True)))


def not_begun(db: Connection, turn_id: TurnId, *, at: int) -> None:
    """Note of a turn that has ended which of its approved actions nobody has begun."""
    mine = select(PAUSES.c.pause_id).where(PAUSES.c.turn_id == turn_id)
    for each in _granted(db, AUDIT.c.confirmation_id.in_(mine)):
        if _entry(db, each.confirmation_id, "start") is None:
            add(db, [left(each, is_begun=False, at=at)])


def _granted(db: Connection, which: ColumnElement[bool]) -> list[AuditEntry]:
    query = select(AUDIT).where(AUDIT.c.step == "decision", which).order_by(AUDIT.c.position)
    told = [audit_entry(each) for each in db.execute(query).mappings()]
    return [each for each in told if is_granted(each)]


def find(db: Connection, query: AuditQuery) -> list[AuditEntry]:
    """Return the entries that are asked for, oldest first."""
    wanted = [AUDIT.c.at_ms >= query.since_ms]
    named = {
        AUDIT.c.conversation_id: query.conversation_id,
        AUDIT.c.principal: query.principal,
        AUDIT.c.tool: query.tool,
    }
    wanted += [column == value for column, value in named.items() if value is not None]
    rows = db.execute(select(AUDIT).where(*wanted).order_by(AUDIT.c.position)).mappings()
    return [audit_entry(each) for each in rows]


def opened(db: Connection, which: ColumnElement[bool]) -> list[PauseRecord]:
    """Return open pauses, oldest first."""
    query = select(PAUSES).where(which, PAUSES.c.phase == "open").order_by(PAUSES.c.position)
    return [pause_record(each) for each in db.execute(query).mappings()]


def _entry(db: Connection, confirmation_id: str, step: Step) -> AuditEntry | None:
    one = and_(AUDIT.c.confirmation_id == confirmation_id, AUDIT.c.step == step)
    row = db.execute(select(AUDIT).where(one)).mappings().first()
    return audit_entry(row) if row else None


def _confirmations(db: Connection, which: ColumnElement[bool]) -> list[PauseRecord]:
    """Return open confirmations."""
    about_actions = and_(which, PAUSES.c.kind.in_(KINDS))
    return confirmations(opened(db, about_actions))
