"""What admission takes on SQLite: a key, a session, two allowances and a conversation's owner.

    python -m bench.admission          # a few seconds, no server

Everything from the request's headers to the decision is measured, without the turn that would
follow. The aim of the project is 1.5 ms at the median.
"""

import asyncio
import tempfile
import time
from pathlib import Path
from statistics import quantiles
from typing import Final

from starlette.requests import Request

from turnwire.admission.api_keys import KeyPolicy, new_key
from turnwire.admission.decide import Ask, Begin, admit
from turnwire.admission.quota import Allowance, QuotaPolicy
from turnwire.admission.rates import LocalRates
from turnwire.admission.sessions import SessionPolicy
from turnwire.clock import system_now
from turnwire.server.access import Access, AccessPolicy
from turnwire.server.callers import Callers
from turnwire.server.key_watch import KeyWatch
from turnwire.storage.base import ConversationFacts
from turnwire.storage.conformance import Script
from turnwire.storage.sql import SqliteStore

WANTED_MS: Final = 1.5
_TURNS: Final = 50
"""Turns that the conversation has had."""
_WARM: Final = 200
_MEASURED: Final = 2000
_ALLOWANCE: Final = Allowance(messages=1_000_000, tokens=1_000_000_000)
_QUOTAS: Final = QuotaPolicy(member=_ALLOWANCE, key=_ALLOWANCE)


async def measure(folder: Path) -> list[float]:
    """Return how long each admission took, in milliseconds."""
    store, keys = SqliteStore(folder / "turnwire.db"), KeyPolicy()
    await store.open()
    key, record = new_key(keys, name="bench", scopes=("chat",), now=system_now())
    await store.add_key(record)
    access = Access(
        store,
        AccessPolicy(keys=keys, cookies=False),
        rates=LocalRates(),
        watch=KeyWatch(store, now=system_now),
        now=system_now,
    )
    callers = Callers(access, store, SessionPolicy(), now=system_now)
    session_id, _ = await callers.mint(_request(key))
    member = await callers.require(_request(key, session_id))
    script = Script()
    for earlier in range(_TURNS):
        script = Script(conversation_id=script.conversation_id)
        charges = _QUOTAS.charges(member, now=system_now())
        turns = earlier or None
        await store.begin(script.opening(earlier_turns=turns, principal=member.id, charges=charges))
        await store.append(script.complete("Rest."))
    took: list[float] = []
    for _ in range(_WARM + _MEASURED):
        began = time.perf_counter()
        caller, now = await callers.require(_request(key, session_id)), system_now()
        ask = Ask(
            principal=caller.id,
            conversation_id=script.conversation_id,
            agent="helper",
            if_busy="reject",
            body_hash="",
            now=now,
            charges=_QUOTAS.charges(caller, now=now),
        )
        facts: ConversationFacts = await store.facts(
            ask.principal, ask.conversation_id, "a key that is new", charges=ask.charges
        )
        assert isinstance(admit(ask, facts), Begin)
        took.append((time.perf_counter() - began) * 1000)
    await store.close()
    return took[_WARM:]


def _request(key: str, *sessions: str) -> Request:
    headers = [(b"authorization", f"Bearer {key}".encode())]
    headers += [(b"x-turnwire-session", each.encode()) for each in sessions]
    return Request({"type": "http", "method": "POST", "path": "/chat", "headers": headers})


def percentiles_ms() -> list[float]:
    """Return the percentiles from 1 to 99 of a new measurement, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        return quantiles(asyncio.run(measure(Path(folder))), n=100)


def middle_ms() -> float:
    """Return the median of a new measurement, in milliseconds."""
    return percentiles_ms()[49]


def main() -> None:
    """Measure and print."""
    parts = percentiles_ms()
    middle = parts[49]
    verdict = "met" if middle <= WANTED_MS else "missed"
    print(f"admission: p50 {middle:.2f} ms (aim {WANTED_MS} ms: {verdict}), p99 {parts[98]:.2f} ms")


if __name__ == "__main__":
    main()
