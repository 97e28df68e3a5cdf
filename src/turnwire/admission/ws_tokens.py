"""Tokens that open a socket: signed for one user, good for minutes, and good once.

A token is ``username:expiry:hmac``, where the HMAC-SHA256 in lower-case hexadecimal covers
``username:expiry``. A browser can put no header on a socket, so the token stands in its address.
"""

import hmac
import re
from dataclasses import dataclass
from typing import Final, Protocol

from turnwire.admission.principal import OPERATOR, STAFF, STAFF_NAME, Principal, staff
from turnwire.errors import InvalidToken

SECONDS: Final = 300
"""How long a token is good."""
_LONGEST_SECONDS: Final = 3600
"""How long one may be good that somebody else signed: so long it is remembered as used."""

_SIGNED: Final = re.compile(r"([0-9]{1,12}):([0-9a-f]{64})", re.ASCII)
_KEY: Final = re.compile(r"key:([0-9a-f]{16})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Token:
    """A token whose signature is right and that has not expired."""

    username: str
    expires: int
    """Seconds since 1970 in UTC."""
    signature: str


class Uses(Protocol):
    """Which tokens were used; several processes may share one."""

    async def take(self, signature: str, *, expires: int, now: int) -> bool:
        """Whether this is the first use; in one step, so that of many at once one is.

        Args:
            signature: the token's.
            expires: when the use may be forgotten, in seconds since 1970.
            now: in milliseconds.
        """
        ...


class LocalUses:
    """What was used in this process; forgotten when the token would be refused anyway."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}
        self._swept = 0

    async def take(self, signature: str, *, expires: int, now: int) -> bool:
        """See :class:`Uses`."""
        seconds = now // 1000
        if seconds != self._swept:
            self._swept = seconds
            self._used = {each: until for each, until in self._used.items() if until >= seconds}
        if signature in self._used:
            return False
        self._used[signature] = expires
        return True


class Issuer:
    """Chooses when tokens expire: each of a user's at a second of its own.

    Two tokens of one user that expire in the same second are one token, and good once.
    """

    def __init__(self) -> None:
        self._latest: dict[str, int] = {}
        self._swept = 0

    def expiry(self, username: str, *, now: int) -> int:
        """Return when a token that is made at ``now`` (ms) expires, in seconds since 1970."""
        seconds = now // 1000
        if seconds != self._swept:
            self._swept = seconds
            self._latest = {k: at for k, at in self._latest.items() if at >= seconds + SECONDS}
        chosen = max(seconds + SECONDS, self._latest.get(username, 0) + 1)
        self._latest[username] = chosen
        return chosen


def sign(username: str, secret: bytes, *, expires: int) -> str:
    """Return a token for ``username`` that is good until ``expires`` (seconds since 1970)."""
    signed = f"{username}:{expires}"
    return f"{signed}:{_signature(signed, secret)}"


def read(token: str, secret: bytes, *, now: int) -> Token:
    """Return the token if it is one of ours and good at ``now`` (ms).

    Raises:
        InvalidToken: it has another form, has expired, or was signed with another secret.
    """
    username, _, rest = _split(token)
    match = _SIGNED.fullmatch(rest)
    if match is None or not _names_somebody(username):
        raise InvalidToken
    expires, left = int(match[1]), int(match[1]) * 1000 - now
    if not 0 <= left <= _LONGEST_SECONDS * 1000:
        raise InvalidToken
    signature = _signature(f"{username}:{match[1]}", secret)
    if not hmac.compare_digest(signature, match[2]):
        raise InvalidToken
    return Token(username, expires, signature)


def username_of(principal: Principal) -> str:
    """Return who a token of this caller's is for: a staff user's name, or the caller's id."""
    return principal.id.removeprefix(STAFF)


def key_id_of(username: str) -> str | None:
    """Return the public part of the key that asked for the token, if a key did so for itself."""
    match = _KEY.fullmatch(username)
    return match[1] if match else None


def person_of(username: str) -> Principal:
    """Return the operator or the staff user of a token that no key asked for itself."""
    return OPERATOR if username == OPERATOR.id else staff(username)


def _split(token: str) -> tuple[str, str, str]:
    """Split from the right: a name may have a colon."""
    head, _, signature = token.rpartition(":")
    username, colon, expiry = head.rpartition(":")
    return username, colon, f"{expiry}:{signature}"


def _names_somebody(username: str) -> bool:
    return STAFF_NAME.fullmatch(username) is not None or _KEY.fullmatch(username) is not None


def _signature(signed: str, secret: bytes) -> str:
    return hmac.new(secret, signed.encode(), "sha256").hexdigest()
