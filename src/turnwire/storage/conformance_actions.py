"""What every store has to do about confirmations, grants and their audit; see ``conformance``."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from pydantic import JsonValue

from turnwire.clock import system_now
from turnwire.events import Envelope, Pause, TurnPaused
from turnwire.ids import PauseId, new_id
from turnwire.storage.audit import AuditEntry, AuditQuery
from turnwire.storage.base import Answer, Conflict, PauseRecord, Store
from turnwire.storage.conformance import Check, Script

_WHO: Final = "member:1"
_TOOL: Final = "request_callback"
_HASH: Final = "a" * 64
_SOON: Final = 60_000


class Asked(Script):
    """A turn that waits for confirmations."""

    def __init__(self, *, principal: str = _WHO) -> None:
        super().__init__()
        self.principal = principal
        self.ids: list[PauseId] = []
        self.gone: list[PauseRecord] = []
        """What had expired beside the latest answer."""

    async def wait(self, store: Store, count: int = 1, *, expires_in_ms: int = _SOON) -> None:
        """Begin, and put so many confirmations to the member."""
        await store.begin(self.opening(principal=self.principal))
        self.ids = [PauseId(new_id("cnf")) for _ in range(count)]
        await store.append(self.put(*self.ids, expires_in_ms=expires_in_ms))

    def put(
        self,
        *ids: PauseId,
        expires_in_ms: int = _SOON,
        late: Sequence[PauseId] = (),
        more: Sequence[Pause] = (),
    ) -> list[Envelope]:
        """Return the pause that asks; nobody can answer those that are ``late``."""
        now = system_now()
        pauses = tuple(
            Pause(
                pause_id=each,
                kind="confirmation",
                payload={
                    "tool_call_id": "call_1",
                    "name": _TOOL,
                    "summary": "Ask an adviser to call +44 7700 900123",
                    "arguments_preview": {"reason": "a bill"},
                    "risk": "send",
                    "arguments_hash": _HASH,
                },
                requested_ms=now,
                expires_ms=now + (-1 if each in late else expires_in_ms),
            )
            for each in ids
        )
        return self.write(TurnPaused(pauses=(*pauses, *more), draft="I would call."))

    async def answer(self, store: Store, decision: str = "approve", which: int = 0) -> bool:
        """Answer one confirmation; whether that was taken."""
        answer = Answer(pause_id=self.ids[which], decision=decision, decided_by=self.principal)
        at = len(self.log)
        started = self.start()
        try:
            gone = await store.resume(self.turn_id, [answer], started, now=system_now())
        except Conflict:
            del self.log[at:]
            return False
        self.gone = list(gone)
        return True

    async def take(self, store: Store, which: int = 0, **other: str) -> bool:
        """Take the grant of one, or of something else that ``other`` names."""
        wanted: dict[str, Any] = {"principal": _WHO, "tool": _TOOL, "arguments_hash": _HASH}
        return await store.take_grant(self.ids[which], **{**wanted, **other})

    async def steps(self, store: Store, which: int = 0) -> list[tuple[str, str]]:
        """Return what the audit says of one."""
        return [
            (each.step, each.result)
            for each in await store.audit(AuditQuery())
            if each.confirmation_id == self.ids[which]
        ]


async def _asked(store: Store, count: int = 1, *, expires_in_ms: int = _SOON) -> Asked:
    asked = Asked()
    await asked.wait(store, count, expires_in_ms=expires_in_ms)
    return asked


async def an_approval_grants_one_action(store: Store) -> None:
    """Of fifty who would act on one approval, one may; afterwards nobody."""
    asked = await _asked(store)
    assert not await asked.take(store), "a grant before the member's word"
    assert await asked.answer(store)
    taken = await asyncio.gather(*(asked.take(store) for _ in range(50)))

    assert taken.count(True) == 1
    assert not await asked.take(store)


async def a_grant_is_for_one_member_one_tool_and_its_arguments(store: Store) -> None:
    """Whoever asks for something else gets nothing, and takes nothing away."""
    asked = await _asked(store)
    await asked.answer(store)

    others = (("principal", "member:2"), ("tool", "other"), ("arguments_hash", "b" * 64))
    for name, value in others:
        assert not await asked.take(store, 0, **{name: value})
    unknown = {"principal": _WHO, "tool": _TOOL, "arguments_hash": _HASH}
    assert not await store.take_grant("cnf_unknown", **unknown)
    assert await asked.take(store)


async def a_rejection_grants_nothing(store: Store) -> None:
    """What was declined can't be done, and is told as declined."""
    asked = await _asked(store)
    assert await asked.answer(store, "reject")

    assert not await asked.take(store)
    assert await asked.steps(store) == [("proposal", "proposed"), ("decision", "rejected")]


