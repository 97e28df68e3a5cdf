"""What every store has to do about sign-ins, as checks like those of ``conformance``."""

import asyncio
from dataclasses import replace
from typing import Final

from turnwire.storage.base import Store
from turnwire.storage.conformance import Check
from turnwire.storage.members import Charge, SessionRecord, Used
from turnwire.storage.sign_ins import CodeRecord, CredentialRecord

_AT: Final = 1_800_000_000_000
_HOUR: Final = 3_600_000

_CODE: Final = CodeRecord(
    member="member:1", session_hash="s1", code_hash="right", expires_ms=_AT + 300, tries=5
)
_CREDENTIAL: Final = CredentialRecord(member="member:1", session_hash="s1", sealed="sealed")


async def _session(store: Store, name: str = "1", *, lives: int = 1000) -> None:
    session = SessionRecord(
        session_hash=f"s{name}",
        member=f"member:{name}",
        application="key:1",
        created_ms=_AT,
        seen_ms=_AT,
        expires_ms=_AT + lives,
    )
    await store.add_session(session)


async def _asked(store: Store, code: CodeRecord = _CODE) -> None:
    await store.put_code(code, now=_AT)


async def _signed_in(store: Store, record: CredentialRecord = _CREDENTIAL) -> None:
    code = replace(_CODE, member=record.member, session_hash=record.session_hash)
    await _asked(store, code)
    assert await store.take_code(record.member, ["right"], now=_AT) == "right"
    assert await store.keep_credential(record, "right", now=_AT)


async def of_many_right_codes_at_once_one_is_taken(store: Store) -> None:
    """Two hundred answers, one winner, and the code is good for nobody afterwards."""
    await _session(store)
    await _asked(store)
    tries = (store.take_code("member:1", ["old", "right"], now=_AT) for _ in range(200))
    assert sorted(map(str, await asyncio.gather(*tries))) == ["None"] * 199 + ["right"]
    assert await store.take_code("member:1", ["right"], now=_AT) is None


async def five_wrong_codes_at_the_most_are_listened_to(store: Store) -> None:
    """After as many wrong answers as there are tries, also at once, the right one is refused."""
    await _session(store)
    await _asked(store)
    for _ in range(4):
        assert await store.take_code("member:1", ["wrong"], now=_AT) is None
    assert await store.take_code("member:1", ["right"], now=_AT) == "right"

    await _asked(store)
    tries = (store.take_code("member:1", ["wrong"], now=_AT) for _ in range(50))
    assert set(await asyncio.gather(*tries)) == {None}
    assert await store.take_code("member:1", ["right"], now=_AT) is None
    await _asked(store)
    assert await store.take_code("member:1", ["right"], now=_AT) == "right"


async def a_code_is_its_members_and_ends_at_its_millisecond(store: Store) -> None:
    """Nobody else's answer counts, and after its time none does."""
    await _session(store)
    await _session(store, "2")
    await _asked(store)
    assert await store.take_code("member:2", ["right"], now=_AT) is None
    assert await store.take_code("member:1", ["right"], now=_AT + 300) is None
    assert await store.take_code("member:1", ["right"], now=_AT + 299) == "right"


async def a_new_code_replaces_the_one_before(store: Store) -> None:
    """Also one that was taken: what it was taken for is not kept any more."""
    await _session(store)
    await _asked(store)
    await _asked(store, replace(_CODE, code_hash="newer"))
    assert await store.take_code("member:1", ["right"], now=_AT) is None
    assert await store.take_code("member:1", ["newer"], now=_AT) == "newer"

    await _asked(store)
    assert not await store.keep_credential(_CREDENTIAL, "newer", now=_AT)
    assert not await store.keep_credential(_CREDENTIAL, "right", now=_AT)
    assert await store.credential("member:1", now=_AT) is None


async def a_code_that_is_given_back_can_be_taken_again(store: Store) -> None:
    """Its tries and its expiry are as they were."""
    await _session(store)
    await _asked(store)
    await store.take_code("member:1", ["right"], now=_AT)
    await store.give_back_code("member:1", "other")
    assert await store.take_code("member:1", ["right"], now=_AT) is None
    await store.give_back_code("member:1", "right")
    assert await store.take_code("member:1", ["right"], now=_AT + 300) is None
    assert await store.take_code("member:1", ["right"], now=_AT + 299) == "right"


async def a_credential_is_kept_once_for_a_taken_code(store: Store) -> None:
    """Not for one that nobody has taken, and not twice; a later one takes its place."""
    await _session(store)
    await _asked(store)
    assert not await store.keep_credential(_CREDENTIAL, "right", now=_AT)
    await _signed_in(store)
    assert not await store.keep_credential(_CREDENTIAL, "right", now=_AT)
    assert await store.credential("member:1", now=_AT) == _CREDENTIAL

    later = replace(_CREDENTIAL, sealed="later", expires_ms=_AT + 50)
    await _signed_in(store, later)
    assert await store.credentials() == [later]


