"""What leaves a redactor is the redaction of the whole text, wherever the text is cut."""

from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwire.nodes.guardrails.pii import DEFAULT_KINDS, PiiKind
from turnwire.nodes.guardrails.redactor import LIMIT, Masking, Redactor, known_values, mask

ALL: tuple[PiiKind, ...] = (*DEFAULT_KINDS, "IP")
MASKING = Masking(dict.fromkeys(ALL, "redact"))
# BL-35 of the field cases.
MIXED = (
    "Mail ada@example.test or card 4111 1111 1111 1111, IBAN ES91 2100 0418 4502 0005 1332, "
    "+1 202-555-0143 now"
)
VALUES = {
    "EMAIL": [
        "ada@example.test",
        "ada.lovelace+x@mail.example.co.uk",
        "jos\u00e9@correo.example.es",
    ],
    "PHONE": [
        "+1 202-555-0143",
        "(202) 555-0143",
        "612345678",
        "91 123 45 67",
        "0044 20 7946 0958",
    ],
    "CARD": ["4111 1111 1111 1111", "5500-0000-0000-0004", "378282246310005"],
    "IBAN": [
        "ES91 2100 0418 4502 0005 1332",
        "DE89370400440532013000",
        "MT84MALT011000012345MTLCAST001S",
    ],
    "NATIONAL_ID": [
        "12345678Z",
        "X 1234567-L",
        "12.345.678-Z",
        "BOXW310820HNERXN09",
        "JG 10 37 59 A",
    ],
    "SSN": ["536-90-4399", "536 90 4399"],
    "IP": ["8.8.8.8", "2001:4860:4860::8888"],
}
RAW = [each for values in VALUES.values() for each in values]
ARABIC = str.maketrans("0123456789", "\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669")
BOLD = str.maketrans({str(n): chr(0x1D7CE + n) for n in range(10)})
WIDE = str.maketrans({chr(n): chr(n + 0xFEE0) for n in range(0x21, 0x7F)} | {" ": "\u3000"})
DASHED = str.maketrans(" -", "\u2009\u2011")


def streamed(pieces: Sequence[str], masking: Masking = MASKING) -> str:
    redactor = Redactor(masking)
    return "".join([*map(redactor.feed, pieces), redactor.flush()])


def pieces_of(text: str, cuts: Sequence[int]) -> list[str]:
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def test_a_whole_text_is_masked_by_kind():
    masked = mask(MIXED, MASKING)

    assert masked.text == "Mail [EMAIL] or card [CARD], IBAN [IBAN], [PHONE] now"
    assert masked.kinds == ("EMAIL", "CARD", "IBAN", "PHONE")


def test_a_cut_at_any_position_changes_nothing():
    whole = mask(MIXED, MASKING).text
    assert {streamed(pieces_of(MIXED, [at])) for at in range(len(MIXED))} == {whole}


def test_a_cut_at_any_pair_of_positions_changes_nothing():
    whole = mask(MIXED, MASKING).text
    pairs = combinations(range(len(MIXED)), 2)
    assert {streamed(pieces_of(MIXED, each)) for each in pairs} == {whole}


@pytest.mark.parametrize(
    "form", [{}, ARABIC, BOLD, WIDE, DASHED], ids=["plain", "arabic", "bold", "wide", "dashed"]
)
@pytest.mark.parametrize(("kind", "value"), [(k, v) for k, vs in VALUES.items() for v in vs])
def test_one_character_at_a_time_nothing_of_a_value_leaves(
    kind: PiiKind, value: str, form: dict[int, int]
):
    text = f"in 2026 it is {value.translate(form)}, thanks"

    redactor = Redactor(MASKING)
    said = [*map(redactor.feed, text), redactor.flush()]

    assert "".join(said) == f"in 2026 it is [{kind}], thanks"
    assert redactor.kinds == (kind,)


