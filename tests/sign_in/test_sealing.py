"""Credentials at rest: nobody reads them without a key, and keys can be changed."""

import os
import stat
from pathlib import Path

import pytest
from cryptography.fernet import Fernet, InvalidToken

from turnwire.errors import SetupError
from turnwire.nodes.tools.tool import Credential
from turnwire.sign_in.sealing import KEY_FILE, Seals, is_key, own_key

CREDENTIAL = Credential(token="tok-CANARY", scopes=frozenset({"a", "b"}), expires_ms=5)


def _key() -> str:
    return Fernet.generate_key().decode()


def test_what_is_sealed_shows_nothing_and_opens_for_its_member_only():
    seals = Seals([_key()])
    sealed = seals.seal("member:1", CREDENTIAL)
    assert "CANARY" not in sealed
    assert "member:1" not in sealed
    assert seals.open(sealed, member="member:1") == CREDENTIAL
    assert seals.open(sealed, member="member:2") is None


def test_a_credential_that_was_changed_or_is_none_opens_for_nobody():
    seals = Seals([_key()])
    sealed = seals.seal("member:1", CREDENTIAL)
    flipped = sealed[:20] + ("A" if sealed[20] != "A" else "B") + sealed[21:]
    for each in (flipped, sealed[:-4], "", "x", "ü", "\ud800"):
        assert seals.open(each, member="member:1") is None


def test_the_first_key_seals_and_all_of_them_open():
    old, new = _key(), _key()
    sealed = Seals([old]).seal("member:1", CREDENTIAL)
    both = Seals([new, old])
    assert both.open(sealed, member="member:1") == CREDENTIAL
    assert Seals([new]).open(both.seal("member:1", CREDENTIAL), member="member:1") == CREDENTIAL
    assert Seals([new]).open(sealed, member="member:1") is None


def test_what_another_key_sealed_is_sealed_anew():
    old, new = _key(), _key()
    sealed = Seals([old]).seal("member:1", CREDENTIAL)
    renewed = Seals([new, old]).renewed(sealed)
    assert renewed is not None
    assert Seals([new]).open(renewed, member="member:1") == CREDENTIAL
    assert Seals([new, old]).renewed(renewed) is None
    with pytest.raises(InvalidToken):
        Seals([_key()]).renewed(sealed)


def test_codes_are_hashed_with_a_key_that_seals_nothing():
    key = _key()
    (derived,) = Seals([key]).code_keys
    assert len(derived) == 32
    assert derived != Fernet(key)._signing_key  # pyright: ignore[reportPrivateUsage]
    assert Seals([key]).code_keys == [derived]


@pytest.mark.parametrize("text", ["", "x", "a" * 43, "ü" * 44, "a" * 44 + "="])
def test_what_is_no_key_is_told(text: str):
    assert not is_key(text)
    assert is_key(_key())


def test_the_data_directory_gets_a_key_once_that_only_its_owner_reads(tmp_path: Path):
    key = own_key(tmp_path / "data")
    assert own_key(tmp_path / "data") == key
    path = tmp_path / "data" / KEY_FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == [KEY_FILE]


def test_a_key_that_others_may_read_or_that_is_none_is_refused(tmp_path: Path):
    own_key(tmp_path)
    os.chmod(tmp_path / KEY_FILE, 0o640)
    with pytest.raises(SetupError, match="chmod 600"):
        own_key(tmp_path)
    os.chmod(tmp_path / KEY_FILE, 0o600)
    (tmp_path / KEY_FILE).write_bytes(b"\xff")
    with pytest.raises(SetupError, match="delete it"):
        own_key(tmp_path)
