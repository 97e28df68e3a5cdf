"""Records as rows and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from pydantic import TypeAdapter
from sqlalchemy import RowMapping

from turnwire.events import Citation, Pause
from turnwire.storage.audit import AuditEntry
from turnwire.storage.base import ConversationRecord, KeyRecord, PauseRecord, TurnRecord
from turnwire.work import Message

_MESSAGES: Final = TypeAdapter(tuple[Message, ...])
_CITATIONS: Final = TypeAdapter(tuple[Citation, ...])


def turn_values(changed: Mapping[str, object]) -> dict[str, object]:
    """Return fields of a turn record as column values."""
    values = dict(changed)
    if "messages" in values:
        values["messages"] = _MESSAGES.dump_json(values["messages"]).decode()  # pyright: ignore[reportArgumentType]
    if "citations" in values:
        values["citations"] = _CITATIONS.dump_json(values["citations"]).decode()  # pyright: ignore[reportArgumentType]
    return values


def new_turn_values(turn: TurnRecord) -> dict[str, object]:
    """Return a whole turn as column values."""
    fields = {name: getattr(turn, name) for name in turn.__dataclass_fields__}
    return turn_values(fields)


def turn_record(row: RowMapping) -> TurnRecord:
    """Return the turn of a row."""
    fields = {name: row[name] for name in TurnRecord.__dataclass_fields__}
    fields["messages"] = _MESSAGES.validate_json(fields["messages"])
    fields["citations"] = _CITATIONS.validate_json(fields["citations"])
    return TurnRecord(**fields)


def pause_values(record: PauseRecord) -> dict[str, object]:
    """Return a pause as column values."""
    return {
        "pause_id": record.pause.pause_id,
        "turn_id": record.turn_id,
        "conversation_id": record.conversation_id,
        "principal": record.principal,
        "agent": record.agent,
        "kind": record.pause.kind,
        "pause": record.pause.model_dump_json(),
        "draft": record.draft,
        "expires_ms": record.pause.expires_ms,
        "phase": record.phase,
    }


def pause_record(row: RowMapping) -> PauseRecord:
    """Return the pause of a row."""
    kept = ("turn_id", "conversation_id", "principal", "agent", "phase", "decision", "decided_by")
    fields: dict[str, Any] = {name: row[name] for name in kept}
    pause = Pause.model_validate_json(row["pause"])
    return PauseRecord(pause=pause, draft=row["draft"], **fields)


def audit_entry(row: RowMapping) -> AuditEntry:
    """Return the audit's entry of a row."""
    return AuditEntry(**{name: row[name] for name in AuditEntry.__dataclass_fields__})


def conversation_record(row: RowMapping) -> ConversationRecord:
    """Return the conversation of a row."""
    return ConversationRecord(**{n: row[n] for n in ConversationRecord.__dataclass_fields__})


def key_values(key: KeyRecord) -> dict[str, Any]:
    """Return a key as column values."""
    return asdict(key) | {"scopes": " ".join(key.scopes)}


def key_record(row: RowMapping) -> KeyRecord:
    """Return the key of a row."""
    fields: dict[str, Any] = {name: row[name] for name in KeyRecord.__dataclass_fields__}
    fields["scopes"] = tuple(fields["scopes"].split())
    return KeyRecord(**fields)
