"""On whose behalf a request is made, with a clock that the test moves."""

import pytest
from starlette.requests import Request

from turnwire.admission.api_keys import KeyPolicy, new_key
from turnwire.admission.rates import LocalRates
from turnwire.admission.sessions import SessionPolicy
from turnwire.errors import Forbidden, InvalidApiKey, SessionRequired, StorageUnavailable
from turnwire.server.access import Access, AccessPolicy
from turnwire.server.callers import Callers
from turnwire.server.key_watch import KeyWatch
from turnwire.storage.memory import MemoryStore

pytestmark = pytest.mark.anyio

KEYS = KeyPolicy()
HOUR = 3_600_000


class Stage:
    """A store, a clock, an application with a key, and the callers that are looked at."""

    def __init__(self, store: MemoryStore, *scopes: str) -> None:
        self.store = store
        self.now = 1_800_000_000_000
        self.key, self.record = new_key(KEYS, name="a test", scopes=scopes, now=self.now)
        access = Access(
            store,
            AccessPolicy(keys=KEYS, cookies=False),
            rates=LocalRates(),
            watch=KeyWatch(store, now=lambda: self.now),
            now=lambda: self.now,
        )
        policy = SessionPolicy(seconds=3600)
        self.callers = Callers(access, store, policy, now=lambda: self.now)

    async def mint(self) -> str:
        return (await self.callers.mint(self.request()))[0]

    def request(self, *sessions: str, key: str | None = None) -> Request:
        headers = [(b"authorization", f"Bearer {key or self.key}".encode())]
        headers += [(b"x-turnwire-session", each.encode()) for each in sessions]
        return Request({"type": "http", "method": "POST", "path": "/", "headers": headers})


async def staged(*scopes: str, store: MemoryStore | None = None) -> Stage:
    stage = Stage(store or MemoryStore(), *(scopes or ("chat",)))
    await stage.store.add_key(stage.record)
    return stage


async def test_without_a_session_the_member_is_somebody_new_at_each_call():
    stage = await staged()
    first, second = [await stage.callers.member(stage.request()) for _ in range(2)]
    assert first.id != second.id
    assert first.is_ephemeral
    assert first.application == f"key:{stage.record.key_id}"
    assert (await stage.callers.require(stage.request())).id == first.application


async def test_with_a_session_the_member_is_the_same_on_every_wire():
    stage = await staged()
    session = await stage.mint()
    by_answer = await stage.callers.member(stage.request(session), signed=True)
    by_execution = await stage.callers.require(stage.request(session))
    assert by_answer == by_execution
    assert by_answer.is_member
    assert not by_answer.is_ephemeral


async def test_where_a_session_is_needed_none_is_refused():
    stage = await staged()
    with pytest.raises(SessionRequired):
        await stage.callers.member(stage.request(), signed=True)
    with pytest.raises(SessionRequired):
        await stage.callers.member(stage.request("A" * 43))


async def test_the_key_is_looked_at_before_the_session():
    stage = await staged("review")
    with pytest.raises(Forbidden):
        await stage.callers.member(stage.request("A" * 43))
    with pytest.raises(InvalidApiKey):
        await stage.callers.require(stage.request("A" * 43, key="wrong"))


async def test_a_session_in_use_never_ends_and_one_that_is_not_ends_at_its_time():
    stage = await staged()
    used, unused = await stage.mint(), await stage.mint()
    begun = stage.now
    while stage.now < begun + 10 * HOUR:
        stage.now += HOUR // 30
        await stage.callers.require(stage.request(used))
    with pytest.raises(SessionRequired):
        await stage.callers.require(stage.request(unused))
    stage.now += HOUR - HOUR // 20
    await stage.callers.require(stage.request(used))
    stage.now += HOUR
    with pytest.raises(SessionRequired):
        await stage.callers.require(stage.request(used))


class Counting(MemoryStore):
    """Counts what is written of sessions; fails where it is told to."""

    written = 0
    fails = False

    async def renew_session(self, session_hash: str, *, now: int, expires_ms: int) -> None:
        if self.fails:
            raise StorageUnavailable
        self.written += 1
        await super().renew_session(session_hash, now=now, expires_ms=expires_ms)


async def test_using_a_session_writes_once_in_a_while():
    store = Counting()
    stage = await staged(store=store)
    session = await stage.mint()
    for _ in range(1000):
        stage.now += 1000
        await stage.callers.require(stage.request(session))
    assert store.written == 1_000_000 // (HOUR // 20)


async def test_a_session_that_cannot_be_renewed_is_good_until_its_time():
    store = Counting()
    stage = await staged(store=store)
    session = await stage.mint()
    store.fails = True
    stage.now += HOUR - 1
    assert (await stage.callers.require(stage.request(session))).is_member
