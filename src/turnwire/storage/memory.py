"""Keep everything in this process; for tests, and for a server that may forget."""

from collections import deque
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

from turnwire.clock import Now, system_now
from turnwire.events import Envelope
from turnwire.ids import BEGINNING, ConversationId, RunId, Seq, TurnId
from turnwire.storage.audit import AuditEntry, AuditQuery
from turnwire.storage.audit_book import AuditBook
from turnwire.storage.audited import (
    confirmations,
    covers,
    decision,
    expired,
    following,
    grants,
    past,
    proposal,
)
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
from turnwire.storage.meters import Meters, Sessions
from turnwire.storage.projection import changes, ends_run, opened, retracted, without_words
from turnwire.storage.receipt import Receipt, receipt_of
from turnwire.storage.sign_ins import CodeRecord, CredentialRecord
from turnwire.storage.sign_ins_memory import SignIns
from turnwire.storage.specs import SpecPhase, SpecRecord
from turnwire.storage.tail import Tails


class MemoryStore:
    """A store in dictionaries; of finished turns it keeps the events of the newest only."""

    def __init__(self, *, kept: int = 500, now: Now = system_now) -> None:
        self._kept = kept
        self._now = now
        self._finished: deque[TurnId] = deque()
        self._log: dict[TurnId, list[Envelope]] = {}
        self._turns: dict[TurnId, TurnRecord] = {}
        self._by_conversation: dict[ConversationId, list[TurnId]] = {}
        self._by_key: dict[tuple[str, str], TurnId] = {}
        self._conversations: dict[ConversationId, ConversationRecord] = {}
        self._pauses: dict[str, PauseRecord] = {}
        self._keys: dict[str, KeyRecord] = {}
        self._secrets: dict[tuple[str, str], int] = {}
        self._receipts: dict[TurnId, Receipt] = {}
        self._meters = Meters()
        self._audit = AuditBook()
        self._specs: list[SpecRecord] = []
        self._sessions = Sessions()
        self._sign_ins = SignIns(self._sessions.lives)
        self._tails = Tails(self._stored)

    async def open(self) -> None:
        """Nothing is to be done."""

    async def close(self) -> None:
        """Nothing is to be done."""

    async def check(self) -> None:
        """A dictionary is always there."""

    async def append(self, envelopes: Sequence[Envelope]) -> None:
        """See :class:`turnwire.storage.base.EventLog`."""
        if not envelopes:
            return
        if not ends_run(envelopes):
            self.show(envelopes)
            return
        turn_id = envelopes[0].turn_id
        self._keep(turn_id, envelopes, row=True)
        self._tails.extend(envelopes)
        self._tails.settle(turn_id, envelopes[-1].seq)
        self._forget_oldest(turn_id)

    def takes(self, turn_id: TurnId) -> bool:
        """See :class:`turnwire.storage.base.EventLog`."""
        return True

    def show(self, envelopes: Sequence[Envelope]) -> None:
        """See :class:`turnwire.storage.base.EventLog`."""
        self._keep(envelopes[0].turn_id, envelopes, row=False)
        self._tails.extend(envelopes)

    async def announce(self, envelopes: Sequence[Envelope]) -> None:
        """See :class:`turnwire.storage.base.EventLog`."""
        await self.append(envelopes)

    async def read(self, turn_id: TurnId, *, after: Seq = BEGINNING) -> list[Envelope]:
        """See :class:`turnwire.storage.base.EventLog`."""
        return self._log.get(turn_id, [])[after:]

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
        conversation = self._conversations.get(conversation_id) if conversation_id else None
        turn_ids = self._by_conversation.get(conversation_id, []) if conversation_id else []
        latest = self._turns[turn_ids[-1]] if turn_ids else None
        repeated = self._by_key.get((principal, idempotency_key)) if idempotency_key else None
        return ConversationFacts(
            conversation=conversation,
            active=latest if latest and latest.phase in ("running", "paused") else None,
            unsettled=self._unsettled(turn_ids),
            repeated=self._turns[repeated] if repeated else None,
            used=self._meters.used(charges),
        )

    async def begin(self, opening: Opening) -> None:
        """See :class:`turnwire.storage.base.TurnStore`."""
        turn = opening.turn
        dropped = opening.dropped[0] if opening.dropped else None
        facts = await self.facts(turn.principal, turn.conversation_id, turn.idempotency_key)
        if (
            facts.repeated
            or (facts.active and (facts.active.turn_id, facts.active.phase) != (dropped, "paused"))
            or opening.earlier_turns != (facts.conversation and facts.conversation.turns)
        ):
            raise Conflict
        self._meters.require_room(opening.charges)
        if opening.dropped is not None:
            await self.close_paused(*opening.dropped)
        known = facts.conversation or ConversationRecord(
            conversation_id=turn.conversation_id,
            principal=turn.principal,
            agent=turn.agent,
            created_ms=turn.created_ms,
            updated_ms=turn.created_ms,
            turns=0,
        )
        self._conversations[turn.conversation_id] = replace(
            known, updated_ms=turn.created_ms, turns=known.turns + 1
        )
        self._turns[turn.turn_id] = turn
        self._by_conversation.setdefault(turn.conversation_id, []).append(turn.turn_id)
        if turn.idempotency_key is not None:
            self._by_key[turn.principal, turn.idempotency_key] = turn.turn_id
        self._meters.take(turn.turn_id, opening.charges)
        self._start(opening.started)

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
        self._require_paused(turn_id)
        at, answered = self._now(), {each.pause_id: each for each in answers}
        asked = [self._pauses.get(each) for each in answered]
        waiting = [
            each for each in asked if each and each.turn_id == turn_id and each.phase == "open"
        ]
        late = [each for each in waiting if expired([each], at=at)]
        decided = [
            decision(each, answered[each.pause.pause_id], at=at)
            for each in confirmations(late or waiting)
        ]
        if late:
            self._audit.add(decided)
        if late or len(waiting) < len(answers):
            raise Conflict
        self._meters.require_room(charges)
        for each in answers:
            self._pauses[each.pause_id] = replace(
                self._pauses[each.pause_id],
                phase="answered",
                decision=each.decision,
                decided_by=each.decided_by,
            )
        self._audit.add(decided)
        mine = [each for each in self._pauses.values() if each.turn_id == turn_id]
        gone = past(mine, answered, at=at)
        self._pauses.update((each.pause.pause_id, each) for each in gone)
        self._audit.add(decision(each, None, at=at) for each in confirmations(gone))
        self._meters.go_on(turn_id, now=now)
        self._meters.take(turn_id, charges)
        self._start(started)
        return gone

    async def close_paused(self, turn_id: TurnId, envelopes: Sequence[Envelope]) -> None:
        """See :class:`turnwire.storage.base.TurnStore`."""
        self._require_paused(turn_id)
        self._keep(turn_id, envelopes, row=True)

    async def turn(self, turn_id: TurnId) -> TurnRecord | None:
        """See :class:`turnwire.storage.base.TurnStore`."""
        return self._turns.get(turn_id)

    async def turns(self, conversation_id: ConversationId) -> list[TurnRecord]:
        """See :class:`turnwire.storage.base.TurnStore`."""
        return [self._turns[each] for each in self._by_conversation.get(conversation_id, ())]

    async def receipt(self, turn_id: TurnId) -> Receipt | None:
        """See :class:`turnwire.storage.base.TurnStore`."""
        return self._receipts.get(turn_id)

    async def running(self) -> list[TurnRecord]:
        """See :class:`turnwire.storage.base.TurnStore`."""
        return [each for each in self._turns.values() if each.phase == "running"]

    async def pauses(
        self, conversation_id: ConversationId | None = None, *, kind: str | None = None
    ) -> list[PauseRecord]:
        """See :class:`turnwire.storage.base.TurnStore`."""
        return [
            each
            for each in reversed(self._pauses.values())
            if conversation_id in (None, each.conversation_id)
            and (conversation_id or each.phase == "open")
            and kind in (None, each.pause.kind)
        ]

    async def conversation(self, conversation_id: ConversationId) -> ConversationRecord | None:
        """See :class:`turnwire.storage.base.TurnStore`."""
        return self._conversations.get(conversation_id)

    async def conversations(
        self, principal: str, *, limit: int = 100, before: Place | None = None
    ) -> list[ConversationRecord]:
        """See :class:`turnwire.storage.base.TurnStore`."""
        mine = [
            each
            for each in self._conversations.values()
            if each.principal == principal and (before is None or _place(each) < before)
        ]
        return sorted(mine, key=_place, reverse=True)[:limit]

    async def abandoned(
        self, prefix: str, *, before_ms: int, now: int, limit: int
    ) -> list[ConversationId]:
        """See :class:`turnwire.storage.base.TurnStore`."""
        busy = {each.conversation_id for each in await self.running()}
        for each in await self.pauses(kind="review"):
            if each.pause.expires_ms is None or each.pause.expires_ms > now:
                busy.add(each.conversation_id)
        left = [
            each
            for each in self._conversations.values()
            if each.principal.startswith(prefix)
            and each.updated_ms < before_ms
            and each.conversation_id not in busy
        ]
        left.sort(key=lambda each: each.updated_ms)
        return [each.conversation_id for each in left[:limit]]

    async def erase(self, conversation_id: ConversationId) -> None:
        """See :class:`turnwire.storage.base.TurnStore`."""
        for each in await self.turns(conversation_id):
            del self._turns[each.turn_id]
            self._log.pop(each.turn_id, None)
            self._receipts.pop(each.turn_id, None)
            if each.idempotency_key is not None:
                self._by_key.pop((each.principal, each.idempotency_key), None)
        self._by_conversation.pop(conversation_id, None)
        for record in await self.pauses(conversation_id):
            del self._pauses[record.pause.pause_id]
        self._conversations.pop(conversation_id, None)

    async def take_grant(
        self, confirmation_id: str, *, principal: str, tool: str, arguments_hash: str
    ) -> bool:
        """See :class:`turnwire.storage.audit.ActionStore`."""
        record = self._pauses.get(confirmation_id)
        turn = self._turns.get(record.turn_id) if record else None
        approved = self._audit.entry(confirmation_id, "decision")
        if approved is None or turn is None or turn.phase != "running":
            return False
        if not grants(record, approved, principal=principal):
            return False
        if not covers(approved, tool=tool, arguments_hash=arguments_hash):
            return False
        if self._audit.entry(confirmation_id, "outcome"):
            return False
        return self._audit.add([following(approved, "start", "started", at=self._now())]) == 1

    async def note_outcome(
        self,
        confirmation_id: str,
        ended: Literal["ok", "tool_failed", "unknown"],
        *,
        code: str | None,
        receipt: str | None,
    ) -> None:
        """See :class:`turnwire.storage.audit.ActionStore`."""
        begun = self._audit.entry(confirmation_id, "start")
        if begun is not None:
            entry = following(begun, "outcome", ended, at=self._now())
            self._audit.add([replace(entry, code=code, receipt=receipt)])

    async def close_actions(self) -> int:
        """See :class:`turnwire.storage.audit.ActionStore`."""
        return self._audit.add(self._audit.unfinished(at=self._now()))

    async def add_spec(
        self, slug: str, text: str, *, phase: SpecPhase, author: str, now: int
    ) -> SpecRecord:
        """See :class:`turnwire.storage.specs.SpecStore`."""
        version = sum(each.slug == slug for each in self._specs) + 1
        record = SpecRecord(
            slug=slug, version=version, phase=phase, text=text, author=author, created_ms=now
        )
        self._specs.append(record)
        return record

    async def specs(self, slug: str | None = None) -> list[SpecRecord]:
        """See :class:`turnwire.storage.specs.SpecStore`."""
        found = [each for each in self._specs if slug in (None, each.slug)]
        return sorted(found, key=lambda each: (each.slug, each.version))

    async def audit(self, query: AuditQuery) -> list[AuditEntry]:
        """See :class:`turnwire.storage.audit.ActionStore`."""
        return self._audit.find(query)

    async def add_key(self, key: KeyRecord) -> None:
        """See :class:`turnwire.storage.base.KeyStore`."""
        self._keys[key.key_id] = key

    async def key(self, key_id: str) -> KeyRecord | None:
        """See :class:`turnwire.storage.base.KeyStore`."""
        return self._keys.get(key_id)

    async def keys(self, key_ids: Collection[str] | None = None) -> list[KeyRecord]:
        """See :class:`turnwire.storage.base.KeyStore`."""
        return [each for each in self._keys.values() if key_ids is None or each.key_id in key_ids]

    async def revoke_key(self, key_id: str, *, now: int) -> bool:
        """See :class:`turnwire.storage.base.KeyStore`."""
        key = self._keys.get(key_id)
        if key is None or key.revoked_ms is not None:
            return False
        self._keys[key_id] = replace(key, revoked_ms=now)
        return True

    async def rotate_key(
        self, key_id: str, secret_hash: str, *, previous_until_ms: int | None
    ) -> bool:
        """See :class:`turnwire.storage.base.KeyStore`."""
        key = self._keys.get(key_id)
        if key is None or key.revoked_ms is not None:
            return False
        self._keys[key_id] = replace(
            key,
            secret_hash=secret_hash,
            previous_hash=None if previous_until_ms is None else key.secret_hash,
            previous_until_ms=previous_until_ms,
        )
        return True

    async def limit_key(self, key_id: str, per_minute: int | None) -> bool:
        """See :class:`turnwire.storage.base.KeyStore`."""
        key = self._keys.get(key_id)
        if key is None or key.revoked_ms is not None:
            return False
        self._keys[key_id] = replace(key, per_minute=per_minute)
        return True

    async def keys_used(self, used_ms: Mapping[str, int]) -> None:
        """See :class:`turnwire.storage.base.KeyStore`."""
        for key_id, at in used_ms.items():
            key = self._keys.get(key_id)
            if key is not None and (key.last_used_ms or 0) < at:
                self._keys[key_id] = replace(key, last_used_ms=at)

    async def add_secret(self, kind: str, secret_hash: str, *, expires_ms: int) -> None:
        """See :class:`turnwire.storage.base.KeyStore`."""
        self._secrets[kind, secret_hash] = expires_ms

    async def take_secret(self, kind: str, secret_hash: str, *, now: int) -> bool:
        """See :class:`turnwire.storage.base.KeyStore`."""
        return self._secrets.pop((kind, secret_hash), 0) > now

    async def has_secret(self, kind: str, secret_hash: str, *, now: int) -> bool:
        """See :class:`turnwire.storage.base.KeyStore`."""
        return self._secrets.get((kind, secret_hash), 0) > now

    async def add_session(self, session: SessionRecord) -> None:
        """See :class:`turnwire.storage.members.MemberStore`."""
        self._sign_ins.drop_expired(now=session.created_ms)
        self._sessions.add(session)

    async def session(self, session_hash: str, *, now: int) -> SessionRecord | None:
        """See :class:`turnwire.storage.members.MemberStore`."""
        return self._sessions.find(session_hash, now=now)

    async def renew_session(self, session_hash: str, *, now: int, expires_ms: int) -> None:
        """See :class:`turnwire.storage.members.MemberStore`."""
        self._sessions.renew(session_hash, now=now, expires_ms=expires_ms)

    async def used(self, charges: Sequence[Charge]) -> tuple[Used, ...]:
        """See :class:`turnwire.storage.members.MemberStore`."""
        return self._meters.used(charges)

    async def charge(self, charges: Sequence[Charge]) -> tuple[Charge, ...]:
        """See :class:`turnwire.storage.members.MemberStore`."""
        return self._meters.charge(charges)

    async def put_code(self, code: CodeRecord, *, now: int) -> None:
        """See :class:`turnwire.storage.sign_ins.SignInStore`."""
        self._sign_ins.put_code(code, now=now)

    async def take_code(self, member: str, hashes: Collection[str], *, now: int) -> str | None:
        """See :class:`turnwire.storage.sign_ins.SignInStore`."""
        return self._sign_ins.take_code(member, hashes, now=now)

    async def give_back_code(self, member: str, code_hash: str) -> None:
        """See :class:`turnwire.storage.sign_ins.SignInStore`."""
        self._sign_ins.give_back_code(member, code_hash)

    async def keep_credential(self, record: CredentialRecord, code_hash: str, *, now: int) -> bool:
        """See :class:`turnwire.storage.sign_ins.SignInStore`."""
        return self._sign_ins.keep(record, code_hash, now=now)

    async def credential(self, member: str, *, now: int) -> CredentialRecord | None:
        """See :class:`turnwire.storage.sign_ins.SignInStore`."""
        return self._sign_ins.find(member, now=now)

    async def credentials(self) -> Sequence[CredentialRecord]:
        """See :class:`turnwire.storage.sign_ins.SignInStore`."""
        return self._sign_ins.everybodys()

    async def reseal_credential(self, member: str, before: str, after: str) -> None:
        """See :class:`turnwire.storage.sign_ins.SignInStore`."""
        self._sign_ins.reseal(member, before, after)

    async def drop_credential(self, member: str, sealed: str) -> None:
        """See :class:`turnwire.storage.sign_ins.SignInStore`."""
        self._sign_ins.drop(member, sealed)

    async def sign_out(self, member: str) -> None:
        """See :class:`turnwire.storage.sign_ins.SignInStore`."""
        self._sign_ins.sign_out(member)

    def _forget_oldest(self, ended: TurnId) -> None:
        turn = self._turns.get(ended)
        if turn is None or turn.phase == "paused":
            return
        self._finished.append(ended)
        if len(self._finished) > self._kept:
            self._log.pop(self._finished.popleft(), None)

    def _unsettled(self, turn_ids: Sequence[TurnId]) -> tuple[TurnRecord, ...]:
        since: list[TurnRecord] = []
        for each in reversed(turn_ids):
            turn = self._turns[each]
            if turn.phase == "completed" and turn.finish_reason != "cancelled":
                break
            if turn.phase in ("completed", "failed"):
                since.append(turn)
        return tuple(reversed(since))

    async def _stored(self, turn_id: TurnId, after: Seq) -> list[Envelope]:
        return await self.read(turn_id, after=after)

    def _keep(self, turn_id: TurnId, envelopes: Sequence[Envelope], *, row: bool) -> None:
        turn = self._turns.get(turn_id)
        if turn is None:  # erased while it ran
            if ends_run(envelopes):
                self._meters.settle(turn_id, 0, is_over=True)
            return
        log = self._log.setdefault(turn_id, [])
        log.extend(envelopes)
        taken_back = retracted(envelopes)
        if taken_back:
            log[:] = without_words(log, taken_back)
        if row:
            turn = replace(turn, **cast("dict[str, Any]", changes(envelopes, lambda: log)))
            self._turns[turn_id] = turn
            asked = opened(turn, envelopes)
            for each in asked:
                self._pauses.setdefault(each.pause.pause_id, each)
            self._audit.add(map(proposal, confirmations(asked)))
            if turn.phase in ("completed", "failed"):
                self._close_pauses(turn_id, at=envelopes[-1].ts_ms)
        if ends_run(envelopes):
            self._receipts[turn_id] = receipt = receipt_of(log)
            is_over = turn.phase != "paused"
            self._meters.settle(turn_id, receipt.usage.total_tokens, is_over=is_over)

    def _close_pauses(self, turn_id: TurnId, *, at: int) -> None:
        """Nobody waits for an answer any more, and nobody begins what was approved."""
        for pause_id, record in self._pauses.items():
            if record.turn_id == turn_id:
                self._audit.add(self._audit.not_begun(pause_id, at=at))
            if record.turn_id == turn_id and record.phase == "open":
                gone = confirmations([record])
                self._audit.add(decision(each, None, at=at) for each in gone)
                self._pauses[pause_id] = replace(record, phase="dropped")

    def _start(self, started: Sequence[Envelope]) -> None:
        self._keep(started[0].turn_id, started, row=True)
        self._tails.start(started)

    def _require_paused(self, turn_id: TurnId) -> None:
        turn = self._turns.get(turn_id)
        if turn is None or turn.phase != "paused":
            raise Conflict


def _place(record: ConversationRecord) -> Place:
    return Place(record.updated_ms, record.conversation_id)
