"""Which frames were told, so that none is told twice and none that does not stand is kept."""

from collections.abc import Sequence
from typing import NamedTuple


class Frame(NamedTuple):
    """One frame as it came."""

    id: str
    name: str
    data: str

    def says(self, other: "Frame") -> bool:
        """Whether both say the same, under whatever id."""
        return self[1:] == other[1:]


class News(NamedTuple):
    """What a frame brings."""

    frames: Sequence[Frame] = ()
    anew: bool = False
    """Whether all that was told before is to be forgotten."""


class Memory:
    """Compares what comes with what was told.

    A stream that goes on after an id may begin with frames that were told already: those of an
    event whose other frames did not arrive. They have that same id. A stream that tells the turn
    from its beginning is compared frame by frame; where it says something else, it is right.
    """

    def __init__(self) -> None:
        self.last_id = ""
        """After this one a stream goes on."""
        self.is_retold = False
        """Whether the turn is told from its beginning and has not come up with what was told."""
        self._told: list[Frame] = []
        self._again: list[Frame] = []
        self._retold: list[Frame] = []

    def go_on(self) -> None:
        """Begin a stream that goes on after :attr:`last_id`."""
        self._again = [each for each in self._told if each.id == self.last_id]

    def begin_again(self) -> None:
        """Begin a stream that tells the turn from its beginning."""
        self._again, self._retold, self.is_retold = [], [], bool(self._told)

    def forget(self) -> None:
        """Know nothing of what was told."""
        self._told, self.last_id = [], ""
        self.begin_again()

    def pass_over(self, id: str) -> None:
        """Go on to a frame that is not compared."""
        if not self.is_retold and _number(id) >= _number(self.last_id):
            self.last_id = id

    def take(self, frame: Frame) -> News:
        """Return what the frame brings."""
        if self.is_retold:
            return self._compare(frame)
        if _number(frame.id) < _number(self.last_id):
            return News()
        if frame in self._again:
            self._again.remove(frame)
            return News()
        self._tell(frame)
        return News((frame,))

    def close(self) -> News:
        """Return what the end of a stream brings: what was not told again does not stand."""
        if not self.is_retold:
            return News()
        return self._replace(self._retold)

    def _compare(self, frame: Frame) -> News:
        if not frame.says(self._told[len(self._retold)]):
            return self._replace([*self._retold, frame])
        self._retold.append(frame)
        if len(self._retold) == len(self._told):
            self._told, self.is_retold, self.last_id = self._retold, False, frame.id
        return News()

    def _replace(self, frames: Sequence[Frame]) -> News:
        self.forget()
        for each in frames:
            self._tell(each)
        return News(frames, anew=True)

    def _tell(self, frame: Frame) -> None:
        self._told.append(frame)
        self.last_id = frame.id


def _number(id: str) -> int:
    number = id.rpartition(".")[2]
    return int(number) if number.isdecimal() else 0
