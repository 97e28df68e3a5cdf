"""Which entries of the audit a confirmation's record makes, and what it grants."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pydantic import JsonValue

from turnwire.storage.audit import AuditEntry, Result, Step
from turnwire.storage.base import Answer, PauseRecord

KINDS: Final = ("confirmation", "approval")
"""Pauses that may be about an action."""
_LONGEST: Final = 128


def proposal(record: PauseRecord) -> AuditEntry:
    """Return the entry of a confirmation that was put to a member."""
    asked = payload_of(record)
    return AuditEntry(
        at_ms=record.pause.requested_ms,
        step="proposal",
        result="proposed",
        confirmation_id=record.pause.pause_id,
        conversation_id=record.conversation_id,
        turn_id=record.turn_id,
        principal=record.principal,
        agent=record.agent,
        tool=_text(asked, "name"),
        risk=_text(asked, "risk"),
        arguments_hash=_text(asked, "arguments_hash"),
    )


def decision(record: PauseRecord, answer: Answer | None, *, at: int) -> AuditEntry:
    """Return the entry of an answer at ``at`` (ms), or of a confirmation that is dropped then."""
    expires = record.pause.expires_ms
    late = expires is not None and expires <= at
    result: Result = "expired" if late else "dropped"
    if answer is not None and answer.decision != "approve":
        result = "rejected"  # a no that comes too late is a no
    elif answer is not None and not late:
        result = "approved"
    decided_by = answer.decided_by if answer else None
    asked = proposal(record)
    agreed = (answer.arguments_hash if answer else None) or asked.arguments_hash
    return replace(
        asked,
        at_ms=at,
        step="decision",
        result=result,
        decided_by=decided_by,
        arguments_hash=agreed,
    )


def following(entry: AuditEntry, step: Step, result: Result, *, at: int) -> AuditEntry:
    """Return the entry of a later step of the same confirmation."""
    return replace(
        entry, at_ms=at, step=step, result=result, decided_by=None, code=None, receipt=None
    )


def left(approved: AuditEntry, *, is_begun: bool, at: int) -> AuditEntry:
    """Return the outcome of an approved action that nobody carries out any more."""
    return following(approved, "outcome", "unknown" if is_begun else "not_run", at=at)


def is_granted(entry: AuditEntry) -> bool:
    """Whether an action was approved that only its grant lets begin.

    One without a hash is a graph's own: what it does, it does by itself.
    """
    return entry.result == "approved" and entry.arguments_hash != ""


def confirmations(records: Iterable[PauseRecord]) -> list[PauseRecord]:
    """Return those that are audited: an approval that is about no action is not."""
    return [each for each in records if is_action(each)]


def is_action(record: PauseRecord) -> bool:
    """Whether a person is asked about an action."""
    if record.pause.kind == "approval":
        return bool(payload_of(record).get("arguments_hash"))
    return record.pause.kind in KINDS


def past(
    records: Iterable[PauseRecord], answered: Collection[str], *, at: int
) -> list[PauseRecord]:
    """Return those that nobody can answer at ``at`` (ms) any more, with that as their decision.

    ``answered``: the ids of those that are answered now.
    """
    return [
        replace(each, phase="dropped", decision="expired")
        for each in records
        if each.pause.pause_id not in answered and expired([each], at=at)
    ]


def expired(records: Sequence[PauseRecord], *, at: int) -> bool:
    """Whether one of these that are open can't be answered at ``at`` (ms) any more."""
    return any(
        each.phase == "open" and each.pause.expires_ms is not None and each.pause.expires_ms <= at
        for each in records
    )


def grants(record: PauseRecord | None, agreed: AuditEntry | None, *, principal: str) -> bool:
    """Whether this pause was approved, by the entry of its decision, for an action of its owner."""
    if record is None or agreed is None or not is_action(record):
        return False
    return (record.phase, record.decision) == ("answered", "approve") and (
        record.principal == principal
    )


def covers(agreed: AuditEntry, *, tool: str, arguments_hash: str) -> bool:
    """Whether what was approved is this tool with these arguments."""
    return (agreed.result, agreed.tool, agreed.arguments_hash) == ("approved", tool, arguments_hash)


def payload_of(record: PauseRecord) -> Mapping[str, JsonValue]:
    """Return what was asked, or nothing where a graph asked in another shape."""
    payload = record.pause.payload
    return payload if isinstance(payload, dict) else {}


def _text(asked: Mapping[str, JsonValue], name: str) -> str:
    value = asked.get(name)
    return value[:_LONGEST] if isinstance(value, str) else ""
