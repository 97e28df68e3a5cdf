"""What the answer wire promises about the order of its frames, and what a client makes of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, Protocol

TERMINATORS: Final = ("message.completed", "error")


class Heard(Protocol):
    """A frame as a client has it."""

    @property
    def id(self) -> str: ...
    @property
    def event(self) -> str: ...
    @property
    def data(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Told:
    """A frame that was not sent anywhere."""

    id: str
    event: str
    data: dict[str, Any]


def check_order(frames: Sequence[Heard], *, opened: bool = False) -> None:
    """Assert the three guarantees; with ``opened`` the stream goes on with a message."""
    names = [each.event for each in frames]
    assert names.count("message.started") == (0 if opened else 1), names
    assert opened or names[0] == "message.started"
    assert [each for each in names if each in TERMINATORS] == names[-1:], names
    numbers = [int(each.id.rpartition(".")[2]) for each in frames]
    assert numbers == sorted(numbers), "each frame has the next number"
    if not opened:
        _check_evidence(frames, names)
    _check_tools(frames, opened=opened)


def _check_evidence(frames: Sequence[Heard], names: Sequence[str]) -> None:
    words = [at for at, name in enumerate(names) if name == "token.delta"]
    searched = [at for at, name in enumerate(names) if name == "retrieval.completed"]
    for one, other in pairwise(searched):
        assert any(one < at < other for at in words), "told again, and no words between"
    for at, frame in enumerate(frames):
        if frame.event == "citation":
            assert at > max(words), "a citation before the last words"
            told = frames[max(searched)].data["documents"]
            assert frame.data["id"] in [each["id"] for each in told], "a citation of nothing"


def _check_tools(frames: Sequence[Heard], *, opened: bool) -> None:
    running: set[str] = set()
    for each in frames:
        if each.event == "tool.started":
            assert each.data["tool_call_id"] not in running
            running.add(each.data["tool_call_id"])
        elif each.event == "tool.completed":
            assert opened or each.data["tool_call_id"] in running
            running.discard(each.data["tool_call_id"])
    waits = frames[-1].data.get("finish_reason", "").startswith("awaiting_")
    replaced = frames[-1].data.get("code") == "answer_replaced"
    assert not running or waits or replaced, "a call without an end"


@dataclass
class Screen:
    """What a client of the answer wire shows."""

    message_id: str = ""
    text: str = ""
    documents: dict[str, str] = field(default_factory=dict[str, str])
    citations: dict[str, str] = field(default_factory=dict[str, str])
    tools: dict[str, str] = field(default_factory=dict[str, str])
    asked: dict[str, str] = field(default_factory=dict[str, str])
    ending: str = ""

    def take(self, frames: Iterable[Heard]) -> "Screen":
        for each in frames:
            if each.event.startswith(("tool.", "action.", "auth.")):
                self._take_card(each.event, each.data)
            else:
                self._take(each.event, each.data)
        return self

    def _take_card(self, event: str, data: dict[str, Any]) -> None:
        match event:
            case "tool.started":
                self.tools[data["tool_call_id"]] = "running"
            case "tool.completed":
                self.tools[data["tool_call_id"]] = data["status"]
            case "action.confirmation_required":
                self.asked[data["confirmation_id"]] = "open"
            case "action.completed":
                self.asked[data["confirmation_id"]] = data["status"]
            case _:
                self.asked[data.get("resume_id", data["reason"])] = "open"

    def _take(self, event: str, data: dict[str, Any]) -> None:
        match event:
            case "message.started":
                self.message_id = data["message_id"]
            case "retrieval.completed":
                self.documents = {each["id"]: each["title"] for each in data["documents"]}
            case "token.delta":
                self.text += data["text"]
            case "citation":
                self.citations[data["id"]] = data["title"]
            case "message.completed":
                self.ending = data["finish_reason"]
            case "error":
                self.ending = data["code"]
            case _:
                raise AssertionError(f"{event} is not of this wire")
