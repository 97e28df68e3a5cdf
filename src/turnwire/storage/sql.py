"""Keep everything in one SQLite file, in WAL mode."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, Literal, TypeVar

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from turnwire.clock import Now, system_now
from turnwire.errors import SetupError, StorageUnavailable
from turnwire.events import Envelope
from turnwire.ids import BEGINNING, ConversationId, RunId, Seq, TurnId
from turnwire.storage import (
    auditing,
    lists,
    metering,
    sessions,
    sign_ins_sql,
    specs_sql,
    statements,
)
from turnwire.storage.audit import AuditEntry, AuditQuery
from turnwire.storage.base import (
    Answer,
    Conflict,
    ConversationFacts,
    ConversationRecord,
    KeyRecord,
    Opening,
    Patience,
    PauseRecord,
    Place,
    TurnRecord,
)
from turnwire.storage.members import Charge, SessionRecord, Used
from turnwire.storage.packed_log import PackedLog
from turnwire.storage.receipt import Receipt
from turnwire.storage.rows import key_record, key_values
from turnwire.storage.sign_ins import CodeRecord, CredentialRecord
from turnwire.storage.specs import SpecPhase, SpecRecord
from turnwire.storage.sqlite_file import engine_for, prepare
from turnwire.storage.tables import KEYS, META, SECRETS
from turnwire.storage.tail import Tails
from turnwire.storage.writer import Writer

T = TypeVar("T")

_LOG: Final = logging.getLogger("turnwire.storage")
_TRUNCATE_ATTEMPTS: Final = 3


class SqliteStore:
    """A store in ``path``; one process writes, any number reads."""

    def __init__(self, path: Path, *, busy_seconds: float = 5.0, now: Now = system_now) -> None:
        self._path = path
        self._busy_seconds = busy_seconds
        self._now = now
        self._tails = Tails(self._stored)

    async def open(self) -> None:
        """Open the file, make its tables, and start the writer.

        Raises:
            SetupError: the folder can't be written, or the file was made by another version.
        """
        self._engine = engine_for(self._path, self._busy_seconds)
        self._readers = ThreadPoolExecutor(max_workers=4, thread_name_prefix="turnwire-reader")
        try:
            await asyncio.to_thread(prepare, self._engine, self._path)
        except SetupError:
            self._readers.shutdown()
            self._engine.dispose()
            raise
        self._writer = Writer(self._engine)
        self._log = PackedLog(self._writer, self._tails, scrub=self._scrub)
        # A process that was killed may have left in it what is in no row any more.
        await asyncio.get_running_loop().run_in_executor(self._readers, self._empty_wal)

    async def close(self) -> None:
        """Write what waits and close the file."""
        self._log.close()
        await self._writer.close()
        self._log.stop()
        self._readers.shutdown()
        self._engine.dispose()

    async def check(self) -> None:
        """See :class:`turnwire.storage.base.Store`."""
        await self._writer.run(
            lambda db: db.execute(update(META).where(META.c.name == "checked").values(value="1"))
        )

    async def append(self, envelopes: Sequence[Envelope]) -> None:
        """See :class:`turnwire.storage.base.EventLog`."""
        await self._log.append(envelopes)

    def takes(self, turn_id: TurnId) -> bool:
        """See :class:`turnwire.storage.base.EventLog`."""
        return self._log.takes(turn_id)

    def show(self, envelopes: Sequence[Envelope]) -> None:
        """See :class:`turnwire.storage.base.EventLog`."""
        self._log.show(envelopes)

    async def announce(self, envelopes: Sequence[Envelope]) -> None:
        """See :class:`turnwire.storage.base.EventLog`."""
        await self._log.announce(envelopes)

    async def read(self, turn_id: TurnId, *, after: Seq = BEGINNING) -> list[Envelope]:
        """See :class:`turnwire.storage.base.EventLog`."""
        return await self._query(lambda db: statements.read(db, turn_id, after))

    def follow(
        self, turn_id: TurnId, *, after: Seq, patience: Patience, run_id: RunId | None = None
    ) -> AsyncIterator[Sequence[Envelope]]:
        """See :class:`turnwire.storage.base.EventLog`."""
        return self._tails.follow(turn_id, after=after, patience=patience, run_id=run_id)

    async def facts(
        self,
        principal: str,
        conversation_id: ConversationId | None,
        idempotency_key: str | None,
        *,
        charges: Sequence[Charge] = (),
    ) -> ConversationFacts:
        """See :class:`turnwire.storage.base.TurnStore`."""
        if conversation_id is None and idempotency_key is None and not charges:
            return ConversationFacts()
        return await self._query(
            lambda db: statements.facts(db, principal, conversation_id, idempotency_key, charges)
        )

    async def begin(self, opening: Opening) -> None:
        """See :class:`turnwire.storage.base.TurnStore`."""
        await self._writer.run(lambda db: statements.begin(db, opening))
        self._log.begun(opening.started)
        self._tails.start(opening.started)

    async def resume(
        self,
        turn_id: TurnId,
        answers: Sequence[Answer],
        started: Sequence[Envelope],
        *,
        now: int,
        charges: Sequence[Charge] = (),
    ) -> Sequence[PauseRecord]:
        """See :class:`turnwire.storage.base.TurnStore`."""

        def take(db: Connection) -> Sequence[PauseRecord] | None:
            # The clock is read inside the transaction: no wait for the writer prolongs a time.
            gone = statements.resume(db, turn_id, answers, started, at=self._now())
            if gone is not None:
                metering.go_on(db, turn_id, now=now)
                metering.take(db, turn_id, charges)
            return gone

        gone = await self._writer.run(take)
        if gone is None:
            raise Conflict
        self._tails.start(started)
        return gone

    async def close_paused(self, turn_id: TurnId, envelopes: Sequence[Envelope]) -> None:
        """See :class:`turnwire.storage.base.TurnStore`."""
        await self._writer.run(lambda db: statements.close_paused(db, turn_id, envelopes))

    async def turn(self, turn_id: TurnId) -> TurnRecord | None:
        """See :class:`turnwire.storage.base.TurnStore`."""
        return await self._query(lambda db: statements.turn(db, turn_id))

    async def turns(self, conversation_id: ConversationId) -> list[TurnRecord]:
        """See :class:`turnwire.storage.base.TurnStore`."""
        return await self._query(lambda db: statements.turns(db, conversation_id))

    async def receipt(self, turn_id: TurnId) -> Receipt | None:
        """See :class:`turnwire.storage.base.TurnStore`."""
        return await self._query(lambda db: statements.receipt(db, turn_id))

    async def running(self) -> list[TurnRecord]:
        """See :class:`turnwire.storage.base.TurnStore`."""
        return await self._query(statements.running)

    async def pauses(
        self, conversation_id: ConversationId | None = None, *, kind: str | None = None
    ) -> list[PauseRecord]:
        """See :class:`turnwire.storage.base.TurnStore`."""
        return await self._query(lambda db: statements.pauses(db, conversation_id, kind))

    async def conversation(self, conversation_id: ConversationId) -> ConversationRecord | None:
        """See :class:`turnwire.storage.base.TurnStore`."""
        return await self._query(lambda db: statements.conversation(db, conversation_id))

    async def conversations(
        self, principal: str, *, limit: int = 100, before: Place | None = None
    ) -> list[ConversationRecord]:
        """See :class:`turnwire.storage.base.TurnStore`."""
        return await self._query(lambda db: lists.conversations(db, principal, limit, before))

    async def abandoned(
        self, prefix: str, *, before_ms: int, now: int, limit: int
    ) -> list[ConversationId]:
        """See :class:`turnwire.storage.base.TurnStore`."""
        return await self._query(
            lambda db: lists.abandoned(db, prefix, before_ms=before_ms, now=now, limit=limit)
        )

    async def erase(self, conversation_id: ConversationId) -> None:
        """See :class:`turnwire.storage.base.TurnStore`."""
        await self._writer.run(lambda db: statements.erase(db, conversation_id))
        await asyncio.get_running_loop().run_in_executor(self._readers, self._empty_wal)

    async def take_grant(
        self, confirmation_id: str, *, principal: str, tool: str, arguments_hash: str
    ) -> bool:
        """See :class:`turnwire.storage.audit.ActionStore`."""
        asked = {"principal": principal, "tool": tool, "arguments_hash": arguments_hash}
        return await self._writer.run(
            lambda db: auditing.take_grant(db, confirmation_id, **asked, at=self._now())
        )

    async def note_outcome(
        self,
        confirmation_id: str,
        ended: Literal["ok", "tool_failed", "unknown"],
        *,
        code: str | None,
        receipt: str | None,
    ) -> None:
        """See :class:`turnwire.storage.audit.ActionStore`."""
        about = {"code": code, "receipt": receipt}
        await self._writer.run(
            lambda db: auditing.note_outcome(db, confirmation_id, ended, **about, at=self._now())
        )

    async def close_actions(self) -> int:
        """See :class:`turnwire.storage.audit.ActionStore`."""
        return await self._writer.run(lambda db: auditing.close_actions(db, at=self._now()))

    async def audit(self, query: AuditQuery) -> list[AuditEntry]:
        """See :class:`turnwire.storage.audit.ActionStore`."""
        return await self._query(lambda db: auditing.find(db, query))

    async def add_key(self, key: KeyRecord) -> None:
        """See :class:`turnwire.storage.base.KeyStore`."""
        await self._writer.run(lambda db: db.execute(insert(KEYS).values(**key_values(key))))

    async def key(self, key_id: str) -> KeyRecord | None:
        """See :class:`turnwire.storage.base.KeyStore`."""
        query = select(KEYS).where(KEYS.c.key_id == key_id)
        found = await self._query(lambda db: db.execute(query).mappings().first())
        return key_record(found) if found else None

    async def keys(self, key_ids: Collection[str] | None = None) -> list[KeyRecord]:
        """See :class:`turnwire.storage.base.KeyStore`."""
        query = select(KEYS).order_by(KEYS.c.created_ms)
        if key_ids is not None:
            query = query.where(KEYS.c.key_id.in_(key_ids))
        rows = await self._query(lambda db: db.execute(query).mappings().all())
        return [key_record(each) for each in rows]

    async def revoke_key(self, key_id: str, *, now: int) -> bool:
        """See :class:`turnwire.storage.base.KeyStore`."""
        valid = update(KEYS).where(KEYS.c.key_id == key_id, KEYS.c.revoked_ms.is_(None))
        revoke = valid.values(revoked_ms=now)
        return await self._writer.run(lambda db: db.execute(revoke).rowcount == 1)

    async def rotate_key(
        self, key_id: str, secret_hash: str, *, previous_until_ms: int | None
    ) -> bool:
        """See :class:`turnwire.storage.base.KeyStore`."""
        valid = update(KEYS).where(KEYS.c.key_id == key_id, KEYS.c.revoked_ms.is_(None))
        rotate = valid.values(
            secret_hash=secret_hash,
            previous_hash=None if previous_until_ms is None else KEYS.c.secret_hash,
            previous_until_ms=previous_until_ms,
        )
        return await self._writer.run(lambda db: db.execute(rotate).rowcount == 1)

    async def limit_key(self, key_id: str, per_minute: int | None) -> bool:
        """See :class:`turnwire.storage.base.KeyStore`."""
        valid = update(KEYS).where(KEYS.c.key_id == key_id, KEYS.c.revoked_ms.is_(None))
        limit = valid.values(per_minute=per_minute)
        return await self._writer.run(lambda db: db.execute(limit).rowcount == 1)

    async def keys_used(self, used_ms: Mapping[str, int]) -> None:
        """See :class:`turnwire.storage.base.KeyStore`."""
        known = func.coalesce(KEYS.c.last_used_ms, 0)
        note = (
            update(KEYS)
            .where(KEYS.c.key_id == bindparam("of_key"), known < bindparam("at"))
            .values(last_used_ms=bindparam("at"))
        )
        rows = [{"of_key": key_id, "at": at} for key_id, at in used_ms.items()]
        if rows:
            await self._writer.run(lambda db: db.execute(note, rows))

    async def add_secret(self, kind: str, secret_hash: str, *, expires_ms: int) -> None:
        """See :class:`turnwire.storage.base.KeyStore`."""
        new = {"kind": kind, "secret_hash": secret_hash, "expires_ms": expires_ms}
        await self._writer.run(lambda db: db.execute(insert(SECRETS).values(**new)))

    async def take_secret(self, kind: str, secret_hash: str, *, now: int) -> bool:
        """See :class:`turnwire.storage.base.KeyStore`."""
        known = SECRETS.c.kind == kind, SECRETS.c.secret_hash == secret_hash
        take = delete(SECRETS).where(*known, SECRETS.c.expires_ms > now)
        return await self._writer.run(lambda db: db.execute(take).rowcount == 1)

    async def has_secret(self, kind: str, secret_hash: str, *, now: int) -> bool:
        """See :class:`turnwire.storage.base.KeyStore`."""
        known = SECRETS.c.kind == kind, SECRETS.c.secret_hash == secret_hash
        query = select(SECRETS.c.kind).where(*known, SECRETS.c.expires_ms > now)
        return await self._query(lambda db: db.execute(query).first() is not None)

    def _scrub(self) -> None:
        with suppress(RuntimeError):  # closing, which empties the write-ahead log as well
            self._readers.submit(self._empty_wal)

    async def add_session(self, session: SessionRecord) -> None:
        """See :class:`turnwire.storage.members.MemberStore`."""
        await self._writer.run(lambda db: sessions.add(db, session))

    async def session(self, session_hash: str, *, now: int) -> SessionRecord | None:
        """See :class:`turnwire.storage.members.MemberStore`."""
        return await self._query(lambda db: sessions.find(db, session_hash, now=now))

    async def renew_session(self, session_hash: str, *, now: int, expires_ms: int) -> None:
        """See :class:`turnwire.storage.members.MemberStore`."""
        await self._writer.run(
            lambda db: sessions.renew(db, session_hash, now=now, expires_ms=expires_ms)
        )

    async def used(self, charges: Sequence[Charge]) -> tuple[Used, ...]:
        """See :class:`turnwire.storage.members.MemberStore`."""
        return await self._query(lambda db: metering.used(db, charges))

    async def charge(self, charges: Sequence[Charge]) -> tuple[Charge, ...]:
        """See :class:`turnwire.storage.members.MemberStore`."""
        return await self._writer.run(lambda db: metering.charge(db, charges))

    async def put_code(self, code: CodeRecord, *, now: int) -> None:
        """See :class:`turnwire.storage.sign_ins.SignInStore`."""
        await self._writer.run(lambda db: sign_ins_sql.put_code(db, code, now=now))

    async def take_code(self, member: str, hashes: Collection[str], *, now: int) -> str | None:
        """See :class:`turnwire.storage.sign_ins.SignInStore`."""
        return await self._writer.run(
            lambda db: sign_ins_sql.take_code(db, member, hashes, now=now)
        )

    async def give_back_code(self, member: str, code_hash: str) -> None:
        """See :class:`turnwire.storage.sign_ins.SignInStore`."""
        await self._writer.run(lambda db: sign_ins_sql.give_back_code(db, member, code_hash))

    async def keep_credential(self, record: CredentialRecord, code_hash: str, *, now: int) -> bool:
        """See :class:`turnwire.storage.sign_ins.SignInStore`."""
        return await self._writer.run(lambda db: sign_ins_sql.keep(db, record, code_hash, now=now))

    async def credential(self, member: str, *, now: int) -> CredentialRecord | None:
        """See :class:`turnwire.storage.sign_ins.SignInStore`."""
        return await self._query(lambda db: sign_ins_sql.find(db, member, now=now))

    async def credentials(self) -> Sequence[CredentialRecord]:
        """See :class:`turnwire.storage.sign_ins.SignInStore`."""
        return await self._query(sign_ins_sql.everybodys)

    async def reseal_credential(self, member: str, before: str, after: str) -> None:
        """See :class:`turnwire.storage.sign_ins.SignInStore`."""
        await self._writer.run(lambda db: sign_ins_sql.reseal(db, member, before, after))

    async def drop_credential(self, member: str, sealed: str) -> None:
        """See :class:`turnwire.storage.sign_ins.SignInStore`."""
        await self._writer.run(lambda db: sign_ins_sql.drop(db, member, sealed))

    async def sign_out(self, member: str) -> None:
        """See :class:`turnwire.storage.sign_ins.SignInStore`."""
        await self._writer.run(lambda db: sign_ins_sql.sign_out(db, member))

    async def add_spec(
        self, slug: str, text: str, *, phase: SpecPhase, author: str, now: int
    ) -> SpecRecord:
        """See :class:`turnwire.storage.specs.SpecStore`."""
        return await self._writer.run(
            lambda db: specs_sql.add(db, slug, text, phase=phase, author=author, now=now)
        )

    async def specs(self, slug: str | None = None) -> list[SpecRecord]:
        """See :class:`turnwire.storage.specs.SpecStore`."""
        return await self._query(lambda db: specs_sql.find(db, slug))

    def _empty_wal(self) -> None:
        """Leave no copy of what was erased in the write-ahead log."""
        with closing(self._engine.raw_connection()) as connection:
            for _ in range(_TRUNCATE_ATTEMPTS):
                with suppress(sqlite3.OperationalError):  # another process holds the file
                    cursor = connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
                    busy, *_ = cursor.fetchone()
                    if not busy:
                        return
        _LOG.warning("the write-ahead log is in use and keeps what was erased for a while")

    async def _stored(self, turn_id: TurnId, after: Seq) -> list[Envelope]:
        return await self.read(turn_id, after=after)

    async def _query(self, read: Callable[[Connection], T]) -> T:
        def run() -> T:
            with self._engine.connect() as db:
                return read(db)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._readers, run)
        except SQLAlchemyError as error:
            raise StorageUnavailable("The store can't be read right now.") from error
