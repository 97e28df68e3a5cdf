"""How a session id looks, whose it is, and when its expiry moves."""

import hashlib
from dataclasses import replace

import pytest

from turnwire.admission.principal import OPERATOR, Principal
from turnwire.admission.sessions import (
    SessionPolicy,
    anonymous,
    digest,
    new_session,
    recognise,
    renewal,
)
from turnwire.errors import SessionRequired

APPLICATION = Principal(id="key:1", scopes=frozenset({"chat", "review"}))
POLICY = SessionPolicy(seconds=1000)
NOW = 1_800_000_000_000


def test_a_session_is_kept_as_a_hash_of_256_random_bits():
    session_id, record = new_session(APPLICATION, POLICY, now=NOW)
    assert len(session_id) == 43
    assert record.session_hash == hashlib.sha256(session_id.encode()).hexdigest()
    assert digest(session_id) == record.session_hash
    assert session_id not in repr(record)
    assert record.expires_ms == NOW + 1_000_000
    ids = {new_session(APPLICATION, POLICY, now=NOW)[1].member for _ in range(100)}
    assert len(ids) == 100


def test_a_member_may_chat_and_nothing_else_whatever_the_application_may():
    _, record = new_session(OPERATOR, POLICY, now=NOW)
    member = recognise(OPERATOR, record)
    assert [each for each in ("chat", "review", "studio", "admin") if each in member.scopes] == [
        "chat"
    ]
    assert (member.id, member.application, member.is_member) == (record.member, "operator", True)
    reviewer = Principal(id="key:2", scopes=frozenset({"review"}))
    assert not anonymous(reviewer).may("chat")


def test_a_session_of_another_application_is_refused_as_an_unknown_one_is():
    _, record = new_session(APPLICATION, POLICY, now=NOW)
    said: set[str] = set()
    for application, session in (
        (APPLICATION, None),
        (Principal(id="key:2", scopes=APPLICATION.scopes), record),
        (OPERATOR, record),
    ):
        with pytest.raises(SessionRequired) as refused:
            recognise(application, session)
        said.add(str(refused.value))
    assert len(said) == 1


@pytest.mark.parametrize("text", ["", "x", "A" * 42, "A" * 44, "A" * 42 + "\n", "A" * 42 + "é"])
def test_what_is_no_session_id_is_not_even_looked_up(text: str):
    with pytest.raises(SessionRequired):
        digest(text)


def test_nobody_is_the_same_anonymous_member_twice():
    members = {anonymous(APPLICATION).id for _ in range(100)}
    assert len(members) == 100
    assert anonymous(APPLICATION).is_ephemeral


def test_the_expiry_moves_once_in_a_twentieth_of_a_sessions_life():
    _, record = new_session(APPLICATION, POLICY, now=NOW)
    assert renewal(record, POLICY, now=NOW + 49_999) is None
    assert renewal(record, POLICY, now=NOW + 50_000) == NOW + 1_050_000
    moved = replace(record, seen_ms=NOW + 50_000)
    assert renewal(moved, POLICY, now=NOW + 99_999) is None
