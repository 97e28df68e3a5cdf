"""Credentials at rest: sealed with Fernet, under keys that are rotated.

A sealed credential names its member inside, so that a row that somebody moved to another member
opens for nobody.
"""

import base64
import hashlib
import hmac
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from pydantic import BaseModel, ConfigDict, ValidationError

from turnwire.errors import SetupError
from turnwire.nodes.tools.tool import Credential
from turnwire.sign_in.private_file import write_private

KEY_FILE: Final = "credential.key"

_LOG: Final = logging.getLogger("turnwire.sign_in")


class _Content(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    member: str
    token: str
    scopes: tuple[str, ...]
    expires_ms: int | None


class Seals:
    """Seals and opens credentials; the first key seals, all of them open."""

    def __init__(self, keys: Sequence[str]) -> None:
        """Take keys as ``Fernet.generate_key`` makes them: 32 bytes in URL-safe base64."""
        self._first = Fernet(keys[0])
        self._all = MultiFernet([Fernet(each) for each in keys])
        self.code_keys: Sequence[bytes] = [_derived(each) for each in keys]
        """What codes are hashed with: one key for each of ``keys``, in their order."""

    def seal(self, member: str, credential: Credential) -> str:
        """Return a credential for the store."""
        content = _Content(
            member=member,
            token=credential.token,
            scopes=tuple(sorted(credential.scopes)),
            expires_ms=credential.expires_ms,
        )
        return self._first.encrypt(content.model_dump_json().encode()).decode()

    def open(self, sealed: str, *, member: str) -> Credential | None:
        """Return the member's credential, or none where it is another's or no key opens it."""
        try:
            content = _Content.model_validate_json(self._all.decrypt(sealed.encode()))
        except (InvalidToken, ValidationError, UnicodeEncodeError):
            return None
        if content.member != member:
            return None
        return Credential(
            token=content.token,
            scopes=frozenset(content.scopes),
            expires_ms=content.expires_ms,
        )

    def renewed(self, sealed: str) -> str | None:
        """Return the same sealed with the first key, or none where it is so already.

        Raises:
            InvalidToken: no key opens it.
        """
        try:
            self._first.decrypt(sealed.encode())
        except InvalidToken:
            return self._all.rotate(sealed.encode()).decode()
        return None


def is_key(text: str) -> bool:
    """Whether this is a key for credentials."""
    try:
        Fernet(text)
    except ValueError:
        return False
    return True


def own_key(data_dir: Path) -> str:
    """Return the key in the data directory, which is made where it is missing.

    Raises:
        SetupError: the file has no key, or others than its owner may read it.
    """
    path = data_dir / KEY_FILE
    if not path.exists():
        write_private(path, Fernet.generate_key())
        _LOG.info("made a key for members' credentials")
    if os.stat(path).st_mode & 0o077:
        raise SetupError(f"{path} may be read by others: chmod 600 {path}")
    key = path.read_text("utf-8", errors="replace").strip()
    if not is_key(key):
        raise SetupError(f"{path} has no key; delete it, and members sign in again")
    return key


def _derived(key: str) -> bytes:
    """Return a key for another use than sealing, from which the first can't be found."""
    secret = base64.urlsafe_b64decode(key)
    return hmac.new(secret, b"turnwire sign-in codes", hashlib.sha256).digest()
