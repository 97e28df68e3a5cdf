"""Sessions and allowances in dictionaries; :mod:`turnwire.storage.metering` has them in tables."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from turnwire.ids import TurnId
from turnwire.storage.base import Conflict
from turnwire.storage.members import Charge, SessionRecord, Used

_Window = tuple[str, int, int]


@dataclass(slots=True)
class _Meter:
    window: _Window
    held: int
    charged: int = 0


class Meters:
    """What was used of each window, and which windows the turns that have not ended count for."""

    def __init__(self) -> None:
        self._used: dict[_Window, Used] = {}
        self._of_turns: dict[TurnId, dict[str, _Meter]] = {}

    def used(self, charges: Iterable[Charge]) -> tuple[Used, ...]:
        """Return what was used of each charge's window."""
        return tuple(self._used.get(_window(each), Used()) for each in charges)

    def require_room(self, charges: Sequence[Charge]) -> None:
        """Return if something is left for each charge, or raise ``Conflict``."""
        for each, used in zip(charges, self.used(charges), strict=True):
            if not used.leaves_room(each):
                raise Conflict

    def take(self, turn_id: TurnId, charges: Sequence[Charge]) -> None:
        """Charge a message and hold the tokens; there is room."""
        for each in charges:
            window = _window(each)
            self._count(each, tokens=each.held)
            known = self._of_turns.setdefault(turn_id, {}).get(each.subject)
            earlier = known or _Meter(window, 0)
            earlier.window, earlier.held = window, earlier.held + each.held
            self._of_turns[turn_id][each.subject] = earlier

    def charge(self, charges: Sequence[Charge]) -> tuple[Charge, ...]:
        """Count a message for each charge and return nothing, or count none and return the full."""
        used = zip(charges, self.used(charges), strict=True)
        full = tuple(each for each, so_far in used if not so_far.leaves_room(each))
        for each in () if full else charges:
            self._count(each, tokens=0)
        return full

    def go_on(self, turn_id: TurnId, *, now: int) -> None:
        """Charge what the turn takes from ``now`` (ms) on to the window of that time."""
        for meter in self._of_turns.get(turn_id, {}).values():
            subject, length, _ = meter.window
            meter.window = subject, length, now - now % length

    def settle(self, turn_id: TurnId, tokens: int, *, is_over: bool) -> None:
        """Charge what the whole turn has used so far, and give back what was held."""
        for meter in self._of_turns.get(turn_id, {}).values():
            used = max(tokens, meter.charged)
            self._add(meter.window, messages=0, tokens=used - meter.charged - meter.held)
            meter.held, meter.charged = 0, used
        if is_over:
            self._of_turns.pop(turn_id, None)

    def _count(self, charge: Charge, *, tokens: int) -> None:
        window = _window(charge)
        if window not in self._used:
            self._forget_before(charge)
        self._add(window, messages=1, tokens=tokens)

    def _add(self, window: _Window, *, messages: int, tokens: int) -> None:
        before = self._used.get(window, Used())
        self._used[window] = Used(before.messages + messages, before.tokens + tokens)

    def _forget_before(self, charge: Charge) -> None:
        for subject, length, start in list(self._used):
            if length == charge.window_ms and start < charge.start_ms:
                del self._used[subject, length, start]


class Sessions:
    """Members' sessions, by the hashes of their ids."""

    def __init__(self) -> None:
        self._by_hash: dict[str, SessionRecord] = {}

    def add(self, session: SessionRecord) -> None:
        """Keep a session, and drop those that had expired when it was made."""
        for each in list(self._by_hash.values()):
            if each.expires_ms <= session.created_ms:
                del self._by_hash[each.session_hash]
        self._by_hash[session.session_hash] = session

    def find(self, session_hash: str, *, now: int) -> SessionRecord | None:
        """Return the session if it has not expired at ``now``."""
        found = self._by_hash.get(session_hash)
        return found if found is not None and found.expires_ms > now else None

    def lives(self, session_hash: str, now: int) -> bool:
        """Whether the session has not expired at ``now``."""
        return self.find(session_hash, now=now) is not None

    def renew(self, session_hash: str, *, now: int, expires_ms: int) -> None:
        """Move the expiry of a session that has not expired at ``now``."""
        found = self.find(session_hash, now=now)
        if found is not None:
            self._by_hash[session_hash] = replace(found, seen_ms=now, expires_ms=expires_ms)


def _window(charge: Charge) -> _Window:
    return charge.subject, charge.window_ms, charge.start_ms
