"""Details are found in the member's words, and never made up."""

import pytest

from turnwire.agents.member.slots import address, country, details


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
        ("I have moved: 5 Mill Lane, York, YO1 7HH", "5 Mill Lane|York|YO1 7HH|None"),
    ],
)
def test_an_address_is_read_in_its_parts(text: str, found: str):
    told = address(text)
    names = ("line1", "city", "postcode", "country")
    assert "|".join(str(told.get(each)) for each in names) == found


def test_a_second_line_of_an_address_is_kept():
    assert address("Flat 2, 12 High Street, Leeds LS1 4AP")["line2"] == "12 High Street"


def test_where_there_is_no_postcode_there_is_no_address():
    assert details("change_address", "Update my address please") == {}


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
    ],
)  # fmt: skip
def test_a_calls_reason_and_time_are_told_apart(text: str, reason: str | None, time: str | None):
    told = details("request_callback", text)
    assert (told.get("reason"), told.get("preferred_time")) == (reason, time)


def test_a_claims_reference_is_written_as_the_portal_does_and_a_postcode_is_none():
    assert details("get_claim_status", "any news of clm 2026-1090?") == {
        "reference": "CLM-2026-1090"
    }
    assert details("get_claim_status", "I live in LS1 4AP, flat 12345") == {}
