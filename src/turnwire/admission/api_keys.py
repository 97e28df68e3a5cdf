"""API keys: how they look, how they are kept, how one is recognised.

A key is ``tw_<environment>_<public part>_<secret part>``. It is found by the public part; the
secret part has 256 random bits, so one SHA-256 is as good as a slow hash, and it is compared in
constant time.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPolicy:
    """Which keys this deployment takes."""

    prefix: str = "tw"
    environment: Environment = "test"


@dataclass(frozen=True, slots=True)
class PresentedKey:
    """A key as somebody presents it."""

    environment: str
    key_id: str
    secret: str


def new_key(
    policy: KeyPolicy, *, name: str, scopes: Sequence[str], now: int
) -> tuple[str, KeyRecord]:
    """Return a key to show once, and the record to keep."""
    key_id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    record = KeyRecord(
        key_id=key_id,
        name=name,
        environment=policy.environment,
        scopes=tuple(scopes),
        secret_hash=digest(secret),
        created_ms=now,
    )
    return f"{policy.prefix}_{policy.environment}_{key_id}_{secret}", record


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


def recognise(presented: PresentedKey, record: KeyRecord | None) -> Principal:
    """Return who presents the key, or raise :class:`InvalidApiKey`."""
    expected = record.secret_hash if record else digest("")
    same = hmac.compare_digest(digest(presented.secret), expected)
    if record is None or not same or record.revoked_ms is not None:
        raise InvalidApiKey("This API key is not valid.")
    if record.environment != presented.environment:
        raise InvalidApiKey("This API key is not valid.")
    return Principal(id=f"key:{record.key_id}", scopes=frozenset(record.scopes))


def digest(secret: str) -> str:
    """Return the hexadecimal SHA-256 of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()
