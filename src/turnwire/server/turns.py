"""Begin a turn, go on with it, stop it: facts are gathered, a pure function decides, it is done."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from weakref import WeakValueDictionary

from pydantic import JsonValue

from turnwire.admission.decide import (
    Ask,
    Begin,
    IfBusy,
    Interrupt,
    Join,
    WaitFor,
    admit,
    answer_inputs,
    answer_review,
    waits,
)
from turnwire.admission.principal import Principal
from turnwire.admission.quota import QuotaPolicy, require_room
from turnwire.clock import Now
from turnwire.engine.agent import Agent
from turnwire.engine.grammar import TurnState
from turnwire.engine.supervisor import Supervisor
from turnwire.engine.turn import Turn
from turnwire.errors import RequestInvalid, ResumeUnavailable, TurnInProgress
from turnwire.events import Envelope, TurnStarted
from turnwire.ids import (
    BEGINNING,
    ConversationId,
    PauseId,
    RunId,
    Seq,
    TurnId,
    new_id,
    new_trace_id,
)
from turnwire.server.agent_lookup import Agents
from turnwire.server.approving import answered, approves, told
from turnwire.server.ownership import owned
from turnwire.storage.base import (
    Answer,
    Conflict,
    ConversationFacts,
    Opening,
    PauseRecord,
    Store,
    TurnRecord,
)
from turnwire.storage.members import Charge, Used
from turnwire.storage.memories import NOTHING_REMEMBERED, Memories
from turnwire.work import NO_HINTS, Channel, Hints, Message, Unsettled, Work

_TOGETHER: Final = 100
_ATTEMPTS: Final = 20
"""How often facts may change under a decision before the conversation counts as busy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """A request for a turn, parsed."""

    principal: Principal
    messages: tuple[Message, ...]
    conversation_id: ConversationId | None
    agent: str | None
    locale: str
    model: str | None
    if_busy: IfBusy
    body_hash: str
    idempotency_key: str | None
    trace_id: str | None = None
    """The caller's trace, if they have one; none: the turn gets its own."""
    hints: Hints = NO_HINTS
    channel: Channel = "app"
    may_open: bool = False
    """Whether the conversation may be new; see :class:`turnwire.admission.decide.Ask`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What a reviewer says about a draft."""

    decision: str
    edited_text: str | None
    review_id: str | None
    """Which draft; none: the conversation's newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """What the client is to hear: a turn after a number, to the end of a run if one is named."""

    turn_id: TurnId
    after: Seq
    run_id: RunId | None

    @property
    def is_new(self) -> bool:
        """Whether this is the request that began the turn, so that nobody has heard of it."""
        return self.after == BEGINNING and self.run_id is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPolicy:
    """How busy conversations are treated."""

    if_busy: IfBusy = "reject"
    enqueue_seconds: float = 60.0
    """How long a request waits for a busy conversation under ``enqueue``."""
    quotas: QuotaPolicy = field(default_factory=QuotaPolicy)


class Turns:
    """The use cases; what they decide stands in :mod:`turnwire.admission.decide`."""

    def __init__(
        self,
        store: Store,
        supervisor: Supervisor,
        agents: Agents,
        *,
        now: Now,
        policy: TurnPolicy,
    ) -> None:
        self.store = store
        self.supervisor = supervisor
        self.agents = agents
        self.policy = policy
        self.memories: Memories = NOTHING_REMEMBERED
        """What agents remember of users."""
        self._now = now
        # An entry lives as long as somebody holds the lock or waits for it.
        self._queues: WeakValueDictionary[ConversationId, asyncio.Lock] = WeakValueDictionary()

    async def begin(self, new: NewTurn) -> Followed:
        """Begin a turn, or join the one that the same request began before."""
        agent = await self.agents.named(new.agent, new.principal)
        if new.model not in (None, agent.model, *agent.models):
            known = ", ".join((agent.model, *agent.models))
            raise RequestInvalid(("model", f"this agent answers with: {known}"))
        if new.if_busy != "enqueue" or new.conversation_id is None:
            return await self._begin(agent, new)
        # One at a time and in the order of arrival: a lock of asyncio's is fair.
        lock = self._queues.setdefault(new.conversation_id, asyncio.Lock())
        try:
            async with asyncio.timeout(self.policy.enqueue_seconds), lock:
                return await self._begin(agent, new)
        except TimeoutError:
            raise TurnInProgress from None

    async def resume_review(
        self,
        reviewer: Principal,
        conversation_id: ConversationId,
        decided: Decided,
    ) -> Followed:
        """Take a reviewer's decision and go on."""
        decision, edited_text = decided.decision, decided.edited_text
        pauses = await self.store.pauses(conversation_id)
        review = answer_review(pauses, now=self._now(), review_id=decided.review_id)
        if review.pause.kind == "approval":
            said: dict[str, JsonValue] = {"approved": approves(decided.decision, edited_text)}
            return await self._approve(reviewer, [review], {review.pause.pause_id: said})
        value: dict[str, JsonValue] = {"decision": decision}
        if edited_text is not None:
            value["edited_text"] = edited_text
        answer = Answer(pause_id=review.pause.pause_id, decision=decision, decided_by=reviewer.id)
        return await self._resume(reviewer, review, [answer], {review.pause.pause_id: value})

    async def resume_inputs(
        self,
        principal: Principal,
        conversation_id: ConversationId,
        answers: Mapping[PauseId, JsonValue],
    ) -> Followed:
        """Take the owner's answers to a graph's own interrupts and go on."""
        pauses = await self.store.pauses(conversation_id)
        named = answer_inputs(principal.id, pauses, answers, now=self._now())
        return await self._approve(principal, named, answers)

    async def waiting(
        self, conversation_id: ConversationId | None = None, *, kind: str | None = None
    ) -> list[PauseRecord]:
        """Return the pauses that can be answered now, newest first; of everybody, if need be."""
        now = self._now()
        return [
            each for each in await self.store.pauses(conversation_id, kind=kind) if waits(each, now)
        ]

    async def cancel(
        self,
        principal: Principal,
        conversation_id: ConversationId,
        turn_id: TurnId | None = None,
    ) -> TurnRecord | None:
        """Stop what the conversation does; return the turn that was stopped, if there was one.

        With ``turn_id`` no other turn is stopped.
        """
        await owned(self.store, principal, conversation_id)
        return await self._stop(conversation_id, turn_id)

    async def erase(self, principal: Principal, conversation_id: ConversationId) -> None:
        """Delete the conversation, with all that the agent keeps of it."""
        await owned(self.store, principal, conversation_id)
        await self.remove(conversation_id)

    async def erase_all(self, principal: Principal) -> None:
        """Delete all conversations of a caller, and what agents remember of them."""
        while found := await self.store.conversations(principal.id, limit=_TOGETHER, before=None):
            for each in found:
                await self.remove(each.conversation_id)
        await self.memories.forget(principal.id)

    async def remove(self, conversation_id: ConversationId) -> None:
        """Do what :meth:`erase` does, whoever owns the conversation."""
        await self._stop(conversation_id)
        await self._forget(conversation_id)
        await self.store.erase(conversation_id)
        await self._forget(conversation_id)  # and what a turn wrote that began meanwhile

    async def _forget(self, conversation_id: ConversationId) -> None:
        await self.supervisor.settled(conversation_id)
        for agent in self.agents.fixed.values():  # its own may not be served any more
            await agent.forget(conversation_id)
        await self.memories.forget_conversation(conversation_id)

    async def _stop(
        self, conversation_id: ConversationId, turn_id: TurnId | None = None
    ) -> TurnRecord | None:
        active = (await self.store.facts("", conversation_id, None)).active
        if active is None or turn_id not in (None, active.turn_id):
            return None
        if not await self.supervisor.cancel(active.turn_id):
            await self._drop(active)
        return await self.store.turn(active.turn_id)

    async def _begin(self, agent: Agent, new: NewTurn) -> Followed:
        for _ in range(_ATTEMPTS):
            now = self._now()
            ask = Ask(
                principal=new.principal.id,
                conversation_id=new.conversation_id,
                agent=agent.slug,
                if_busy=new.if_busy,
                body_hash=new.body_hash,
                now=now,
                charges=self.policy.quotas.charges(new.principal, now=now),
                may_open=new.may_open,
            )
            facts = await self.store.facts(
                ask.principal, ask.conversation_id, new.idempotency_key, charges=ask.charges
            )
            match admit(ask, facts):
                case Join(turn):
                    return Followed(turn_id=turn.turn_id, after=BEGINNING, run_id=None)
                case WaitFor(turn):
                    await self.supervisor.ended(turn.turn_id)
                case Interrupt(turn):
                    await self.supervisor.cancel(turn.turn_id)
                case Begin(dropping):
                    try:
                        return await self._start(agent, new, ask, facts, dropping)
                    except Conflict:
                        continue
        raise TurnInProgress

    async def _start(
        self,
        agent: Agent,
        new: NewTurn,
        ask: Ask,
        facts: ConversationFacts,
        dropping: TurnRecord | None,
    ) -> Followed:
        self.supervisor.require_capacity()
        at = ask.now
        conversation_id = new.conversation_id or ConversationId(new_id("conv"))
        turn = Turn(TurnId(new_id("trn")))
        event = TurnStarted(
            conversation_id=conversation_id,
            agent=agent.slug,
            model=new.model or agent.model,
            locale=new.locale,
            trace_id=new.trace_id or new_trace_id(),
            topology=agent.topology,
            agent_version=agent.version,
        )
        started = turn.begin(RunId(new_id("run")), event, at=at)
        dropped = (dropping.turn_id, await self._ending_of(dropping)) if dropping else None
        record = TurnRecord(
            turn_id=turn.turn_id,
            conversation_id=conversation_id,
            principal=new.principal.id,
            agent=agent.slug,
            phase="running",
            run_id=turn.run_id,
            messages=new.messages,
            locale=new.locale,
            trace_id=event.trace_id,
            created_ms=at,
            updated_ms=at,
            idempotency_key=new.idempotency_key,
            body_hash=new.body_hash,
        )
        opening = Opening(
            turn=record,
            started=started,
            earlier_turns=facts.conversation.turns if facts.conversation else None,
            dropped=dropped,
            charges=ask.charges,
        )
        unsettled = [*facts.unsettled, *([dropping] if dropping else [])]
        work = replace(
            _work(record, event.model, unsettled),
            hints=new.hints,
            channel=new.channel,
            can_sign_in=_has_session(new.principal),
        )
        await self.supervisor.start(agent, turn, opening, work)
        return Followed(turn_id=turn.turn_id, after=BEGINNING, run_id=turn.run_id)

    async def go_on(
        self,
        caller: Principal,
        record: PauseRecord,
        answers: Sequence[Answer],
        values: Mapping[PauseId, JsonValue],
        *,
        confirmed: bool = False,
    ) -> Followed:
        """Take people's answers to pauses of one turn, ``record`` among them, and run on.

        Raises:
            Conflict: somebody was faster, or the turn does not wait any more.
            ResumeUnavailable: its agent is not served any more.
        """
        self.supervisor.require_capacity()
        turn_record = await self.store.turn(record.turn_id)
        if turn_record is None:
            raise ResumeUnavailable
        turn = await self.supervisor.restore(record.turn_id)
        if turn.started is None:
            raise ResumeUnavailable
        agent = await self.agents.of_version(
            record.agent, turn.started.agent_version, owner=turn_record.principal
        )
        if agent is None:
            raise ResumeUnavailable
        at = self._now()
        work = replace(
            _work(turn_record, turn.started.model),
            answers=values,
            run_id=RunId(new_id("run")),
            started_ms=at,
            confirmed=confirmed,
            can_sign_in=_has_session(caller),
        )
        charges = self.policy.quotas.resuming(caller, record.pause.kind, now=at)
        require_room(charges, await self._used(charges), now=at)
        try:
            started = await self.supervisor.resume(agent, turn, answers, work, charges=charges)
        except Conflict:
            require_room(charges, await self._used(charges), now=at)
            raise
        return Followed(turn_id=turn.turn_id, after=Seq(started[0].seq - 1), run_id=turn.run_id)

    async def _approve(
        self,
        caller: Principal,
        named: Sequence[PauseRecord],
        answers: Mapping[PauseId, JsonValue],
    ) -> Followed:
        """Take answers to approvals and inputs; an approved action is done though nobody stays."""
        decided = [answered(each, answers[each.pause.pause_id], by=caller.id) for each in named]
        values = {each.pause.pause_id: told(each, answers[each.pause.pause_id]) for each in named}
        confirmed = any(each.pause.kind == "approval" for each in named)
        try:
            return await self.go_on(caller, named[0], decided, values, confirmed=confirmed)
        except Conflict:
            await self._retell(named[0], answers)
            raise ResumeUnavailable from None

    async def _resume(
        self,
        caller: Principal,
        record: PauseRecord,
        answers: Sequence[Answer],
        values: Mapping[PauseId, JsonValue],
        *,
        confirmed: bool = False,
    ) -> Followed:
        try:
            return await self.go_on(caller, record, answers, values, confirmed=confirmed)
        except Conflict:
            await self._retell(record, values)
            raise ResumeUnavailable from None

    async def _used(self, charges: Sequence[Charge]) -> Sequence[Used]:
        return await self.store.used(charges) if charges else ()

    async def _retell(self, record: PauseRecord, values: Mapping[PauseId, JsonValue]) -> None:
        """Somebody was faster: raise what the rules say now."""
        pauses = await self.store.pauses(record.conversation_id)
        if record.pause.kind in ("review", "approval"):
            same = [each for each in pauses if each.pause.pause_id == record.pause.pause_id]
            answer_review(same, now=self._now(), review_id=record.pause.pause_id)
        else:
            answer_inputs(record.principal, pauses, values, now=self._now())

    async def _drop(self, paused: TurnRecord) -> None:
        try:
            await self.supervisor.drop(paused.turn_id, await self._ending_of(paused))
        except Conflict:  # it went on or ended meanwhile
            await self.supervisor.cancel(paused.turn_id)

    async def _ending_of(self, paused: TurnRecord) -> Sequence[Envelope]:
        """Return the envelopes by which a paused turn ends that nobody waits for any more."""
        turn = await self.supervisor.restore(paused.turn_id)
        if turn.state is not TurnState.PAUSED:
            raise Conflict
        return turn.drop(RunId(new_id("run")), at=self._now())


def _has_session(principal: Principal) -> bool:
    return principal.is_member and not principal.is_ephemeral


def _work(record: TurnRecord, model: str, unsettled: Sequence[TurnRecord] = ()) -> Work:
    return Work(
        turn_id=record.turn_id,
        conversation_id=record.conversation_id,
        run_id=record.run_id,
        principal=record.principal,
        locale=record.locale,
        trace_id=record.trace_id,
        started_ms=record.created_ms,
        messages=record.messages,
        model=model,
        unsettled=tuple(
            Unsettled(turn_id=each.turn_id, messages=each.messages, content=each.content)
            for each in unsettled
        ),
    )
