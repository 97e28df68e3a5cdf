"""API keys: how they look, how they are kept, how one is recognised.

A key is ``tw_<environment>_<public part>_<secret part>``. It is found by the public part; the
secret part has 256 random bits, so one SHA-256 is as good as a slow hash, and it is compared in
constant time. A rotation changes the secret part only, so what the key owns stays its own.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from turnwire.admission.principal import Principal
from turnwire.errors import InvalidApiKey
from turnwire.storage.base import KeyRecord

Environment = Literal["live", "test"]

_SECRET_CHARS: Final = 43
"""256 bits in URL-safe base64."""

MAX_PER_MINUTE: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPolicy:
    """Which keys this deployment takes."""

    prefix: str = "tw"
    environment: Environment = "test"
    per_minute: int = 6000
    """Requests in a minute of a key that has no limit of its own."""


@dataclass(frozen=True, slots=True)
class PresentedKey:
    """A key as somebody presents it."""

    environment: str
    key_id: str
    secret: str


def new_key(
    policy: KeyPolicy, *, name: str, scopes: Sequence[str], now: int, per_minute: int | None = None
) -> tuple[str, KeyRecord]:
    """Return a key to show once, and the record to keep."""
    key_id, secret = secrets.token_hex(8), new_secret()
    record = KeyRecord(
        key_id=key_id,
        name=name,
        environment=policy.environment,
        scopes=tuple(scopes),
        secret_hash=digest(secret),
        created_ms=now,
        per_minute=per_minute,
    )
    return shown(policy, record, secret), record


def new_secret() -> str:
    """Return the secret part of a key."""
    return secrets.token_urlsafe(32)


def shown(policy: KeyPolicy, record: KeyRecord, secret: str) -> str:
    """Return a key as its owner sends it."""
    return f"{policy.prefix}_{record.environment}_{record.key_id}_{secret}"


def read_bearer(header: str | None, policy: KeyPolicy) -> PresentedKey:
    """Return the key in an ``Authorization`` header.

    Raises:
        InvalidApiKey: there is none, or it is not one of ours or of this environment.
    """
    form = re.compile(
        rf"(?i:Bearer) {re.escape(policy.prefix)}_(live|test)_([0-9a-f]{{16}})_"
        rf"([A-Za-z0-9_-]{{{_SECRET_CHARS}}})",
        re.ASCII,
    )
    match = form.fullmatch(header or "")
    if header is None:
        raise InvalidApiKey("Send an API key: `Authorization: Bearer …`.")
    if match is None:
        raise InvalidApiKey("This API key is not valid.")
    presented = PresentedKey(*match.groups())
    if presented.environment != policy.environment:
        raise InvalidApiKey("This key is of another environment.")
    return presented


def recognise(presented: PresentedKey, record: KeyRecord | None, *, now: int) -> Principal:
    """Return who presents the key at ``now`` (ms), or raise :class:`InvalidApiKey`."""
    opened = opens(digest(presented.secret), record, now=now)
    if record is None or not opened or record.environment != presented.environment:
        raise InvalidApiKey("This API key is not valid.")
    return Principal(id=f"key:{record.key_id}", scopes=frozenset(record.scopes))


def opens(secret_hash: str, record: KeyRecord | None, *, now: int) -> bool:
    """Whether the secret with this hash is the key's at ``now`` (ms), or still the one before."""
    current = record.secret_hash if record else _NOTHING
    previous = (record.previous_hash if record else None) or _NOTHING
    # Both are compared whatever the first says: how long it takes tells nothing.
    is_current = hmac.compare_digest(secret_hash, current)
    is_previous = hmac.compare_digest(secret_hash, previous)
    if record is None or record.revoked_ms is not None:
        return False
    return is_current or (is_previous and now < (record.previous_until_ms or 0))


def digest(secret: str) -> str:
    """Return the hexadecimal SHA-256 of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


_NOTHING: Final = digest("")
"""The hash of no secret: every secret has 43 characters."""
