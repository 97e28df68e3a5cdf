import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwire.graph.plain import PIECE, VALUE_CHARS, Joiner, mend, pieces, preview, to_json

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # halves of characters among them


def utf16_units(text: str) -> list[str]:
    """Cut a text into UTF-16 code units, as a provider that counts those does."""
    data = text.encode("utf-16-le", "surrogatepass")
    return [data[n : n + 2].decode("utf-16-le", "surrogatepass") for n in range(0, len(data), 2)]


@given(st.text(), st.data())
def test_however_a_text_is_cut_it_is_joined(text: str, data: st.DataObject):
    units = utf16_units(text)
    joiner, said, start = Joiner(), "", 0
    while start < len(units):
        end = data.draw(st.integers(start + 1, len(units)))
        said += joiner.feed("".join(units[start:end]))
        start = end
    said += joiner.flush()

    assert said == text


@given(st.lists(ANY_TEXT))
def test_what_a_joiner_says_can_always_be_encoded(texts: list[str]):
    joiner = Joiner()
    said = "".join(joiner.feed(each) for each in texts) + joiner.flush()

    said.encode()
    assert said == mend("".join(texts))


@given(st.text(max_size=200).map(lambda each: each * 200))
def test_pieces_are_small_and_make_up_the_text(text: str):
    cut = list(pieces(text))

    assert "".join(cut) == text
    assert all(0 < len(each) <= PIECE for each in cut)


@dataclasses.dataclass
class Point:
    x: float


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | ANY_TEXT
    | st.binary()
    | st.builds(Point, st.floats())
    | st.builds(object),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(ANY_TEXT | st.integers(), inner)
        | st.frozensets(st.integers())
        | st.tuples(inner, inner)
    ),
    max_leaves=20,
)


@given(VALUES)
def test_anything_becomes_json_that_every_parser_reads(value: Any):  # noqa: ANN401
    text = json.dumps(to_json(value), allow_nan=False)

    json.loads(text)
    text.encode()


def test_half_a_character_in_a_key_is_mended():
    assert to_json({"\ud83c": [{"\ud83c": 1}]}) == {"\ufffd": [{"\ufffd": 1}]}


def test_a_value_that_holds_itself_does_not_hang():
    value: list[Any] = []
    value.append(value)

    with pytest.raises(ValueError, match="ircular"):
        to_json(value)


def test_a_large_value_is_cut_and_says_so():
    shown = preview({"rows": "x" * 50_000})

    assert isinstance(shown, dict)
    assert shown["truncated"] is True
    assert isinstance(shown["preview"], str)
    assert len(shown["preview"]) == VALUE_CHARS
    assert preview("short") == "short"


def hide_mail(text: str) -> str:
    return text.replace("ada@example.test", "[EMAIL]").replace("4111111111111111", "[CARD]")


def test_a_preview_changes_every_text_in_a_value():
    value = {"ada@example.test": ["to ada@example.test", 4111111111111111, 7, True, None]}

    assert preview(value, text=hide_mail) == {"[EMAIL]": ["to [EMAIL]", "[CARD]", 7, True, None]}


def test_a_preview_that_is_cut_shows_no_half_of_a_detail():
    cut = "x" * (VALUE_CHARS - 7) + "ada@example.test"

    shown = preview(cut, text=hide_mail)

    assert isinstance(shown, dict)
    assert shown["truncated"] is True
    assert "ada" not in str(shown["preview"])
    assert str(shown["preview"]).startswith("xxx")
