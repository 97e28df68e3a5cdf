"""Personal data is found where a checksum, a plan or a format holds, and nowhere else."""

import random

import pytest

from turnwire.nodes.answer.placeholders import Restorer
from turnwire.nodes.guardrails.pii import DEFAULT_KINDS, Span, find, redact

ALL = (*DEFAULT_KINDS, "IP")


def found(text: str) -> list[tuple[str, str]]:
    return [(each.kind, text[each.start : each.end]) for each in find(text, kinds=ALL)]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("EMAIL", "ada@example.test"),
        ("EMAIL", "ada.lovelace+news@mail.example.co.uk"),
        ("EMAIL", "josé@correo.example.es"),
        ("PHONE", "+1 202-555-0143"),
        ("PHONE", "(202) 555-0143"),
        ("PHONE", "+34 612 34 56 78"),
        ("PHONE", "612345678"),
        ("PHONE", "91 123 45 67"),
        ("PHONE", "020 7946 0958"),
        ("PHONE", "+49 30 901820"),
        ("PHONE", "+447700900101"),
        ("PHONE", "+44 7700 900101"),
        ("PHONE", "+52 55 1234 5678"),
        ("PHONE", "0044 20 7946 0958"),
        ("CARD", "4111 1111 1111 1111"),
        ("CARD", "5500-0000-0000-0004"),
        ("CARD", "378282246310005"),
        ("IBAN", "ES91 2100 0418 4502 0005 1332"),
        ("IBAN", "DE89370400440532013000"),
        ("IBAN", "GB29 NWBK 6016 1331 9268 19"),
        ("NATIONAL_ID", "12345678Z"),
        ("NATIONAL_ID", "BOXW310820HNERXN09"),
        ("NATIONAL_ID", "boxw310820hnerxn09"),
        ("NATIONAL_ID", "JG103759A"),
        ("NATIONAL_ID", "JG 10 37 59 A"),
        ("NATIONAL_ID", "X1234567L"),
        ("SSN", "536-90-4399"),
        ("IP", "8.8.8.8"),
        ("IP", "2001:4860:4860::8888"),
    ],
)
def test_a_value_is_found_between_words(kind: str, value: str):
    assert found(f"it is {value} as of 2026, thanks") == [(kind, value)]
    assert found(value) == [(kind, value)]
    assert found(f"({value}).")[0][0] == kind


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1112",
        "ES92 2100 0418 4502 0005 1332",
        "12345678A",
        "000-12-3456",
        "ada@localhost",
        "@handle and a@ b",
        "10.0.0.1 and version 1.2.3",
        "call 112 or 911",
        "500 mg three times a day, 120/80",
        "on 2026-10-12 14:30",
        "12/10/2026 09",
        "order 1234567890123456",
        "ISBN 978-3-16-148410-0",
        "ISBN 978-3-16-148410-0, page 212",
        "BOXW310820HNERXN08",
        "GB103759A and BG103759A",
        "pi is 3.14159265358979",
        "1,234,567,890",
        "123-456-7890",
        "sha 4111111111111111abc",
        "yes",
    ],
)
def test_what_only_looks_alike_is_left_alone(text: str):
    assert found(text) == []


def test_a_year_before_a_card_hides_nothing():
    assert found("2026 4111 1111 1111 1111") == [("CARD", "4111 1111 1111 1111")]


def test_words_after_an_iban_are_kept():
    assert found("ES91 2100 0418 4502 0005 1332 PLEASE CALL") == [
        ("IBAN", "ES91 2100 0418 4502 0005 1332")
    ]


def test_of_overlapping_finds_the_longest_stays():
    text = "mail 612345678@example.test"

    assert found(text) == [("EMAIL", "612345678@example.test")]


def test_invisible_and_full_width_characters_hide_nothing():
    for unseen in ("\u200b", "\u034f", "\u2066", "\u3164", "\U000e0100"):
        card = f"41{unseen}11 1111 1111 1111"
        assert found(card) == [("CARD", card)]
    wide = "".join(chr(ord(each) + 0xFEE0) for each in "4111111111111111")
    assert found(wide) == [("CARD", wide)]


def test_all_values_of_a_text_are_replaced_and_restored():
    text = "Mail ada@example.test or card 4111 1111 1111 1111, IBAN, +1 202-555-0143 now"

    redaction = redact(text)

    assert redaction.text == "Mail [EMAIL_1] or card [CARD_1], IBAN, [PHONE_1] now"
    assert redaction.kinds == ("EMAIL", "CARD", "PHONE")
    assert Restorer(redaction.mapping).feed(redaction.text) == text


def test_a_value_keeps_its_placeholder_in_later_messages():
    first = redact("call 612345678")
    second = redact("no, 91 123 45 67, not 612345678", mapping=first.mapping)

    assert second.text == "no, [PHONE_2], not [PHONE_1]"
    assert dict(second.mapping) == {"[PHONE_1]": "612345678", "[PHONE_2]": "91 123 45 67"}


def test_a_placeholder_that_a_member_wrote_is_never_given_out():
    redaction = redact("[PHONE_1] is not 612345678")

    assert redaction.text == "[PHONE_1] is not [PHONE_2]"
    assert Restorer(redaction.mapping).feed(redaction.text) == "[PHONE_1] is not 612345678"


def test_restoring_does_not_read_what_it_restored():
    assert Restorer({"[PHONE_1]": "[CARD_1]", "[CARD_1]": "no"}).feed("[PHONE_1]") == "[CARD_1]"


def test_the_mapping_is_not_shown_in_logs():
    assert "612345678" not in repr(redact("call 612345678"))


def test_a_card_after_a_flood_of_digits_is_found():
    flood = " ".join(f"{each:02}" for each in random.Random(3).choices(range(100), k=10_000))

    assert find(flood + "; 4111111111111111.")[-1] == Span(len(flood) + 2, len(flood) + 18, "CARD")


@pytest.mark.parametrize(
    "unit", ["1", "a@", "a", "ES91 ", "+1202 ", "4111 ", "a.", "1a", ":", "[PHONE_", "a-"]
)
def test_two_hundred_thousand_characters_of_one_kind_are_searched(unit: str):
    text = (unit * 200_000)[:200_000]

    assert find(text, kinds=ALL) == ()


def test_only_the_wanted_kinds_are_found():
    assert redact("612345678 ada@example.test", kinds=("EMAIL",)).text == "612345678 [EMAIL_1]"


def test_phone_numbers_without_country_code_follow_the_regions():
    assert redact("call 202-555-0143", regions=("ES",)).text == "call 202-555-0143"
    assert redact("call 202-555-0143", regions=("US",)).text == "call [PHONE_1]"
