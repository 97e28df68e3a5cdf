"""Where a client is in a turn, and how long it tries when the stream breaks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import httpx

from turnwire.client.requests import Sent
from turnwire.errors import TurnwireError

ENDINGS: Final = frozenset({"turn_completed", "paused", "error"})
"""After one of these nothing comes; a stream without one is broken."""

WAITS: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each try to take a broken stream up again."""

_AWAY: Final = frozenset({502, 503, 504})


class Refused(TurnwireError):
    """The server said no with a status, a code and a text."""

    def __init__(self, answered: int, reason: str, text: str) -> None:
        super().__init__(f"{text} ({answered} {reason})")
        self.answered = answered
        self.reason = reason


class ServerAway(TurnwireError):
    """Nobody answers at the address, or somebody else than turnwire."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of the execution wire."""

    id: str
    name: str
    body: Mapping[str, Any]


class Position:
    """Where in a turn a client is, and what it sends in order to hear what comes next."""

    def __init__(self, opening: Sent, after: Frame | None = None) -> None:
        self.at_the_end = False
        self._opening = opening
        self._opened = False
        self._tries = 0
        self._turn = ""
        self._last_id = ""
        if after is not None:
            self._place(after)

    def request(self) -> Sent:
        """Return what to send."""
        self._tries += 1
        if not self._opened:
            return self._opening
        path = f"{self._turn}/events?wire=execution&tokens=true"
        return Sent("GET", path, headers={"last-event-id": self._last_id})

    def hear(self, frame: Frame) -> None:
        """Go on to ``frame``."""
        self._place(frame)
        self._opened = self._turn != ""
        self.at_the_end = frame.name in ENDINGS

    def outlives(self, refused: Refused) -> bool:
        """Whether to go on after a refusal: the server restarts, or it did what was sent again."""
        if self._opened:
            return refused.answered in _AWAY
        taken = self._tries > 1 and self._turn != "" and refused.reason == "already_decided"
        self._opened = taken
        return taken

    def _place(self, frame: Frame) -> None:
        self._last_id = frame.id
        if "turn_id" in frame.body:
            self._turn = turn_path(frame.body["thread_id"], frame.body["turn_id"])


class Patience:
    """Waits before each try, a little longer each time; starts anew when something was heard."""

    def __init__(self, url: str, waits: Sequence[float], sleep: Callable[[float], None]) -> None:
        self._url = url
        self._waits = waits
        self._sleep = sleep
        self._tries = 0
        self._was_there = False

    def heard(self) -> None:
        """Note that the server is there."""
        self._tries, self._was_there = 0, True

    def wait(self, broken: Exception | None) -> None:
        """Return when it is time to try again, or raise :class:`ServerAway`."""
        unreachable = isinstance(broken, httpx.ConnectError | httpx.ConnectTimeout)
        if unreachable and not self._was_there:
            raise nobody(self._url) from broken
        if self._tries == len(self._waits):
            raise ServerAway(
                f"the stream from {self._url} broke, and {self._tries} tries to go on failed"
            ) from broken
        self._sleep(self._waits[self._tries])
        self._tries, self._was_there = self._tries + 1, True


def conversation_path(thread_id: object) -> str:
    """Return the path of a conversation."""
    return f"/conversations/{quote(str(thread_id), safe='')}"


def turn_path(thread_id: object, turn_id: object) -> str:
    """Return the path of a turn."""
    return f"{conversation_path(thread_id)}/turns/{quote(str(turn_id), safe='')}"


def nobody(url: str) -> ServerAway:
    """Return what is said where no server answers."""
    return ServerAway(f"no server answers at {url}; start one with: turnwire serve")
