"""Signing in: who gets in, how often one may try, and what is kept."""

import asyncio
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from tests.sign_in.signing import AT, HOUR, KEY, KNOWN, TOKEN, UNKNOWN, Desk, desk, letters
from tests.storage.stores import KINDS, Kind
from turnwire.admission.principal import Principal
from turnwire.errors import InvalidCode, RateLimited, SignInUnavailable
from turnwire.nodes.tools.tool import Credential
from turnwire.storage.base import Store
from turnwire.storage.members import SessionRecord
from turnwire.wires.base import iso

pytestmark = pytest.mark.anyio

OTHER_KEY = Fernet.generate_key().decode()


@pytest.fixture(params=KINDS)
async def at(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Desk]:
    kind: Kind = request.param
    async with desk(tmp_path, kind) as made:
        yield made


async def _is_signed_in(at: Desk, member: str = "member:1") -> bool:
    principal = Principal(id=member, scopes=frozenset({"chat"}), vouched_by="key:1")
    return await at.service.is_signed_in(principal)


async def _refused(at: Desk, session: SessionRecord, mobile: str, code: str) -> bool:
    try:
        await at.service.verify(session, mobile, code)
    except InvalidCode:
        return True
    return False


def _wrong(code: str) -> str:
    return f"{(int(code) + 1) % 10**6:06}"


async def test_the_code_that_was_sent_signs_the_session_in(at: Desk):
    session = await at.session()
    code = await at.code(session)
    assert letters(at.folder) == [{"mobile": KNOWN, "code": code, "expires_at": iso(AT + 300_000)}]
    assert not await _is_signed_in(at)

    assert await at.service.verify(session, KNOWN, code) == session.expires_ms
    assert await _is_signed_in(at)
    assert await at.service.credential("member:1") == Credential(
        token=f"{TOKEN}-1", scopes=frozenset({"member.read", "member.write"})
    )
    assert await at.service.signed_in_until(session) == session.expires_ms


async def test_a_number_that_nobody_has_gets_no_code_and_is_asked_about_only_afterwards(at: Desk):
    at.members.delay = 0.05
    session = await at.session()
    await at.service.login(session, UNKNOWN, address="192.0.2.7")
    assert at.members.asked == []
    await at.service.settle()
    assert at.members.asked == ["knows"]
    assert letters(at.folder) == []


async def test_every_wrong_answer_is_refused_with_the_same_text(at: Desk):
    session, other = await at.session(), await at.session("2")
    code = await at.code(session)
    told: set[str] = set()
    for who, mobile, typed in (
        (session, KNOWN, _wrong(code)),
        (session, UNKNOWN, code),
        (session, KNOWN, ""),
        (other, KNOWN, code),
    ):
        with pytest.raises(InvalidCode) as refused:
            await at.service.verify(who, mobile, typed)
        told.add(str(refused.value))
    await at.service.verify(session, KNOWN, code)
    with pytest.raises(InvalidCode) as refused:
        await at.service.verify(session, KNOWN, code)
    assert told == {str(refused.value)}
    assert at.members.asked.count("token") == 1


async def test_two_hundred_right_answers_at_once_sign_in_once(at: Desk):
    session = await at.session()
    code = await at.code(session)
    refused = await asyncio.gather(*(_refused(at, session, KNOWN, code) for _ in range(200)))
    assert refused.count(False) == 1
    assert at.members.told == 1


async def test_a_hundred_guesses_at_once_are_five(at: Desk):
    session = await at.session()
    code = await at.code(session)
    wrong = _wrong(code)
    assert all(await asyncio.gather(*(_refused(at, session, KNOWN, wrong) for _ in range(100))))
    assert await _refused(at, session, KNOWN, code)
    assert not await _refused(at, session, KNOWN, await at.code(session))


async def test_four_guesses_leave_the_fifth(at: Desk):
    session = await at.session()
    code = await at.code(session)
    for _ in range(4):
        assert await _refused(at, session, KNOWN, _wrong(code))
    assert not await _refused(at, session, KNOWN, code)


async def test_a_new_code_makes_the_one_before_worthless(at: Desk):
    session = await at.session()
    first = await at.code(session)
    second = await at.code(session)
    assert first == second or await _refused(at, session, KNOWN, first)
    assert not await _refused(at, session, KNOWN, second)


