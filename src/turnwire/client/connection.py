"""Where a server is, who speaks to it, and how: what both clients share."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import random
from typing import Any, Final, NamedTuple, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from turnwire.client import requests
from turnwire.client.account import Account
from turnwire.client.errors import UNKNOWN, Refused, WrongUsage, refusal
from turnwire.client.listening import Listening
from turnwire.client.requests import EVENT_STREAM, Hints, Sent
from turnwire.client.retry import Retry
from turnwire.ids import new_id

B = TypeVar("B", bound=BaseModel)

_NO_HINTS: Final = Hints()


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a client speaks to its server."""

    retry: Retry = field(default_factory=Retry)
    connect_seconds: float = 10.0
    silence_seconds: float = 60.0
    """A stream that says nothing for so long is broken: four heartbeats of a server's default."""
    session_header: str = "X-Turnwire-Session"
    """The server's setting ``session_header``."""


class Session(BaseModel):
    """A member's session; whoever has its id is the member."""

    session_id: str
    expires_at: str
    signed_in: bool = False


class CodeAsked(BaseModel):
    """What the server says to a request for a code, whoever has the number."""

    expires_in: float
    """How many seconds the code lives, if one was sent."""


class Signed(BaseModel):
    """Whether a session is signed in."""

    signed_in: bool
    expires_at: str
    """When that ends by itself: the sign-in, or else the session."""


class Cancelled(BaseModel):
    """What the server says to a cancellation."""

    cancelled: bool


class Opened(NamedTuple):
    """A turn that nothing was sent of yet."""

    listening: Listening
    headers: Mapping[str, str]
    key: str | None = None


class Connection:
    """Which server, which application, which member.

    Raises:
        WrongUsage: the address or the key can't be used.
    """

    def __init__(
        self, base_url: str, *, api_key: str, session: str | None, options: Options
    ) -> None:
        _header("api_key", api_key.strip())
        if session is not None:
            _header("session", session)
        try:
            address = address_of(base_url)
        except ValueError as error:
            raise WrongUsage(f"base_url: {error}") from None
        self.session = session
        self._options = options
        self.http: dict[str, Any] = {
            "base_url": address,
            "headers": {"authorization": f"Bearer {api_key.strip()}"},
            "timeout": httpx.Timeout(options.connect_seconds, read=options.silence_seconds),
            # A proxy that the environment names can't reach this machine's own loopback.
            "trust_env": not is_loopback(address.host),
        }

    def headers(self) -> dict[str, str]:
        """Return what names the member."""
        return {self._options.session_header: self.session} if self.session else {}

    def ask(
        self,
        message: str,
        *,
        conversation_id: str | None = None,
        agent: str | None = None,
        hints: Hints | None = None,
        idempotency_key: str | None = None,
    ) -> Opened:
        """Return a turn that begins with ``message``."""
        key = new_id("req") if idempotency_key is None else idempotency_key
        _header("idempotency_key", key)
        opening = requests.ask(
            message,
            conversation_id=conversation_id,
            agent=agent,
            hints=hints or _NO_HINTS,
            key=key,
        )
        listening = self._listening(opening, Account(), can_attach=self.session is not None)
        return Opened(listening, self.headers(), key)

    def attach(self, conversation_id: str, message_id: str) -> Opened:
        """Return a turn that exists already."""
        opening = requests.attach(conversation_id, message_id, after="")
        account = Account(conversation_id=conversation_id, message_id=message_id)
        return Opened(self._listening(opening, account, can_attach=True), self.headers())

    def _listening(self, opening: Sent, account: Account, *, can_attach: bool) -> Listening:
        return Listening(
            opening, account, can_attach=can_attach, retry=self._options.retry, chance=random
        )


def stream_headers(sent: Sent, caller: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a request for a stream."""
    return {**caller, **sent.headers, "accept": EVENT_STREAM}


def is_stream(response: httpx.Response) -> bool:
    """Whether the server answers with a stream, and not with a refusal."""
    said = response.headers.get("content-type", "")
    return response.status_code == 200 and said.startswith(EVENT_STREAM)


def refused(response: httpx.Response) -> Refused:
    """Return what a response says that was read and is no stream."""
    if response.status_code == 200:
        return Refused(200, UNKNOWN, "This is not turnwire's answer; check base_url.")
    return refusal(response.status_code, response.headers, response.content)


def read(kind: type[B], response: httpx.Response) -> B:
    """Return the body of a response.

    Raises:
        Refused: there is none of that kind.
    """
    if not response.is_success:
        raise refused(response)
    try:
        return kind.model_validate_json(response.content)
    except ValidationError:
        raise Refused(200, UNKNOWN, "This is not turnwire's answer; check base_url.") from None


def _header(name: str, value: str) -> None:
    if not (value and value.isascii() and value.isprintable()):
        raise WrongUsage(f"{name}: has to be printable ASCII, and not empty.")


def address_of(url: str) -> httpx.URL:
    """Return the address of a server, or raise ``ValueError`` with what is wrong with it."""
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ValueError(str(error)) from None
    if address.scheme not in ("http", "https") or not address.host:
        raise ValueError("write it as http://HOST:PORT or https://HOST")
    return address


def is_loopback(host: str) -> bool:
    """Whether only this machine is meant."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
