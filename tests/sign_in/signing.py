"""A directory of people who do not exist, and a service over a store with a clock of its own."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.fernet import Fernet

from tests.storage.stores import Kind, opened
from turnwire.admission.sign_in import CodePolicy
from turnwire.nodes.tools.tool import Credential
from turnwire.sign_in.http import Unreachable
from turnwire.sign_in.sealing import Seals
from turnwire.sign_in.senders import Outbox
from turnwire.sign_in.service import SignInService
from turnwire.storage.base import Store
from turnwire.storage.members import SessionRecord

KNOWN = "+447700900123"
UNKNOWN = "+447700900999"
TOKEN = "tok-CANARY-5d1e"
AT = 1_800_000_000_000
HOUR = 3_600_000


@dataclass
class Clock:
    now: int = AT

    def __call__(self) -> int:
        return self.now


@dataclass
class Members:
    """A directory; ``delay`` is how long it takes, in seconds."""

    numbers: tuple[str, ...] = (KNOWN,)
    expires_ms: int | None = None
    delay: float = 0
    is_down: bool = False
    asked: list[str] = field(default_factory=list[str])
    told: int = 0
    closed: bool = False
    fetching: asyncio.Event = field(default_factory=asyncio.Event)

    async def knows(self, mobile: str, /) -> bool:
        await self._answer("knows")
        return mobile in self.numbers

    async def token(self, mobile: str, /) -> Credential | None:
        self.fetching.set()
        await self._answer("token")
        if mobile not in self.numbers:
            return None
        self.told += 1
        scopes = frozenset({"member.read", "member.write"})
        return Credential(token=f"{TOKEN}-{self.told}", scopes=scopes, expires_ms=self.expires_ms)

    async def close(self) -> None:
        self.closed = True

    async def _answer(self, call: str) -> None:
        self.asked.append(call)
        await asyncio.sleep(self.delay)
        if self.is_down:
            raise Unreachable("down")


def letters(data_dir: Path) -> list[dict[str, str]]:
    """Return what lies in the outbox, oldest first."""
    found = sorted((data_dir / "outbox").glob("*.json"), key=lambda each: each.stat().st_mtime_ns)
    return [json.loads(each.read_text("utf-8")) for each in found]


@dataclass
class Desk:
    """A service, and what it is made of."""

    store: Store
    members: Members
    clock: Clock
    folder: Path
    service: SignInService

    async def session(self, name: str = "1", *, lives: int = 30 * 24 * HOUR) -> SessionRecord:
        made = SessionRecord(
            session_hash=f"s{name}",
            member=f"member:{name}",
            application="key:1",
            created_ms=self.clock.now,
            seen_ms=self.clock.now,
            expires_ms=self.clock.now + lives,
        )
        await self.store.add_session(made)
        return made

    async def code(
        self, session: SessionRecord, mobile: str = KNOWN, *, address: str = "192.0.2.7"
    ) -> str:
        """Ask for a code and return the one that was sent; empty: none was."""
        before = len(letters(self.folder))
        await self.service.login(session, mobile, address=address)
        await self.service.settle()
        sent = letters(self.folder)[before:]
        return sent[0]["code"] if sent else ""

    async def signed_in(self, name: str = "1") -> SessionRecord:
        session = await self.session(name)
        await self.service.verify(session, KNOWN, await self.code(session))
        return session

    @asynccontextmanager
    async def restarted(self, *keys: str) -> AsyncGenerator[SignInService]:
        """Return a later service over the same store, with these keys."""
        async with _serving(self.store, self.members, self.clock, self.folder, keys) as service:
            yield service


KEY = Fernet.generate_key().decode()


@asynccontextmanager
async def _serving(
    store: Store, members: Members, clock: Clock, folder: Path, keys: Sequence[str]
) -> AsyncGenerator[SignInService]:
    service = SignInService(
        store,
        members,
        Outbox(folder / "outbox", now=clock),
        seals=lambda: Seals(keys),
        policy=CodePolicy(),
        now=clock,
    )
    await service.open()
    try:
        yield service
    finally:
        await service.close()


@asynccontextmanager
async def desk(folder: Path, kind: Kind = "memory") -> AsyncGenerator[Desk]:
    members, clock = Members(), Clock()
    async with (
        opened(kind, folder) as store,
        _serving(store, members, clock, folder, [KEY]) as service,
    ):
        yield Desk(store, members, clock, folder, service)