@pytest.mark.parametrize(("later", "refused"), [(299_999, False), (300_000, True)])
async def test_a_code_ends_after_five_minutes_to_the_millisecond(
    at: Desk, later: int, refused: bool
):
    session = await at.session()
    code = await at.code(session)
    at.clock.now += later
    assert await _refused(at, session, KNOWN, code) is refused


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/Los_Angeles", "Pacific/Kiritimati"])
async def test_the_servers_time_zone_makes_no_difference(
    at: Desk, zone: str, monkeypatch: pytest.MonkeyPatch
):
    session = await at.session()
    at.members.expires_ms = AT + HOUR
    code = await at.code(session)
    try:
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        assert await at.service.verify(session, KNOWN, code) == AT + HOUR
        at.clock.now = AT + HOUR - 1
        assert await _is_signed_in(at)
        at.clock.now = AT + HOUR
        assert not await _is_signed_in(at)
        again = await at.code(session)
        assert letters(at.folder)[-1]["expires_at"] == iso(at.clock.now + 300_000)
        at.clock.now += 300_000
        assert await _refused(at, session, KNOWN, again)
    finally:
        monkeypatch.undo()
        time.tzset()


async def test_a_clock_that_is_set_back_locks_nobody_out(at: Desk):
    session = await at.session()
    for _ in range(5):
        await at.code(session)
    at.clock.now -= 24 * HOUR
    code = await at.code(session)
    assert code
    assert not await _refused(at, session, KNOWN, code)
    at.clock.now += 24 * HOUR
    with pytest.raises(RateLimited):
        await at.code(session)


async def test_five_codes_an_hour_are_sent_to_a_number_whoever_asks(at: Desk):
    sessions = [await at.session(str(each)) for each in range(6)]
    for each in sessions[:5]:
        assert await at.code(each, address=f"192.0.2.{each.member[-1]}")
    with pytest.raises(RateLimited) as refused:
        await at.code(sessions[5])
    at.clock.now += round((refused.value.retry_after or 0) * 1000) - 1
    with pytest.raises(RateLimited):
        await at.code(sessions[5])
    at.clock.now += 1
    assert await at.code(sessions[5])


async def test_a_session_that_asks_for_many_numbers_is_stopped_too(at: Desk):
    session = await at.session()
    for each in range(5):
        await at.code(session, f"+44770090010{each}")
    with pytest.raises(RateLimited):
        await at.code(session, "+447700900109")
    assert await at.code(await at.session("2"), KNOWN)


async def test_an_address_with_many_sessions_and_numbers_is_stopped_too(at: Desk):
    for each in range(100):
        await at.code(await at.session(str(each)), f"+4477009001{each:02}")
    newest = await at.session("new")
    with pytest.raises(RateLimited):
        await at.code(newest)
    assert await at.code(newest, address="192.0.2.8")


async def test_unknown_numbers_are_limited_as_known_ones_are(at: Desk):
    waits: list[float | None] = []
    for name, mobile in (("1", KNOWN), ("2", UNKNOWN)):
        session = await at.session(name)
        for _ in range(5):
            await at.code(session, mobile)
        with pytest.raises(RateLimited) as refused:
            await at.code(session, mobile)
        waits.append(refused.value.retry_after)
    assert waits[0] == waits[1]


async def test_a_refused_request_for_a_code_leaves_the_code_before_it(at: Desk):
    session = await at.session()
    codes = [await at.code(session) for _ in range(5)]
    with pytest.raises(RateLimited):
        await at.code(session)
    assert not await _refused(at, session, KNOWN, codes[-1])


async def test_signing_out_erases_the_credential_and_the_code(at: Desk):
    session = await at.signed_in()
    code = await at.code(session)
    await at.service.logout(session.member)
    assert not await _is_signed_in(at)
    assert await at.store.credentials() == []
    assert await _refused(at, session, KNOWN, code)


async def test_signing_out_wins_over_a_sign_in_that_is_under_way(at: Desk):
    session = await at.session()
    code = await at.code(session)
    at.members.delay = 0.1

    async def out() -> None:
        await at.members.fetching.wait()
        await at.service.logout(session.member)

    refused, _ = await asyncio.gather(_refused(at, session, KNOWN, code), out())
    assert refused
    assert not await _is_signed_in(at)


