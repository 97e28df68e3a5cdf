"""Signing in with a one-time code: which numbers and codes are read, how a code is kept, how often.

A code has twenty bits, so a plain hash of it would be undone in a second: it is kept as an HMAC
under a key that is in no store. The hash covers the member and the number too, so that a code is
worth nothing in another session or with another number.
"""

import hashlib
import hmac
import ipaddress
import re
import secrets
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from phonenumbers import (
    NumberParseException,
    PhoneNumberFormat,
    format_number,
    is_possible_number,
    parse,
)

from turnwire.errors import RateLimited, RequestInvalid
from turnwire.storage.members import Charge

_DIGITS: Final = 6
_FORM: Final = re.compile(r"[+\uff0b][\d ()./\-\u00a0]{4,40}")
"""What a number is written with; a line break or a letter is in none."""
_BETWEEN: Final = re.compile(r"[ \-\u00a0]")
_NETWORK_BITS: Final = 64
"""How much of an IPv6 address is somebody's own: whoever has one has them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodePolicy:
    """How long a code lives, how often it is guessed at, and how often one is asked for."""

    seconds: float = 300
    tries: int = 5
    per_number: int = 5
    """Codes for one number, and for one session, in a window."""
    per_address: int = 100
    """Codes for one client address in a window."""
    window_seconds: float = 3600

    @property
    def life_ms(self) -> int:
        """How long a code lives, in milliseconds."""
        return round(self.seconds * 1000)


def new_code() -> str:
    """Return a code to send."""
    return f"{secrets.randbelow(10**_DIGITS):0{_DIGITS}}"


def read_code(typed: str) -> str:
    """Return the code that somebody typed, in ASCII digits whatever their keyboard has."""
    plain = _BETWEEN.sub("", typed.strip())
    return "".join(str(unicodedata.decimal(each, each)) for each in plain)


def read_number(typed: str) -> str:
    """Return a mobile number in E.164 form.

    A number is taken that its country may give out, also where nobody has it yet: what is known
    of the world's numbering plans is older than the newest numbers.

    Raises:
        RequestInvalid: this is no number; the number itself is not repeated.
    """
    wrong = RequestInvalid(("mobile", "is no number; write it with its country code: +44 …"))
    if not _FORM.fullmatch(typed.strip()):
        raise wrong
    try:
        number = parse(typed, None)
    except NumberParseException:
        raise wrong from None
    if not is_possible_number(number):
        raise wrong
    return format_number(number, PhoneNumberFormat.E164)


def code_hash(key: bytes, *, member: str, mobile: str, code: str) -> str:
    """Return what a code is kept as; ``member`` and ``mobile`` have no line breaks."""
    return _keyed(key, f"code\n{member}\n{mobile}\n{code}")


def charges(
    key: bytes, policy: CodePolicy, *, member: str, mobile: str, address: str, now: int
) -> Sequence[Charge]:
    """Return what asking for a code at ``now`` (ms) counts for; who asks is told by keyed hashes.

    Known and unknown numbers count alike, so that the limits tell nothing.
    """
    limits = {
        f"number\n{mobile}": policy.per_number,
        f"session\n{member}": policy.per_number,
        f"address\n{_network(address)}": policy.per_address,
    }
    window = round(policy.window_seconds * 1000)
    return [
        Charge(
            subject=f"sign_in:{_keyed(key, name)}",
            window_ms=window,
            start_ms=now - now % window,
            messages=limit,
        )
        for name, limit in limits.items()
    ]


def require_room(full: Sequence[Charge], *, now: int) -> None:
    """Return if no window is full at ``now`` (ms), or raise :class:`RateLimited`."""
    if full:
        wait_ms = max(each.ends_ms for each in full) - now
        raise RateLimited(
            "Too many codes were asked for; wait before you ask again.", retry_after=wait_ms / 1000
        )


def ends_ms(credential_expires_ms: int | None, session_expires_ms: int) -> int:
    """Return when a sign-in ends by itself: with its credential or with its session."""
    if credential_expires_ms is None:
        return session_expires_ms
    return min(credential_expires_ms, session_expires_ms)


def _keyed(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _network(address: str) -> str:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((int(found), _NETWORK_BITS), strict=False))
