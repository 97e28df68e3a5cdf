"""Details are found in the member's words, and never made up."""

import pytest

from turnwire.agents.member.addresses import address, country
from turnwire.agents.member.phrasings import shipped_phrasings
from turnwire.agents.member.slots import details, told

PHRASINGS = shipped_phrasings()


def asks(clause: str) -> bool:
    return "request_callback" in PHRASINGS.rules_for(clause)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "Change my address to 12 High Street, Leeds, LS1 4AP, United Kingdom",
            "12 High Street|Leeds|LS1 4AP|United Kingdom",
        ),
        (
            "My new address is 3 Park Road in Bath BA1 1AA UK",
            "3 Park Road|Bath|BA1 1AA|United Kingdom",
        ),
        ("Me he mudado: Calle Sol 5, 28013 Madrid, España", "Calle Sol 5|Madrid|28013|Spain"),
        ("I have moved: 5 Mill Lane, York, YO1 7HH", "5 Mill Lane|York|YO1 7HH|United Kingdom"),
    ],
)
def test_an_address_is_read_in_its_parts(text: str, found: str):
    told = address(text)
    names = ("line1", "city", "postcode", "country")
    assert "|".join(str(told.get(each)) for each in names) == found


@pytest.mark.parametrize(
    ("text", "line1", "line2"),
    [
        ("Flat 2, 12 High Street, Leeds LS1 4AP", "12 High Street", "Flat 2"),
        ("Calle Mayor 5, 2º B, 50001 Zaragoza", "Calle Mayor 5", "2º B"),
    ],
)
def test_the_street_is_the_first_line_wherever_the_flat_stands(text: str, line1: str, line2: str):
    told = address(text)
    assert (told["line1"], told["line2"]) == (line1, line2)


@pytest.mark.parametrize("text", ["Update my address please", "I have moved", "Me he mudado"])
def test_a_wish_without_an_address_tells_none(text: str):
    assert details("change_address", text, asks=asks) == {}


@pytest.mark.parametrize(
    "messages",
    [
        ("14 Mill Road", "Leeds", "LS1 4AP"),
        ("Leeds", "it's 14 Mill Road", "LS1 4AP"),
        ("I've moved to 14 Mill Road, Leeds", "LS1 4AP, UK"),
        ("14 Mill Road\nLeeds", "ls1 4ap"),
    ],
)
def test_an_address_may_come_in_pieces_and_a_british_postcode_names_the_country(
    messages: tuple[str, ...],
):
    given: dict[str, str] = {}
    asked = "address"
    for each in messages:
        given = told("change_address", asked, each, before=given, asks=asks)
        names = ("line1", "city", "postcode", "country")
        asked = next((name for name in names if name not in given), "")
    assert given == {
        "line1": "14 Mill Road",
        "city": "Leeds",
        "postcode": "LS1 4AP",
        "country": "United Kingdom",
    }


def test_a_postcode_in_front_is_no_number_of_a_street():
    given = {"line1": "Calle Luna 3", "city": "Bilbao"}
    found = told("change_address", "postcode", "48001, España", before=given, asks=asks)
    assert found == {**given, "postcode": "48001", "country": "Spain"}


def test_a_country_that_is_none_is_asked_for_again_and_changes_nothing():
    given = {"line1": "Calle Luna 3", "city": "Bilbao", "postcode": "48001"}
    assert told("change_address", "country", "Narnia", before=given, asks=asks) == given


def test_an_answer_is_the_detail_of_a_tool_that_nothing_else_is_known_of():
    assert told("clinic_opening_hours", "day", "Monday", before={}, asks=asks) == {"day": "Monday"}


@pytest.mark.parametrize("name", ["UK", "united kingdom", "Reino Unido", "gb"])
def test_a_country_has_one_name_however_it_is_written(name: str):
    assert country(name) == "United Kingdom"


@pytest.mark.parametrize(
    ("text", "reason", "time"),
    [
        ("Call me on Monday after 5pm because it is stuck", "it is stuck", "on Monday after 5pm"),
        ("Llámenme el lunes a las 10 porque no entiendo", "no entiendo", "el lunes a las 10"),
        ("Please call me back about my bill tomorrow morning", "my bill", "tomorrow morning"),
        ("¿Me puede llamar alguien mañana por la mañana?", None, "mañana por la mañana"),
        ("Llámenme, por favor", None, None),
        ("Please call me back, my claim is stuck", "my claim is stuck", None),
        ("Llámame, por favor: mi reclamación no avanza", "mi reclamación no avanza", None),
        ("My claim is stuck. Can someone ring me?", "My claim is stuck", None),
        ("Mi factura está mal. ¿Me puede llamar alguien?", "Mi factura está mal", None),
        ("My bill is wrong so call me at noon today", "My bill is wrong", "at noon today"),
        ("Call me tomorrow after 5 pm? It's about a bill", "a bill", "tomorrow after 5 pm"),
        ("call me about a bill, ideally next week", "a bill", "next week"),
        ("¿Me llaman a las 5 de la tarde? Es por la prima", "la prima", "a las 5 de la tarde"),
        ("Could you give me a ring regarding physio, many thanks", "physio", None),
        ("Hello, I'm Daniel. Please ring me, thanks", None, None),
        ("call me back pls", None, None),
        ("please call me on 07700 900102", None, None),
    ],
)  # fmt: skip
def test_a_calls_reason_and_time_are_told_apart(text: str, reason: str | None, time: str | None):
    told = details("request_callback", text, asks=asks)
    assert (told.get("reason"), told.get("preferred_time")) == (reason, time)


def test_a_claims_reference_is_written_as_the_portal_does_and_a_postcode_is_none():
    assert details("get_claim_status", "any news of clm 2026-1090?", asks=asks) == {
        "reference": "CLM-2026-1090"
    }
    assert details("get_claim_status", "I live in LS1 4AP, flat 12345", asks=asks) == {}