async def a_grant_ends_with_its_turn(store: Store) -> None:
    """After the turn's end nothing is done on its approvals any more."""
    asked = await _asked(store)
    await asked.answer(store)
    await store.append(asked.fail())

    assert not await asked.take(store)
    assert (await asked.steps(store))[-1] == ("outcome", "not_run")
    assert await store.close_actions() == 0


async def what_was_approved_and_not_begun_is_told_as_the_turn_ends(store: Store) -> None:
    """Cancelled, failed or completed; a pause is no end, and what was begun tells its own."""
    for ending in ("cancelled", "stop", None):
        asked = await _asked(store, 3)
        await asked.answer(store, which=0)
        await asked.take(store, which=0)
        await store.append(asked.put(*asked.ids[1:]))
        await asked.answer(store, which=1)
        await store.append(asked.put(asked.ids[2]))
        assert (await asked.steps(store, 1))[-1] == ("decision", "approved")
        await asked.answer(store, "reject", which=2)
        await store.append(asked.fail() if ending is None else asked.complete("", ending))
        ends = [(await asked.steps(store, each))[-1][1] for each in range(3)]
        assert ends == ["started", "not_run", "rejected"], ending
        await store.note_outcome(asked.ids[0], "ok", code=None, receipt=None)
        assert (await asked.steps(store, 0))[-1] == ("outcome", "ok")


async def what_a_graph_does_by_itself_has_no_outcome(store: Store) -> None:
    """Nobody knows here whether it was done: no grant lets it begin."""
    asked = Asked()
    await store.begin(asked.opening(principal=asked.principal))
    asked.ids = [PauseId(new_id("cnf"))]
    payload: JsonValue = {"tool_call_id": "call_1", "name": "send_mail", "risk": "write"}
    own = Pause(pause_id=asked.ids[0], kind="confirmation", payload=payload, requested_ms=0)
    await store.append(asked.put(more=[own]))
    assert await asked.answer(store)
    await store.append(asked.complete("Sent."))

    assert await store.close_actions() == 0
    assert (await asked.steps(store))[-1] == ("decision", "approved")


async def an_old_approval_never_grants_a_newer_request(store: Store) -> None:
    """Each confirmation is answered by its own id, and grants its own action."""
    asked = await _asked(store, 2)
    assert await asked.answer(store, which=0)
    await store.append(asked.put(*asked.ids))

    assert not await asked.answer(store, which=0)
    assert not await asked.take(store, which=1)
    assert await asked.answer(store, which=1)
    assert await asked.take(store, which=1)
    assert await asked.take(store, which=0)


async def the_audit_tells_a_confirmation_from_proposal_to_outcome(store: Store) -> None:
    """Who, what, when and what came of it, in order, and none of the member's words."""
    asked = await _asked(store)
    await asked.answer(store)
    await asked.take(store)
    await store.note_outcome(asked.ids[0], "ok", code=None, receipt="cb_7")
    await store.note_outcome(asked.ids[0], "tool_failed", code="late", receipt=None)

    entries = await store.audit(AuditQuery(conversation_id=asked.conversation_id))
    assert [(each.step, each.result) for each in entries] == [
        ("proposal", "proposed"),
        ("decision", "approved"),
        ("start", "started"),
        ("outcome", "ok"),
    ]
    assert [each.decided_by for each in entries] == [None, _WHO, None, None]
    assert [each.receipt for each in entries] == [None, None, None, "cb_7"]
    assert [each.at_ms for each in entries] == sorted(each.at_ms for each in entries)
    for each in entries:
        assert (each.principal, each.tool, each.risk) == (_WHO, _TOOL, "send")
        assert (each.arguments_hash, each.turn_id) == (_HASH, asked.turn_id)
    assert "7700" not in str(entries)
    assert "a bill" not in str(entries)


