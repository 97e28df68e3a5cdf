import hashlib
import hmac
from dataclasses import replace
from itertools import count

import pytest

from tests.growth import assert_linear
from turnwire.admission import api_keys
from turnwire.admission.api_keys import (
    KeyPolicy,
    PresentedKey,
    digest,
    new_key,
    opens,
    read_bearer,
    recognise,
)
from turnwire.admission.principal import OPERATOR, SCOPES, Principal, Scope
from turnwire.errors import Forbidden, InvalidApiKey
from turnwire.storage.base import KeyRecord

TEST = KeyPolicy()
LIVE = KeyPolicy(environment="live")
KEY, RECORD = new_key(TEST, name="app", scopes=("chat",), now=1)
KEY_ID, SECRET = RECORD.key_id, "A" * 43


def test_a_new_key_is_read_and_recognised():
    presented = read_bearer(f"Bearer {KEY}", TEST)

    principal = recognise(presented, RECORD, now=1)

    assert principal == Principal(id=f"key:{RECORD.key_id}", scopes=frozenset({"chat"}))


def test_a_key_shows_its_environment_and_the_record_does_not_show_the_secret():
    assert KEY.startswith(f"tw_test_{RECORD.key_id}_")
    assert KEY.rpartition(f"{KEY_ID}_")[2] not in repr(RECORD)
    assert RECORD.secret_hash == hashlib.sha256(KEY[-43:].encode()).hexdigest()


def test_two_keys_have_nothing_in_common():
    other, record = new_key(TEST, name="app", scopes=("chat",), now=1)

    assert other != KEY
    assert (record.key_id, record.secret_hash) != (RECORD.key_id, RECORD.secret_hash)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        KEY,
        f"Basic {KEY}",
        f"Bearer  {KEY}",
        f"Bearer {KEY} ",
        f"Bearer {KEY}\n",
        f"Bearer {KEY}x",
        f"Bearer {KEY[:-1]}",
        f"Bearer {KEY}, Bearer {KEY}",
        f"Bearer xx_test_{KEY_ID}_{SECRET}",
        f"Bearer tw_prod_{KEY_ID}_{SECRET}",
        f"Bearer tw_test_{KEY_ID[:-1]}_{SECRET}",
        f"Bearer tw_test_{'é' * 16}_{SECRET}",
        f"Bearer tw_test_{KEY_ID}_{'é' * 43}",
        "Bearer tw_test_" + KEY_ID + "_" + "\uff21" * 43,
        "Bearer ses_0123456789abcdef0123456789abcdef",
        "Bearer conv_0123456789abcdef01234567",
        "Bearer " + "\x00" * 70,
        "Bearer 東京",
    ],
    ids=count(),  # the key is another one in each process, and names of tests have to be the same
)
def test_what_is_no_key_of_ours_is_refused(header: str | None):
    with pytest.raises(InvalidApiKey):
        read_bearer(header, TEST)


@pytest.mark.parametrize("filler", ["A", "tw_test_", "é", "_"])
def test_the_time_to_refuse_a_header_is_linear_in_it(filler: str):
    def refusing(header: str) -> None:
        with pytest.raises(InvalidApiKey):
            read_bearer(header, TEST)

    assert_linear(refusing, lambda size: "Bearer tw_test_" + filler * size, 125_000)


def test_the_scheme_may_be_written_in_any_case():
    assert read_bearer(f"bearer {KEY}", TEST) == read_bearer(f"Bearer {KEY}", TEST)


@pytest.mark.parametrize(("policy", "environment"), [(TEST, "live"), (LIVE, "test")])
def test_a_key_of_another_environment_is_refused(policy: KeyPolicy, environment: str):
    with pytest.raises(InvalidApiKey, match="another environment"):
        read_bearer(f"Bearer tw_{environment}_{KEY_ID}_{SECRET}", policy)


def test_the_prefix_is_the_deployments():
    policy = KeyPolicy(prefix="acme")
    key, record = new_key(policy, name="app", scopes=(), now=1)

    assert key.startswith("acme_test_")
    assert recognise(read_bearer(f"Bearer {key}", policy), record, now=1).scopes == frozenset()


def record(
    *, secret: str = SECRET, environment: str = "test", revoked_ms: int | None = None
) -> KeyRecord:
    return KeyRecord(
        key_id=KEY_ID,
        name="app",
        environment="live" if environment == "live" else "test",
        scopes=("chat",),
        secret_hash=digest(secret),
        created_ms=1,
        revoked_ms=revoked_ms,
    )


@pytest.mark.parametrize(
    "known",
    [
        None,
        record(secret="B" * 43),
        record(revoked_ms=2),
        record(environment="live"),
        record(secret=""),
    ],
    ids=["unknown", "wrong secret", "revoked", "moved", "empty"],
)
def test_every_key_that_is_not_valid_is_refused_in_the_same_words(known: KeyRecord | None):
    presented = PresentedKey("test", KEY_ID, SECRET)

    with pytest.raises(InvalidApiKey, match=r"^This API key is not valid\.$"):
        recognise(presented, known, now=1)


ROTATED = replace(record(secret="B" * 43), previous_hash=digest(SECRET), previous_until_ms=1000)


@pytest.mark.parametrize(
    ("known", "now", "taken"),
    [
        (ROTATED, 999, True),
        (ROTATED, 1000, False),
        (replace(ROTATED, previous_until_ms=None), 1, False),
        (replace(ROTATED, previous_hash=None), 1, False),
        (replace(ROTATED, revoked_ms=2), 1, False),
    ],
)
def test_the_secret_before_a_rotation_opens_until_its_millisecond(
    known: KeyRecord, now: int, taken: bool
):
    assert opens(digest(SECRET), known, now=now) is taken
    assert opens(digest("B" * 43), known, now=now) is (known.revoked_ms is None)


def test_an_unknown_key_costs_the_same_comparison_as_a_known_one(monkeypatch: pytest.MonkeyPatch):
    compared: list[tuple[int, int]] = []

    def watched(first: str, second: str) -> bool:
        compared.append((len(first), len(second)))
        return hmac.compare_digest(first, second)

    watched_pairs = [None, record(secret="B" * 43)]
    monkeypatch.setattr(api_keys, "hmac", type("hmac", (), {"compare_digest": watched}))
    for known in watched_pairs:
        with pytest.raises(InvalidApiKey):
            recognise(PresentedKey("test", KEY_ID, SECRET), known, now=1)

    assert compared == [(64, 64)] * 4


@pytest.mark.parametrize("scope", SCOPES)
def test_a_scope_is_needed_and_admin_has_them_all(scope: Scope):
    assert scope in OPERATOR.scopes
    Principal(id="key:1", scopes=frozenset({scope})).require(scope)
    Principal(id="key:1", scopes=frozenset({"admin"})).require(scope)
    with pytest.raises(Forbidden):
        Principal(id="key:1", scopes=frozenset()).require(scope)
