"""Allowances: which ones a caller's turn is charged to, and whether there is something left."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from turnwire.admission.principal import Principal
from turnwire.errors import QuotaExceeded
from turnwire.events import PauseKind
from turnwire.storage.members import Charge, Used

_DAY: Final = 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """How much one member, or one key, may use in a window; none: it is not limited."""

    messages: int | None = None
    tokens: int | None = None
    seconds: float = _DAY
    """How long a window is."""

    def charge(self, subject: str, *, held: int, now: int) -> Charge:
        """Return what a turn takes of the window of ``now`` (ms)."""
        window = round(self.seconds * 1000)
        return Charge(
            subject=subject,
            window_ms=window,
            start_ms=now - now % window,
            messages=self.messages,
            tokens=self.tokens,
            held=held,
        )

    @property
    def is_limited(self) -> bool:
        """Whether there is anything to count."""
        return self.messages is not None or self.tokens is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaPolicy:
    """The allowance of each member and of each key."""

    member: Allowance = Allowance()
    key: Allowance = Allowance()
    held_tokens: int = 4000
    """Tokens that a turn is taken to need, until it is known what it used."""

    def charges(self, caller: Principal, *, now: int) -> tuple[Charge, ...]:
        """Return what a turn of ``caller`` takes at ``now`` (ms), of which allowances.

        A member's turn is charged to the member and to the application's key. One without a
        session is somebody new at each call, so that only the key can be held to anything, and
        the operator of a server on loopback is held to nothing.
        """
        found: list[Charge] = []
        if caller.is_member and not caller.is_ephemeral and self.member.is_limited:
            found.append(self.member.charge(caller.id, held=self.held_tokens, now=now))
        key = caller.application
        if key.startswith("key:") and self.key.is_limited:
            found.append(self.key.charge(key, held=self.held_tokens, now=now))
        return tuple(found)

    def resuming(self, caller: Principal, kind: PauseKind, *, now: int) -> tuple[Charge, ...]:
        """Return what going on after a pause takes: a sign-in is a message, an answer is none."""
        return self.charges(caller, now=now) if kind == "sign_in" else ()


def require_room(charges: Sequence[Charge], used: Sequence[Used], *, now: int) -> None:
    """Return if a turn may take these charges at ``now`` (ms), or raise :class:`QuotaExceeded`.

    A turn starts where anything is left, with what is held for turns that run counted as used. So
    a window passes its limit by what one turn needs, and by what turns use beyond what was held.
    """
    asked = zip(charges, used, strict=True)
    full = [charge for charge, so_far in asked if not so_far.leaves_room(charge)]
    if full:
        ends = max(each.ends_ms for each in full)
        raise QuotaExceeded(retry_after=max(0, ends - now) / 1000)
