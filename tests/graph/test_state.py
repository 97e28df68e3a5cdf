"""What a graph may keep, and how it is told that it may not."""

import dataclasses
import datetime
import decimal
import enum
import io
from typing import Any

import numpy as np
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import MessagesState
from pydantic import BaseModel, ConfigDict

from tests.graph.stage import Host, line
from turnwire.graph.serializer import NotStorable, StrictSerializer

pytestmark = pytest.mark.anyio


class Odd:
    """A class that no checkpoint knows."""

    secret = "CANARY"


class Holder(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    rows: list[Any]


class Kept(MessagesState):
    value: Any


async def keep(value: object) -> Host:
    def node(state: Kept) -> dict[str, Any]:
        return {"value": value, "messages": [AIMessage("Ok.")]}

    host = Host(line(Kept, node=node))
    await host.play()
    return host


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        {"x", "y"},
        b"\x00\xff",
        float("inf"),
        decimal.Decimal("1.10"),
        datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC),
        [HumanMessage("Hello", id="m")],
        {"nested": [1, (2, 3)]},
    ],
)
async def test_what_can_be_kept_comes_back(value: object):
    host = await keep(value)
    saved = await host.saver.aget_tuple({"configurable": {"thread_id": "conv_1"}})

    assert saved is not None
    kept = saved.checkpoint["channel_values"]["value"]
    assert kept == value or list(kept) == list(value)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (Odd(), r"\(Odd\)"),
        ({"orders": [1, {"row": Odd()}]}, r"orders\[1\]\.row \(Odd\)"),
        (Holder(rows=[Odd()]), r"rows\[0\] \(Odd\)"),
        (np.datetime64("2026-11-30"), r"\(datetime64\)"),
        ([np.float64(0.93)], r"\[0\] \(float64\)"),
        (10**30, r"\(int\)"),
    ],
)
async def test_what_cannot_be_kept_is_named_by_its_path_and_not_by_its_value(
    value: object, path: str
):
    with pytest.raises(NotStorable, match=path) as raised:
        await keep(value)

    assert "CANARY" not in str(raised.value)


async def test_an_open_file_is_not_kept(tmp_path: Any):  # noqa: ANN401
    with io.StringIO("CANARY") as file, pytest.raises(NotStorable, match=r"StringIO"):
        await keep({"file": file})


async def test_after_a_turn_that_could_not_be_kept_the_thread_takes_the_next():
    values: list[object] = [Odd(), "fine"]

    def node(state: Kept) -> dict[str, Any]:
        return {"value": values.pop(0), "messages": [AIMessage("Ok.")]}

    host = Host(line(Kept, node=node))
    with pytest.raises(NotStorable):
        await host.play()

    assert (await host.play("Again")).ending.content == "Ok."


def test_a_checkpoint_revives_no_class_that_it_names():
    serializer = StrictSerializer()
    stored = StrictSerializer().dumps_typed(Holder(rows=[1]))

    revived = serializer.loads_typed(stored)

    assert not isinstance(revived, Holder)


def test_pickles_are_neither_written_nor_read():
    with pytest.raises((NotImplementedError, NotStorable, ValueError)):
        StrictSerializer().loads_typed(("pickle", b"cos\nsystem\n(S'true'\ntR."))


class Trip(BaseModel):
    city: str


@dataclasses.dataclass
class Days:
    count: int


class Mood(enum.Enum):
    GLAD = "glad"


class Declared(MessagesState):
    trip: Trip | None
    trips: list[Trip]
    days: Days
    mood: Mood


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "in a subgraph"])
async def test_a_type_that_the_state_declares_comes_back_as_itself_on_the_next_turn(compiled: bool):
    def node(state: Declared) -> dict[str, Any]:
        kept = [state.get(each) for each in ("trip", "trips", "days", "mood")]
        return {
            "messages": [AIMessage(repr(kept))],
            "trip": Trip(city="Rome"),
            "trips": [Trip(city="Bari")],
            "days": Days(3),
            "mood": Mood.GLAD,
        }

    inner = line(Declared, node=node)
    host = Host(inner if compiled else line(Declared, inner=inner.compile()))

    await host.play()
    again = await host.play("Again")

    assert again.ending.content == repr(
        [Trip(city="Rome"), [Trip(city="Bari")], Days(3), Mood.GLAD]
    )
