"""Members' sessions in SQL, as functions of one connection."""

from dataclasses import asdict
from typing import Final

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from turnwire.storage import sign_ins_sql
from turnwire.storage.members import SessionRecord
from turnwire.storage.prepared import Prepared
from turnwire.storage.tables import SESSIONS

_FIND: Final = Prepared(
    select(SESSIONS).where(
        SESSIONS.c.session_hash == bindparam("session_hash"),
        SESSIONS.c.expires_ms > bindparam("now"),
    )
)


def add(db: Connection, session: SessionRecord) -> None:
    """Store a session, and drop those that had expired when it was made, credentials included."""
    sign_ins_sql.drop_expired(db, now=session.created_ms)
    db.execute(delete(SESSIONS).where(SESSIONS.c.expires_ms <= session.created_ms))
    db.execute(insert(SESSIONS).values(**asdict(session)))


def find(db: Connection, session_hash: str, *, now: int) -> SessionRecord | None:
    """Return the session if it has not expired at ``now``."""
    found = _FIND.rows(db, {"session_hash": session_hash, "now": now})
    return SessionRecord(**found[0]) if found else None


def renew(db: Connection, session_hash: str, *, now: int, expires_ms: int) -> None:
    """Move the expiry of a session that has not expired at ``now``."""
    mine = SESSIONS.c.session_hash == session_hash, SESSIONS.c.expires_ms > now
    db.execute(update(SESSIONS).where(*mine).values(seen_ms=now, expires_ms=expires_ms))
