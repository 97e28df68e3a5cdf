"""What a tool returns becomes JSON by one rule, or is refused with its path."""

import math
from collections import deque
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import orjson
import pytest
from pydantic import BaseModel

from turnwire.nodes.tools.results import NotPlain, plain


class Plan(BaseModel):
    price: Any


@dataclass
class Benefit:
    limit: Any


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (np.float64(0.5), 0.5),
        (np.int64(3), 3),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.bool_(True), True),
        (np.datetime64("2026-11-30T10:00:00"), "2026-11-30T10:00:00"),
        (Decimal("12.30"), "12.30"),
        (math.nan, None),
        (np.float32("inf"), None),
        ({"a": -math.inf}, {"a": None}),
        (b"\xff\x00", "_wA="),
        ({1}, [1]),
        ((1, "b"), [1, "b"]),
        (deque([1]), [1]),
        (datetime(2026, 11, 30, tzinfo=UTC), "2026-11-30T00:00:00Z"),
        (date(2026, 11, 30), "2026-11-30"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Path("a/b"), "a/b"),
        (Colour.RED, "red"),
        (Plan(price=np.int32(7)), {"price": 7}),
        (Benefit(limit=Decimal(1)), {"limit": "1"}),
        ({2: "x", None: "y"}, {"2": "x", "None": "y"}),
        ("\ud83d half", "\ufffd half"),
    ],
    ids=repr,
)
def test_a_value_is_coerced_by_the_stated_rule(returned: object, told: object):
    assert plain(returned) == told
    orjson.dumps(plain(returned))


class Odd:
    def __repr__(self) -> str:
        return "CANARY"


def _endless() -> list[Any]:
    inner: list[Any] = []
    inner.append(inner)
    return inner


@pytest.mark.parametrize(
    ("returned", "path"),
    [
        (Odd(), "a Odd at result"),
        ({"plan": {"items": [1, Odd()]}}, r"a Odd at result\.plan\.items\[1\]"),
        (Plan(price=Odd()), r"a Odd at result\.price"),
        ({"Ada Lovelace, 1 High Street": Odd()}, r"a Odd at result\.\?"),
        ((each for each in "ab"), "a generator at result"),
        (Odd, "a type at result"),
        (_endless(), "something too deep"),
    ],
    ids=["object", "inside", "in a model", "under a private name", "generator", "class", "cycle"],
)
def test_what_json_can_not_say_is_refused_by_its_path_and_never_by_its_value(
    returned: object, path: str
):
    with pytest.raises(NotPlain, match=path) as raised:
        plain(returned)
    assert "CANARY" not in str(raised.value)
    assert "Ada" not in str(raised.value)


def test_a_file_is_refused(tmp_path: Path):
    with (tmp_path / "f").open("w") as file, pytest.raises(NotPlain, match="at result"):
        plain({"file": file})