async def a_failure_is_told_with_its_code(store: Store) -> None:
    """``tool_failed`` and ``unknown`` are outcomes of their own; nothing is noted unbegun."""
    failed, unknown, unbegun = [await _asked(store) for _ in range(3)]
    for each in (failed, unknown):
        await each.answer(store)
        await each.take(store)
    await store.note_outcome(failed.ids[0], "tool_failed", code="busy", receipt=None)
    await store.note_outcome(unknown.ids[0], "unknown", code="outcome_unknown", receipt=None)
    await store.note_outcome(unbegun.ids[0], "ok", code=None, receipt=None)

    ended = [each for each in await store.audit(AuditQuery()) if each.step == "outcome"]
    assert [(each.result, each.code) for each in ended] == [
        ("tool_failed", "busy"),
        ("unknown", "outcome_unknown"),
    ]


async def an_approval_that_comes_too_late_is_told_as_expired(store: Store) -> None:
    """It is refused and kept; a no that comes too late is a no; the first word stands."""
    late, refused = await _asked(store, expires_in_ms=-1), await _asked(store, expires_in_ms=-1)
    assert not await late.answer(store, "approve")
    assert not await late.answer(store, "reject")
    assert not await refused.answer(store, "reject")

    assert (await late.steps(store))[1:] == [("decision", "expired")]
    assert (await refused.steps(store))[1:] == [("decision", "rejected")]
    assert not await late.take(store)
    [record] = await store.pauses(late.conversation_id)
    assert record.phase == "open"


async def what_expired_beside_an_answer_is_told_and_grants_nothing(store: Store) -> None:
    """The turn does not wait for what nobody can answer; what is not late goes on waiting."""
    asked, question = Asked(), PauseId("pse_1")
    await store.begin(asked.opening(principal=asked.principal))
    asked.ids = [PauseId(new_id("cnf")) for _ in range(3)]
    late = Pause(pause_id=question, kind="input", payload=None, requested_ms=0, expires_ms=1)
    put = asked.put(*asked.ids, late=asked.ids[1:2], more=[late])
    await store.append(put)
    assert await asked.answer(store)

    records = {each.pause.pause_id: each for each in await store.pauses(asked.conversation_id)}
    told = [(records[each].phase, records[each].decision) for each in (*asked.ids, question)]
    gone = ("dropped", "expired")
    assert told == [("answered", "approve"), gone, ("open", None), gone]
    assert asked.gone == [records[asked.ids[1]], records[question]]
    assert (await asked.steps(store, 1))[1:] == [("decision", "expired")]
    assert (await asked.steps(store, 2))[1:] == []
    assert [await asked.take(store, each) for each in range(3)] == [True, False, False]
    await store.append(asked.put(asked.ids[2]))
    assert not await asked.answer(store, which=1)
    assert await asked.answer(store, which=2)
    assert asked.gone == []


async def a_refused_answer_leaves_what_expired_beside_it(store: Store) -> None:
    """Where nothing is taken, nothing else is: the turn waits as before."""
    asked = Asked()
    await store.begin(asked.opening(principal=asked.principal))
    asked.ids = [PauseId(new_id("cnf")) for _ in range(3)]
    await store.append(asked.put(*asked.ids, late=asked.ids[:2]))

    assert not await asked.answer(store, which=0)
    phases = {each.phase for each in await store.pauses(asked.conversation_id)}
    assert phases == {"open"}
    assert (await asked.steps(store, 1))[1:] == []
    assert await asked.answer(store, which=2)
    assert [each.pause.pause_id for each in asked.gone] == asked.ids[:2]
    assert (await asked.steps(store, 0))[1:] == [("decision", "expired")]


