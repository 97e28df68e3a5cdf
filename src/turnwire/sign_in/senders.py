"""How a code reaches its member."""

import asyncio
import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, Protocol

import httpx

from turnwire.clock import Now
from turnwire.sign_in.http import Unreachable, client, post
from turnwire.sign_in.private_file import write_private

_SECRET: Final = "whsec_"
_SECRET_BYTES: Final = range(24, 65)
_TRIES: Final = 2


@dataclass(frozen=True, slots=True)
class Sent:
    """A code on its way."""

    mobile: str = field(repr=False)
    code: str = field(repr=False)
    expires_at: str
    """RFC 3339, in UTC."""

    @property
    def body(self) -> bytes:
        """The same as JSON."""
        return json.dumps(asdict(self)).encode()


class Sender(Protocol):
    """Brings codes to members."""

    async def send(self, sent: Sent, /) -> None:
        """Send the code, or raise :class:`Unreachable`."""
        ...

    async def close(self) -> None:
        """Let go of all connections."""
        ...


class Outbox:
    """Lays each code into a folder as one JSON file, which only its owner may read."""

    def __init__(self, folder: Path, *, now: Now) -> None:
        self._folder = folder
        self._now = now

    async def send(self, sent: Sent, /) -> None:
        """See :class:`Sender`."""
        path = self._folder / f"{self._now()}-{secrets.token_hex(4)}.json"
        try:
            await asyncio.to_thread(write_private, path, sent.body)
        except OSError as error:
            raise Unreachable(f"the outbox can't be written ({error.strerror})") from None

    async def close(self) -> None:
        """See :class:`Sender`."""


class Webhook:
    """Posts each code to a service of the operator's, signed as Standard Webhooks 1.0 says.

    What may pass by itself (no answer, 429, 5xx) is tried once more, under the same
    ``webhook-id``, by which the service tells a repetition.
    """

    def __init__(
        self, url: str, secret: str, *, now: Now, http: httpx.AsyncClient | None = None
    ) -> None:
        self._url = url
        self._key = _key_of(secret)
        self._now = now
        self._http = http or client(target=url)

    async def send(self, sent: Sent, /) -> None:
        """See :class:`Sender`."""
        body, message_id = sent.body, f"msg_{secrets.token_hex(12)}"
        said = ""
        for _ in range(_TRIES):
            headers = signature(self._key, message_id, self._now() // 1000, body)
            try:
                response = await post(self._http, self._url, body, headers)
            except Unreachable as error:
                said = str(error)
                continue
            said = str(response.status_code)
            if response.is_success:
                return
            if response.status_code != 429 and response.status_code < 500:
                break
        raise Unreachable(f"the webhook did not take a code ({said})")

    async def close(self) -> None:
        """See :class:`Sender`."""
        await self._http.aclose()


def signature(key: bytes, message_id: str, seconds: int, body: bytes) -> Mapping[str, str]:
    """Return the headers of a message that was sent at ``seconds`` since 1970.

    Standard Webhooks 1.0, "Signature scheme": HMAC-SHA256 of ``id.timestamp.body``.
    """
    signed = f"{message_id}.{seconds}.".encode() + body
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": f"v1,{digest}",
    }


def is_secret(text: str) -> bool:
    """Whether this is a webhook's secret: ``whsec_`` and 24 to 64 bytes in base64."""
    try:
        return text.startswith(_SECRET) and len(_key_of(text)) in _SECRET_BYTES
    except ValueError:
        return False


def _key_of(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix(_SECRET), validate=True)
