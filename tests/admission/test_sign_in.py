"""Which numbers and codes are read, how a code is kept, and how often one may be asked for."""

import re

import pytest

from turnwire.admission.sign_in import (
    CodePolicy,
    charges,
    code_hash,
    ends_ms,
    new_code,
    read_code,
    read_number,
    require_room,
)
from turnwire.errors import RateLimited, RequestInvalid
from turnwire.storage.members import Charge

KEY = b"k" * 32
AT = 1_800_000_123_456
HOUR = 3_600_000


@pytest.mark.parametrize(
    "typed",
    [
        "+447700900123",
        "+44 7700 900 123",
        " +44 7700-900123 ",
        "+44 (0)7700 900123",
        "\uff0b447700900123",
        "+٤٤٧٧٠٠٩٠٠١٢٣",
        "+44\u00a07700 900123",
    ],
)
def test_a_number_is_read_however_it_is_typed(typed: str):
    assert read_number(typed) == "+447700900123"


@pytest.mark.parametrize(
    "typed",
    [
        "",
        " ",
        "+",
        "07700900123",
        "447700900123",
        "+44770",
        "+4477009001234567",
        "+0000000",
        "+1 800 FLOWERS",
        "tel:+447700900123",
        "+447700900123;ext=5",
        "+447700900123 x5",
        "+447700900123\r\nBcc: +447700900456",
        "+447700900123\n+447700900456",
        "+447700900123\0",
        "+44770090012³",
        "+" + "9" * 60,
        "<b>+447700900123</b>",
    ],
)
def test_what_is_no_number_is_refused_and_not_repeated(typed: str):
    with pytest.raises(RequestInvalid) as refused:
        read_number(typed)
    assert [each["path"] for each in refused.value.details] == ["mobile"]
    assert "+44 …" in str(refused.value)
    digits = re.findall(r"\d{4,}", str(refused.value))
    assert digits == []


def test_a_code_has_six_digits_and_is_another_each_time():
    made = {new_code() for _ in range(1000)}
    assert all(re.fullmatch(r"[0-9]{6}", each) for each in made)
    assert len(made) > 990
    assert any(each.startswith("0") for each in made)


@pytest.mark.parametrize(
    "typed", ["012345", " 012 345\n", "012-345", "٠١٢٣٤٥", "\uff10\uff11\uff12345", "०१२३४५"]
)
def test_a_code_is_read_however_it_is_typed(typed: str):
    assert read_code(typed) == "012345"


@pytest.mark.parametrize("typed", ["", "01234", "0123456", "01234S", "⁰12345", "12345", "+12345"])
def test_what_only_looks_like_a_code_is_another(typed: str):
    assert read_code(typed) != "012345"


def test_a_code_is_kept_as_what_only_key_member_number_and_code_together_give():
    def kept(key: bytes = KEY, member: str = "m", mobile: str = "+1", code: str = "123456") -> str:
        return code_hash(key, member=member, mobile=mobile, code=code)

    others = [kept(b"l" * 32), kept(member="n"), kept(mobile="+2"), kept(code="123457")]
    assert kept() == kept()
    assert kept() not in others
    assert "123456" not in kept()


def _charges(**change: str) -> list[Charge]:
    asked = {"member": "m", "mobile": "+447700900123", "address": "192.0.2.7", **change}
    return list(charges(KEY, CodePolicy(), now=AT, **asked))


def test_asking_for_a_code_counts_for_number_session_and_address():
    assert [each.messages for each in _charges()] == [5, 5, 100]
    assert {(each.start_ms, each.window_ms) for each in _charges()} == {(AT - AT % HOUR, HOUR)}
    told = str(_charges(member="member:canary"))
    assert not [each for each in ("7700900123", "192.0.2.7", "canary") if each in told]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.7", "192.0.2.8", False),
        ("192.0.2.7", "::ffff:192.0.2.7", True),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("", "testclient", False),
    ],
)
def test_whoever_has_one_address_of_a_network_has_them_all(one: str, other: str, same: bool):
    subjects = [_charges(address=each)[2].subject for each in (one, other)]
    assert (subjects[0] == subjects[1]) is same


def test_over_a_limit_the_wait_is_until_the_last_full_window_ends():
    require_room([], now=AT)
    with pytest.raises(RateLimited) as refused:
        require_room(_charges(), now=AT)
    assert refused.value.retry_after == (HOUR - AT % HOUR) / 1000
    assert "code" in str(refused.value)


def test_a_sign_in_ends_with_its_credential_or_its_session():
    assert [ends_ms(None, 9), ends_ms(5, 9), ends_ms(12, 9)] == [9, 5, 9]