async def whoever_signs_out_while_a_credential_is_fetched_stays_signed_out(store: Store) -> None:
    """Signing out takes the code along that was taken."""
    await _session(store)
    await _asked(store)
    await store.take_code("member:1", ["right"], now=_AT)
    await store.sign_out("member:1")
    assert not await store.keep_credential(_CREDENTIAL, "right", now=_AT)
    assert await store.credentials() == []


async def a_credential_ends_with_its_session_or_by_itself(store: Store) -> None:
    """It is told until the earlier of both, and is gone from the store when a session is made."""
    await _session(store, lives=100)
    await _session(store, "2")
    own = CredentialRecord(member="member:2", session_hash="s2", sealed="own", expires_ms=_AT + 200)
    await _signed_in(store)
    await _signed_in(store, own)

    assert await store.credential("member:1", now=_AT + 99) == _CREDENTIAL
    assert await store.credential("member:1", now=_AT + 100) is None
    assert await store.credential("member:2", now=_AT + 199) == own
    assert await store.credential("member:2", now=_AT + 200) is None
    newer = SessionRecord(
        session_hash="s3",
        member="member:3",
        application="key:1",
        created_ms=_AT + 150,
        seen_ms=_AT,
        expires_ms=_AT + 999,
    )
    await store.add_session(newer)
    assert await store.credentials() == [own]
    await store.put_code(replace(_CODE, member="member:3", session_hash="s3"), now=_AT + 200)
    assert await store.credentials() == []


async def a_credential_goes_on_with_its_renewed_session(store: Store) -> None:
    """It is the session's expiry that counts, not what it was at the sign-in."""
    await _session(store, lives=100)
    await _signed_in(store)
    await store.renew_session("s1", now=_AT + 50, expires_ms=_AT + 500)
    assert await store.credential("member:1", now=_AT + 499) == _CREDENTIAL
    assert await store.credential("member:1", now=_AT + 500) is None


async def no_credential_is_kept_for_a_session_that_is_over(store: Store) -> None:
    """It may have ended while the credential was fetched."""
    await _session(store, lives=100)
    await _asked(store)
    await store.take_code("member:1", ["right"], now=_AT)
    assert not await store.keep_credential(_CREDENTIAL, "right", now=_AT + 100)
    assert await store.credentials() == []


async def only_what_was_looked_at_is_sealed_anew_or_dropped(store: Store) -> None:
    """A credential that has come in the meantime stays."""
    await _session(store)
    await _signed_in(store)
    await store.reseal_credential("member:1", "earlier", "x")
    await store.drop_credential("member:1", "earlier")
    assert await store.credential("member:1", now=_AT) == _CREDENTIAL
    await store.reseal_credential("member:1", "sealed", "anew")
    assert await store.credential("member:1", now=_AT) == replace(_CREDENTIAL, sealed="anew")
    await store.drop_credential("member:1", "anew")
    assert await store.credential("member:1", now=_AT) is None


async def signing_out_is_ones_own(store: Store) -> None:
    """Another member's credential and code stay."""
    await _session(store)
    await _session(store, "2")
    other = CredentialRecord(member="member:2", session_hash="s2", sealed="other")
    await _signed_in(store)
    await _signed_in(store, other)
    await _asked(store, replace(_CODE, member="member:2", session_hash="s2"))
    await store.sign_out("member:1")
    assert await store.credentials() == [other]
    assert await store.take_code("member:2", ["right"], now=_AT) == "right"


async def what_is_no_turn_is_charged_to_every_window_or_to_none(store: Store) -> None:
    """Of a hundred at once as many pass as there is room for; the full windows are told."""

    def window(subject: str, limit: int, *, start: int = 0) -> Charge:
        return Charge(subject=subject, window_ms=_HOUR, start_ms=start, messages=limit)

    narrow, wide = window("sign_in:a", 5), window("sign_in:b", 1000)
    told = await asyncio.gather(*(store.charge([narrow, wide]) for _ in range(100)))
    assert told.count(()) == 5
    assert told.count((narrow,)) == 95
    assert await store.used([narrow, wide]) == (Used(5, 0), Used(5, 0))
    assert await store.charge([window("sign_in:a", 5, start=_HOUR)]) == ()


CHECKS: Final[tuple[Check, ...]] = (
    of_many_right_codes_at_once_one_is_taken,
    five_wrong_codes_at_the_most_are_listened_to,
    a_code_is_its_members_and_ends_at_its_millisecond,
    a_new_code_replaces_the_one_before,
    a_code_that_is_given_back_can_be_taken_again,
    a_credential_is_kept_once_for_a_taken_code,
    whoever_signs_out_while_a_credential_is_fetched_stays_signed_out,
    a_credential_ends_with_its_session_or_by_itself,
    a_credential_goes_on_with_its_renewed_session,
    no_credential_is_kept_for_a_session_that_is_over,
    only_what_was_looked_at_is_sealed_anew_or_dropped,
    signing_out_is_ones_own,
    what_is_no_turn_is_charged_to_every_window_or_to_none,
)
"""Every check, each to be given a new store."""
