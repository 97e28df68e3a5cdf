"""Both clients sign a member in and out, with a real server."""

from collections.abc import Iterator

import pytest

from tests.client.driving import Driver
from tests.server.signing import SigningIn
from tests.sign_in.signing import KNOWN, UNKNOWN, letters
from turnwire.client import CodeAsked, Completed, Paused, Refused, Signed


@pytest.fixture(scope="module")
def signing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SigningIn]:
    with SigningIn(tmp_path_factory.mktemp("signing")) as server:
        yield server


def test_a_turn_goes_on_once_its_member_has_signed_in(driver: Driver, signing: SigningIn):
    client = driver.client(signing.url, api_key=signing.key("chat"))
    minted = driver.done(client.new_session())
    turn = client.ask("sign-in")
    driver.hear(turn)
    assert isinstance(turn.ending, Paused)
    assert turn.ending.sign_in is not None

    before = len(letters(signing.data_dir))
    assert driver.done(client.login(KNOWN)) == CodeAsked(expires_in=300)
    code = signing.letter(before)["code"]
    with pytest.raises(Refused) as refused:
        driver.done(client.verify(UNKNOWN, code))
    assert (refused.value.status, refused.value.code) == (401, "invalid_code")
    signed = driver.done(client.verify(KNOWN, code))
    assert signed == Signed(signed_in=True, expires_at=minted.expires_at)
    assert driver.done(client.signed()) == signed
    turn.resume()
    driver.hear(turn)
    assert isinstance(turn.ending, Completed)

    assert driver.done(client.logout()) == Signed(signed_in=False, expires_at=minted.expires_at)
    assert not driver.done(client.signed()).signed_in


def test_signing_in_needs_a_session(driver: Driver, signing: SigningIn):
    client = driver.client(signing.url, api_key=signing.key("chat"))
    with pytest.raises(Refused) as refused:
        driver.done(client.login(KNOWN))
    assert refused.value.code == "session_required"
