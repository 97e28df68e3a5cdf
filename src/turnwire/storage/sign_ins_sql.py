"""Codes and credentials in SQL, as functions of one connection."""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Final

from sqlalchemy import Connection, bindparam, delete, insert, or_, select, update
from sqlalchemy.dialects import sqlite

from turnwire.storage.prepared import Prepared
from turnwire.storage.sign_ins import CodeRecord, CredentialRecord
from turnwire.storage.tables import CODES, CREDENTIALS, SESSIONS

_FIND: Final = Prepared(
    select(CREDENTIALS)
    .join(SESSIONS, SESSIONS.c.session_hash == CREDENTIALS.c.session_hash)
    .where(
        CREDENTIALS.c.member == bindparam("member"),
        SESSIONS.c.expires_ms > bindparam("now"),
        or_(CREDENTIALS.c.expires_ms.is_(None), CREDENTIALS.c.expires_ms > bindparam("now")),
    )
)


def put_code(db: Connection, code: CodeRecord, *, now: int) -> None:
    """Keep a new code instead of the member's earlier one; drop what has expired at ``now``."""
    drop_expired(db, now=now)
    row = {**asdict(code), "is_taken": False}
    new = sqlite.insert(CODES).values(row)
    db.execute(new.on_conflict_do_update(index_elements=["member"], set_=row))


def take_code(db: Connection, member: str, hashes: Collection[str], *, now: int) -> str | None:
    """Take the member's code if its hash is one of ``hashes``, or cost it a try."""
    waits = CODES.c.member == member, CODES.c.expires_ms > now, CODES.c.tries > 0
    found = db.execute(select(CODES.c.code_hash).where(*waits, CODES.c.is_taken.is_(False)))
    code_hash = found.scalar()
    if code_hash is None:
        return None
    is_right = code_hash in hashes
    change = {"is_taken": True} if is_right else {"tries": CODES.c.tries - 1}
    db.execute(update(CODES).where(CODES.c.member == member).values(change))
    return code_hash if is_right else None


def give_back_code(db: Connection, member: str, code_hash: str) -> None:
    """Let a code that was taken be taken again."""
    mine = CODES.c.member == member, CODES.c.code_hash == code_hash
    db.execute(update(CODES).where(*mine).values(is_taken=False))


def keep(db: Connection, record: CredentialRecord, code_hash: str, *, now: int) -> bool:
    """Keep a credential for the code that was taken for it."""
    taken = CODES.c.member == record.member, CODES.c.code_hash == code_hash, CODES.c.is_taken
    if not db.execute(delete(CODES).where(*taken)).rowcount:
        return False
    lives = SESSIONS.c.session_hash == record.session_hash, SESSIONS.c.expires_ms > now
    if db.execute(select(SESSIONS.c.member).where(*lives)).first() is None:
        return False
    db.execute(delete(CREDENTIALS).where(CREDENTIALS.c.member == record.member))
    db.execute(insert(CREDENTIALS).values(**asdict(record)))
    return True


def find(db: Connection, member: str, *, now: int) -> CredentialRecord | None:
    """Return the credential, if neither it nor its session has expired at ``now``."""
    found = _FIND.rows(db, {"member": member, "now": now})
    return CredentialRecord(**found[0]) if found else None


def everybodys(db: Connection) -> Sequence[CredentialRecord]:
    """Return every credential."""
    return [CredentialRecord(**each) for each in db.execute(select(CREDENTIALS)).mappings()]


def reseal(db: Connection, member: str, before: str, after: str) -> None:
    """Replace what is sealed as ``before``."""
    same = CREDENTIALS.c.member == member, CREDENTIALS.c.sealed == before
    db.execute(update(CREDENTIALS).where(*same).values(sealed=after))


def drop(db: Connection, member: str, sealed: str) -> None:
    """Drop the credential if it is still the one sealed so."""
    same = CREDENTIALS.c.member == member, CREDENTIALS.c.sealed == sealed
    db.execute(delete(CREDENTIALS).where(*same))


def sign_out(db: Connection, member: str) -> None:
    """Drop the member's credential and code."""
    db.execute(delete(CREDENTIALS).where(CREDENTIALS.c.member == member))
    db.execute(delete(CODES).where(CODES.c.member == member))


def drop_expired(db: Connection, *, now: int) -> None:
    """Drop the codes and credentials that have expired at ``now``, also with their session."""
    gone = select(SESSIONS.c.session_hash).where(SESSIONS.c.expires_ms <= now)
    for table in (CODES, CREDENTIALS):
        ended = or_(table.c.expires_ms <= now, table.c.session_hash.in_(gone))
        db.execute(delete(table).where(ended))