@settings(max_examples=400)
@given(data=st.data())
def test_texts_of_values_and_separators_are_masked_alike_however_they_are_cut(
    data: st.DataObject,
):
    part = st.one_of(
        st.sampled_from(RAW),
        st.sampled_from(RAW).map(lambda each: each.translate(ARABIC)),
        st.sampled_from([" ", "  ", "-", " - ", ".", ", ", "\n", "/", "(", ") ", "+", "@", "[1]"]),
        st.sampled_from(
            ["in 2026 ", "y ", "X ", "ES91", "word", "\u200b", "\u00a0", "12/10/2026 "]
        ),
        st.text(alphabet="0123456789 .-/()+@aXZ:_\u00b2\u00e9\u200d", max_size=12),
    )
    text = "".join(data.draw(st.lists(part, max_size=8)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    whole = mask(text, MASKING).text

    assert streamed(pieces_of(text, cuts)) == whole
    assert streamed(list(text)) == whole


@settings(max_examples=200)
@given(text=st.text(max_size=80))
def test_any_text_at_all_is_masked_alike_one_character_at_a_time(text: str):
    assert streamed(list(text)) == mask(text, MASKING).text


def test_an_ordinary_word_leaves_as_soon_as_the_next_begins():
    redactor = Redactor(MASKING)

    assert [redactor.feed(each) for each in ("In", " 2026", " they", " only", " rest, ")] == [
        "",
        "In",
        " 2026 ",
        "they ",
        "only rest, ",
    ]


LONG_UNITS = (
    "4|4\u200b|41 |a@|a@a.|ES91 |ES9121000418450200051332 |a.|1\u2060 |:|\u200b|x|[PHONE_|+1 202-"
)


@pytest.mark.parametrize(
    "unit", [*LONG_UNITS.split("|"), "4111 1111 1111 1111 ", "91 123 45 67 91 "]
)
def test_what_is_held_back_is_bounded_whatever_comes(unit: str):
    redactor = Redactor(MASKING)
    text = (unit * 10_000)[:10_000]
    for at in range(0, len(text), 50):
        redactor.feed(text[at : at + 50])
        assert len(redactor._held) <= LIMIT  # pyright: ignore[reportPrivateUsage]
    assert len(redactor.flush()) <= LIMIT


def test_a_value_full_of_invisible_characters_is_masked_though_they_are_more_than_is_held():
    card = ("\u200b" * 400).join("4111111111111111")

    assert streamed(list(f"it is {card}, yes")) == "it is [CARD], yes"


@pytest.mark.parametrize(("value", "kind"), [("612345678", "PHONE"), ("ada@example.test", "EMAIL")])
def test_a_kind_that_is_left_alone_stays_and_another_goes(value: str, kind: PiiKind):
    masking = Masking({kind: "none", "CARD": "redact"})

    assert streamed(list(f"{value} 4111111111111111")) != f"{value} [CARD]"
    assert streamed(list(f"{value} 4111111111111111"), masking) == f"{value} [CARD]"


def test_a_find_that_blocks_ends_the_text_before_it():
    masking = Masking({"CARD": "block", "PHONE": "redact"})
    text = "call 612345678 or pay 4111 1111 1111 1111 today, or call 612345678"

    redactor = Redactor(masking)
    said = "".join([*map(redactor.feed, text), redactor.flush()])

    assert said == mask(text, masking).text == "call [PHONE] or pay "
    assert (redactor.blocked, redactor.kinds) == ("CARD", ("PHONE", "CARD"))


@pytest.mark.parametrize("written", ["+34 612 34 56 78", "612-345-678", "0034612345678"])
def test_a_value_that_may_be_said_is_said_however_it_is_grouped(written: str):
    known = known_values(["call 612 34 56 78 any day"], MASKING)
    masking = Masking(MASKING.actions, known=known)

    assert (
        streamed(list(f"call {written} or 91 123 45 67."), masking) == f"call {written} or [PHONE]."
    )


def test_what_is_held_back_at_a_break_off_is_not_said():
    redactor = Redactor(MASKING)

    assert "".join(map(redactor.feed, "card 4111 1111 1111 11")) == "card "


def test_values_that_may_be_said_are_not_shown_in_logs():
    known = known_values(["call 612345678"], MASKING)

    assert "12345678" not in repr(Masking(known=known))
