"""Members' sessions: how an id looks, how it is kept, when it ends.

An id has 256 random bits, so one SHA-256 is as good as a slow hash, and whoever reads the store
cannot use what is in it.
"""

import hashlib
import re
import secrets
from dataclasses import dataclass, replace
from typing import Final

from turnwire.admission.principal import EPHEMERAL, Principal
from turnwire.errors import SessionRequired
from turnwire.storage.members import SessionRecord

_FORM: Final = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_RENEWALS: Final = 20
"""Into how many parts a session's life is cut: its expiry moves once in each at the most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPolicy:
    """How members present themselves, and for how long."""

    header: str = "X-Turnwire-Session"
    seconds: float = 30 * 24 * 3600.0
    """How long a session lives after it was last used."""

    @property
    def life_ms(self) -> int:
        """The same in milliseconds."""
        return round(self.seconds * 1000)


def new_session(
    application: Principal, policy: SessionPolicy, *, now: int
) -> tuple[str, SessionRecord]:
    """Return a session id to tell once, and the record to keep."""
    session_id = secrets.token_urlsafe(32)
    record = SessionRecord(
        session_hash=digest(session_id),
        member=f"member:{secrets.token_hex(12)}",
        application=application.id,
        created_ms=now,
        seen_ms=now,
        expires_ms=now + policy.life_ms,
    )
    return session_id, record


def digest(session_id: str) -> str:
    """Return what a session is kept under.

    Raises:
        SessionRequired: this is no session id.
    """
    if not _FORM.fullmatch(session_id):
        raise SessionRequired
    return hashlib.sha256(session_id.encode()).hexdigest()


def recognise(application: Principal, session: SessionRecord | None) -> Principal:
    """Return the member whose session ``application`` presents.

    One refusal for a session that is unknown, has expired or was minted by somebody else. A member
    may chat and nothing more, whatever else the application's key may do.

    Raises:
        SessionRequired: it is not a session of this application.
    """
    if session is None or session.application != application.id:
        raise SessionRequired
    return _member(application, session.member)


def anonymous(application: Principal, *, request_key: str | None = None) -> Principal:
    """Return a member who is new at each call and will not come back.

    The same request sent again, which its ``Idempotency-Key`` tells, comes from the same one.
    """
    if request_key is None:
        name = secrets.token_hex(12)
    else:
        name = hashlib.sha256(f"{application.id} {request_key}".encode()).hexdigest()[:24]
    return replace(_member(application, f"{EPHEMERAL}{name}"), is_ephemeral=True)


def renewal(session: SessionRecord, policy: SessionPolicy, *, now: int) -> int | None:
    """Return the session's new expiry (ms), or none where the stored one will do for now."""
    is_due = now - session.seen_ms >= policy.life_ms // _RENEWALS
    return now + policy.life_ms if is_due else None


def _member(application: Principal, member: str) -> Principal:
    scopes = frozenset({"chat"} if application.may("chat") else ())
    return Principal(id=member, scopes=scopes, vouched_by=application.id)
