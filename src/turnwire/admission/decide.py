"""The decisions themselves, from facts already gathered: pure, and tested as such."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.exceptions import ValidationError as SchemaViolation
from pydantic import JsonValue
from referencing import Registry
from referencing.exceptions import Unresolvable

from turnwire.admission.quota import require_room
from turnwire.errors import (
    AlreadyDecided,
    ConfirmationUnavailable,
    NotFound,
    RequestInvalid,
    ResumeUnavailable,
    TurnInProgress,
)
from turnwire.events import PauseKind
from turnwire.ids import ConversationId, PauseId
from turnwire.storage.base import ConversationFacts, PauseRecord, TurnRecord
from turnwire.storage.members import Charge

_OWNERS_TO_ANSWER: Final = ("input", "approval")
"""Kinds of pauses that the conversation's owner answers; reviews are for reviewers."""

IfBusy = Literal["reject", "enqueue", "interrupt"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A new turn, as far as the decision looks at it."""

    principal: str
    conversation_id: ConversationId | None
    agent: str
    if_busy: IfBusy
    body_hash: str
    now: int = 0
    """Milliseconds since 1970 in UTC."""
    charges: Sequence[Charge] = ()
    """What it would take of the caller's allowances."""
    may_open: bool = False
    """Whether the conversation may be new: its id was made for this caller by the server."""


@dataclass(frozen=True, slots=True)
class Begin:
    """The turn starts; ``dropping`` is a paused turn that nobody waits for any more."""

    dropping: TurnRecord | None = None


@dataclass(frozen=True, slots=True)
class Join:
    """The same request was made before: follow the turn that it began."""

    turn: TurnRecord


@dataclass(frozen=True, slots=True)
class WaitFor:
    """The conversation is busy: look again when this turn has ended."""

    turn: TurnRecord


@dataclass(frozen=True, slots=True)
class Interrupt:
    """The conversation is busy: stop this turn, then look again."""

    turn: TurnRecord


def admit(ask: Ask, facts: ConversationFacts) -> Begin | Join | WaitFor | Interrupt:
    """Return what becomes of a new turn.

    Raises:
        RequestInvalid: another request was made under the same idempotency key.
        QuotaExceeded: an allowance is used up.
        NotFound: the conversation is unknown, somebody else's or of another agent.
        TurnInProgress: it is busy, and the caller asked to reject.
    """
    if facts.repeated is not None:
        if facts.repeated.body_hash != ask.body_hash:
            reason = "another request was made under this key; use a new one"
            raise RequestInvalid(("Idempotency-Key", reason))
        return Join(facts.repeated)
    require_room(ask.charges, facts.used, now=ask.now)
    if not _may_use(ask, facts):
        raise NotFound("There is no such conversation.")
    active = facts.active
    if active is None or active.phase == "paused":
        return Begin(dropping=active)
    match ask.if_busy:
        case "reject":
            raise TurnInProgress
        case "enqueue":
            return WaitFor(active)
        case "interrupt":
            return Interrupt(active)


def _may_use(ask: Ask, facts: ConversationFacts) -> bool:
    known = facts.conversation
    if known is None:
        return ask.conversation_id is None or ask.may_open
    return (known.principal, known.agent) == (ask.principal, ask.agent)


def answer_review(
    pauses: Sequence[PauseRecord], *, now: int, review_id: str | None = None
) -> PauseRecord:
    """Return the review of a conversation that a reviewer's decision answers.

    A decision that names its review never answers another one; else it is the newest. An approval
    is answered only by its name.

    Raises:
        AlreadyDecided: it was decided before.
        ResumeUnavailable: there is none, it was dropped, or it expired at ``now`` (ms).
    """
    reviews = [
        each
        for each in pauses
        if (each.pause.kind == "review" and review_id in (None, each.pause.pause_id))
        or (each.pause.kind == "approval" and review_id == each.pause.pause_id)
    ]
    if not reviews:
        raise ResumeUnavailable
    return _answerable(reviews[0], now)


def answer_inputs(
    principal: str,
    pauses: Sequence[PauseRecord],
    answers: Mapping[PauseId, JsonValue],
    *,
    now: int,
) -> list[PauseRecord]:
    """Return the pauses that these answers name, each answered in its own shape.

    Raises:
        AlreadyDecided, ResumeUnavailable: as above; one text for unknown and foreign.
        RequestInvalid: an answer does not pass the question's schema.
    """
    known = {
        each.pause.pause_id: each
        for each in pauses
        if each.principal == principal and each.pause.kind in _OWNERS_TO_ANSWER
    }
    if not answers.keys() <= known.keys():
        raise ResumeUnavailable
    answered = [_answerable(known[each], now) for each in answers]
    if len({each.turn_id for each in answered}) != 1:
        raise ResumeUnavailable
    wrong = [
        (f"answers.{each.pause.pause_id}{path}", reason)
        for each in answered
        for path, reason in _mismatches(each, answers[each.pause.pause_id])
    ]
    if wrong:
        raise RequestInvalid(*wrong)
    return answered


def answer_confirmation(
    principal: str, pauses: Sequence[PauseRecord], confirmation_id: PauseId
) -> PauseRecord:
    """Return the confirmation that its owner answers; whether in time, the store judges.

    Raises:
        ConfirmationUnavailable: it is unknown, somebody else's or answered.
    """
    for each in pauses:
        mine = (each.principal, each.pause.kind, each.phase) == (principal, "confirmation", "open")
        if mine and each.pause.pause_id == confirmation_id:
            return each
    raise ConfirmationUnavailable


def answer_sign_in(
    principal: str, pauses: Sequence[PauseRecord], *, now: int
) -> Sequence[PauseRecord]:
    """Return the pauses of one turn that a sign-in of the conversation's owner answers.

    Raises:
        ResumeUnavailable: nothing of theirs waits for a sign-in.
    """
    waiting = _open(principal, pauses, "sign_in", now)
    if not waiting:
        raise ResumeUnavailable
    return waiting


def _open(
    principal: str, pauses: Sequence[PauseRecord], kind: PauseKind, now: int
) -> Sequence[PauseRecord]:
    """Return the owner's pauses of a kind that wait; a conversation has one turn that does."""
    return [
        each
        for each in pauses
        if each.principal == principal and each.pause.kind == kind and waits(each, now)
    ]


def waits(record: PauseRecord, now: int) -> bool:
    """Whether a pause can be answered at ``now`` (ms)."""
    expires = record.pause.expires_ms
    return record.phase == "open" and (expires is None or expires > now)


def _answerable(record: PauseRecord, now: int) -> PauseRecord:
    if record.phase == "answered":
        raise AlreadyDecided(record.decision or "answered")
    if not waits(record, now):
        raise ResumeUnavailable
    return record


def _mismatches(record: PauseRecord, value: JsonValue) -> list[tuple[str, str]]:
    schema = record.pause.response_schema
    if schema is None:
        return []
    try:
        Draft202012Validator.check_schema(schema)
        # The registry is empty, so that nothing is fetched that a schema may point at.
        judge = Draft202012Validator(schema, registry=Registry())
        return [
            (error.json_path.removeprefix("$"), _reason(error))
            for error in judge.iter_errors(value)
        ]
    except (SchemaError, Unresolvable):
        return []  # the graph's own schema is not one; the graph judges the answer itself


def _reason(error: SchemaViolation) -> str:
    """Return what the schema asks for, never the value: it may be anybody's secret, or huge."""
    return f"has to pass {error.validator!r}: {json.dumps(error.validator_value)[:200]}"