async def test_where_the_portal_is_down_the_same_code_signs_in_later(at: Desk):
    session = await at.session()
    code = await at.code(session)
    at.members.is_down = True
    for _ in range(7):
        with pytest.raises(SignInUnavailable):
            await at.service.verify(session, KNOWN, code)
    at.members.is_down = False
    assert not await _refused(at, session, KNOWN, code)


async def test_a_code_that_cannot_be_sent_is_logged_without_number_or_code(
    at: Desk, caplog: pytest.LogCaptureFixture
):
    (at.folder / "outbox").write_text("in the way")
    session = await at.session()
    await at.service.login(session, KNOWN, address="192.0.2.7")
    at.members.is_down = True
    await at.service.login(session, KNOWN, address="192.0.2.7")
    await at.service.settle()
    assert [each.message.partition(":")[0] for each in caplog.records if each.levelno > 20] == [
        "a code was not sent"
    ] * 2
    assert "7700900123" not in caplog.text


async def test_a_member_whose_number_has_gone_is_refused_as_for_a_wrong_code(at: Desk):
    session = await at.session()
    code = await at.code(session)
    at.members.numbers = ()
    assert await _refused(at, session, KNOWN, code)


async def test_a_credential_ends_by_itself_and_is_erased(at: Desk):
    at.members.expires_ms = AT + 1000
    session = await at.signed_in()
    assert await at.service.signed_in_until(session) == AT + 1000
    at.clock.now = AT + 1000
    assert await at.service.signed_in_until(session) is None
    assert not await _is_signed_in(at)
    await at.session("2")
    assert await at.store.credentials() == []


async def test_a_credential_goes_with_its_session(at: Desk):
    session = await at.session(lives=1000)
    await at.service.verify(session, KNOWN, await at.code(session))
    at.clock.now = AT + 1000
    assert not await _is_signed_in(at)
    await at.session("2")
    assert await at.store.credentials() == []


async def test_a_credential_that_the_upstream_refuses_is_erased_but_no_newer_one(at: Desk):
    session = await at.signed_in()
    first = await at.service.credential(session.member)
    assert first is not None
    await at.service.verify(session, KNOWN, await at.code(session))
    second = await at.service.credential(session.member)
    assert second is not None
    assert second.token != first.token

    await at.service.refused(session.member, first.token)
    assert await _is_signed_in(at)
    await at.service.refused(session.member, second.token)
    assert not await _is_signed_in(at)
    assert await at.store.credentials() == []


async def test_a_start_seals_with_the_first_key_what_others_sealed(at: Desk):
    await at.signed_in()
    async with at.restarted(OTHER_KEY, KEY) as both:
        assert await both.credential("member:1") is not None
    async with at.restarted(OTHER_KEY) as service:
        found = await service.credential("member:1")
        assert found is not None
        assert found.token == f"{TOKEN}-1"


async def test_a_code_that_was_sent_before_the_keys_changed_is_still_good(at: Desk):
    session = await at.session()
    code = await at.code(session)
    async with at.restarted(OTHER_KEY, KEY) as service:
        await service.verify(session, KNOWN, code)
        assert await service.credential("member:1") is not None


async def test_a_lost_key_signs_members_out_and_is_logged_once(
    at: Desk, caplog: pytest.LogCaptureFixture
):
    await at.signed_in()
    await at.signed_in("2")
    async with at.restarted(OTHER_KEY) as service:
        for _ in range(3):
            assert await service.credential("member:1") is None
    assert caplog.text.count("credentials can't be read") == 1
    assert await at.service.credential("member:1") is not None


async def _swap(store: Store) -> None:
    one, two = await store.credentials()
    await store.reseal_credential(one.member, one.sealed, two.sealed)
    await store.reseal_credential(two.member, two.sealed, one.sealed)


async def test_credentials_that_were_swapped_open_for_neither(at: Desk):
    await at.signed_in()
    await at.signed_in("2")
    await _swap(at.store)
    assert not await _is_signed_in(at, "member:1")
    assert not await _is_signed_in(at, "member:2")
    await _swap(at.store)
    assert await _is_signed_in(at, "member:1")


async def test_codes_that_are_on_their_way_arrive_before_the_service_is_closed(at: Desk):
    session = await at.session()
    at.members.delay = 0.2
    async with at.restarted(KEY) as service:
        await service.login(session, KNOWN, address="192.0.2.7")
    assert len(letters(at.folder)) == 1
    assert at.members.closed
