"""A strict reader of server-sent events, written from the standard and not from our encoder."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx

ENDINGS: Final = ("turn_completed", "paused", "error")


@dataclass(frozen=True, slots=True)
class Frame:
    """One event as a client gets it."""

    id: str
    event: str
    data: dict[str, Any]

    @property
    def seq(self) -> int:
        return int(self.id.rpartition(".")[2])

    @property
    def turn_id(self) -> str:
        return self.id.rpartition(".")[0]


class Reader:
    """Frames of a response, one at a time; comments are counted, never given."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.comments: list[str] = []
        self.raw = bytearray()
        self._frames = self._read()

    def next(self) -> Frame:
        """Return the next frame; the stream's end is an error."""
        return next(self._frames)

    def until(self, event: str) -> Frame:
        """Return the next frame of that name."""
        return next(each for each in self._frames if each.event == event)

    def rest(self) -> list[Frame]:
        """Return all that comes to the end of the stream."""
        return list(self._frames)

    def _lines(self) -> Iterator[str]:
        held = b""
        for chunk in self.response.iter_raw():
            self.raw += chunk
            assert b"\r" not in chunk
            *lines, held = (held + chunk).split(b"\n")
            for line in lines:
                yield line.decode()
        assert held == b"", "the stream ended inside a frame"

    def _read(self) -> Iterator[Frame]:
        fields: dict[str, str] = {}
        for line in self._lines():
            if line.startswith(":"):
                self.comments.append(line)
            elif line:
                name, _, value = line.partition(": ")
                assert name in ("id", "event", "data"), line
                assert name not in fields, f"two {name} lines in one frame"
                fields[name] = value
            elif fields:
                yield Frame(fields["id"], fields["event"], json.loads(fields["data"]))
                fields = {}


def text_of(frames: list[Frame]) -> str:
    """Return the words that a client shows after these frames."""
    said = ""
    for each in frames:
        if each.event == "token":
            said += each.data["text"]
        elif each.event == "text_replaced":
            said = each.data["text"]
    return said


def unsaid(frames: Sequence[Frame]) -> int:
    """Return how many events this wire did not say; fails where a number is not above the last."""
    numbers = [each.seq for each in frames]
    assert numbers == sorted(set(numbers)), numbers
    return numbers[-1] - len(numbers)
