"""Answers to approvals: what the store is told, and what the graph."""

from collections.abc import Mapping
from typing import cast

from pydantic import JsonValue

from turnwire.errors import RequestInvalid
from turnwire.nodes.tools.arguments import hash_of
from turnwire.storage.audited import is_action
from turnwire.storage.base import Answer, PauseRecord


def approves(decision: str, edited_text: str | None) -> bool:
    """Return what a reviewer's decision says about an approval.

    Raises:
        RequestInvalid: there is no draft to edit.
    """
    if decision == "edit" or edited_text is not None:
        reason = "an approval is approved or rejected; edit its parameters with `answers`"
        raise RequestInvalid(("decision", reason))
    return decision == "approve"


def answered(record: PauseRecord, value: JsonValue, *, by: str) -> Answer:
    """Return the answer to an approval or an input, for the store and for the audit."""
    pause = record.pause
    if not _is_gate(record):
        return Answer(pause_id=pause.pause_id, decision="answered", decided_by=by)
    said = _object(value)
    asked = _object(pause.payload)
    edited = said.get("edited_params")
    tool = asked.get("name")
    hashed = hash_of(tool, edited) if isinstance(edited, dict) and isinstance(tool, str) else None
    return Answer(
        pause_id=pause.pause_id,
        decision="approve" if said.get("approved") is True else "reject",
        decided_by=by,
        arguments_hash=hashed,
    )


def told(record: PauseRecord, value: JsonValue) -> JsonValue:
    """Return what the graph is told; of an action's approval also the id that its grant goes by."""
    if not _is_gate(record):
        return value
    return {**_object(value), "approval_id": record.pause.pause_id}


def _is_gate(record: PauseRecord) -> bool:
    """Whether this is the approval of an action, and not a graph's own question."""
    return record.pause.kind == "approval" and is_action(record)


def _object(value: JsonValue) -> Mapping[str, JsonValue]:
    return cast("Mapping[str, JsonValue]", value) if isinstance(value, dict) else {}