async def a_confirmation_that_nobody_answers_is_told_as_dropped(store: Store) -> None:
    """Where the member asks something else; one whose time was over by then has expired."""
    asked, expired = await _asked(store), await _asked(store, expires_in_ms=-1)
    for each in (asked, expired):
        ending = [*each.start(), *each.complete("", "cancelled")]
        ending = [one._replace(ts_ms=system_now()) for one in ending]
        await store.close_paused(each.turn_id, ending)

    assert (await asked.steps(store))[1:] == [("decision", "dropped")]
    assert (await expired.steps(store))[1:] == [("decision", "expired")]


async def a_question_that_waits_on_is_proposed_once(store: Store) -> None:
    """A confirmation that is announced again has one entry."""
    asked = await _asked(store, 2)
    await asked.answer(store, which=0)
    await store.append(asked.put(asked.ids[1]))

    assert await asked.steps(store, 1) == [("proposal", "proposed")]


async def what_a_crash_left_open_is_told_as_unknown(store: Store) -> None:
    """A begun action without an outcome gets one, once; what has one keeps it."""
    begun, done, waiting = [await _asked(store) for _ in range(3)]
    for each in (begun, done):
        await each.answer(store)
        await each.take(store)
    await store.note_outcome(done.ids[0], "ok", code=None, receipt=None)

    assert await store.close_actions() == 1
    assert await store.close_actions() == 0
    assert (await begun.steps(store))[-1] == ("outcome", "unknown")
    assert (await done.steps(store))[-1] == ("outcome", "ok")
    assert await waiting.steps(store) == [("proposal", "proposed")]
    await store.note_outcome(begun.ids[0], "ok", code=None, receipt=None)
    assert (await begun.steps(store))[-1] == ("outcome", "unknown")


async def erasing_leaves_the_audit(store: Store) -> None:
    """The entries stay; the grant goes, and an action that had begun is still noted."""
    asked, begun = await _asked(store), await _asked(store)
    for each in (asked, begun):
        await each.answer(store)
    await begun.take(store)
    for each in (asked, begun):
        await store.erase(each.conversation_id)
    await store.note_outcome(begun.ids[0], "ok", code=None, receipt="cb_1")

    assert not await asked.take(store)
    assert (await asked.steps(store))[-1] == ("decision", "approved")
    assert (await begun.steps(store))[-1] == ("outcome", "ok")


async def the_audit_is_found_by_whom_what_where_and_since(store: Store) -> None:
    """Each condition alone and all together."""
    mine, theirs = Asked(), Asked(principal="member:2")
    for each in (mine, theirs):
        await each.wait(store)

    async def found(**query: Any) -> Sequence[AuditEntry]:  # noqa: ANN401
        return await store.audit(AuditQuery(**query))

    assert {each.principal for each in await found()} == {_WHO, "member:2"}
    assert {each.principal for each in await found(principal=_WHO)} == {_WHO}
    by_place = await found(conversation_id=theirs.conversation_id)
    assert {each.principal for each in by_place} == {"member:2"}
    assert len(await found(tool=_TOOL)) == 2
    assert await found(tool="other") == []
    assert await found(since_ms=system_now() + _SOON) == []
    assert len(await found(principal=_WHO, tool=_TOOL, since_ms=system_now() - _SOON)) == 1


CHECKS: Final[tuple[Check, ...]] = (
    an_approval_grants_one_action,
    a_grant_is_for_one_member_one_tool_and_its_arguments,
    a_rejection_grants_nothing,
    a_grant_ends_with_its_turn,
    what_was_approved_and_not_begun_is_told_as_the_turn_ends,
    what_a_graph_does_by_itself_has_no_outcome,
    an_old_approval_never_grants_a_newer_request,
    the_audit_tells_a_confirmation_from_proposal_to_outcome,
    a_failure_is_told_with_its_code,
    an_approval_that_comes_too_late_is_told_as_expired,
    what_expired_beside_an_answer_is_told_and_grants_nothing,
    a_refused_answer_leaves_what_expired_beside_it,
    a_confirmation_that_nobody_answers_is_told_as_dropped,
    a_question_that_waits_on_is_proposed_once,
    what_a_crash_left_open_is_told_as_unknown,
    erasing_leaves_the_audit,
    the_audit_is_found_by_whom_what_where_and_since,
)
"""Every check, each to be given a new store."""
