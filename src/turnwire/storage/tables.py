"""The tables, for SQLite and for PostgreSQL alike."""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    event,
    text,
)

VERSION: Final = 3
"""Raised by every change of the tables, together with a step in :data:`UPGRADES`."""

METADATA: Final = MetaData()

META: Final = Table(
    "meta", METADATA, Column("name", String, primary_key=True), Column("value", String)
)

CONVERSATIONS: Final = Table(
    "conversations",
    METADATA,
    Column("conversation_id", String, primary_key=True),
    Column("principal", String, nullable=False),
    Column("agent", String, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("updated_ms", BigInteger, nullable=False),
    Column("turns", Integer, nullable=False),
    Index("conversations_by_principal", "principal", "updated_ms"),
)

TURNS: Final = Table(
    "turns",
    METADATA,
    Column("position", Integer, primary_key=True, autoincrement=True),
    Column("turn_id", String, nullable=False, unique=True),
    Column("conversation_id", String, nullable=False),
    Column("principal", String, nullable=False),
    Column("agent", String, nullable=False),
    Column("phase", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("messages", Text, nullable=False),
    Column("locale", String, nullable=False),
    Column("trace_id", String, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("idempotency_key", String),
    Column("body_hash", String),
    Column("last_seq", Integer, nullable=False),
    Column("content", Text, nullable=False),
    Column("finish_reason", String),
    Column("error_code", String),
    Column("citations", Text, nullable=False),
    Column("updated_ms", BigInteger, nullable=False),
    UniqueConstraint("principal", "idempotency_key"),
    Index("turns_by_conversation", "conversation_id", "position"),
    Index(
        "one_active_turn",
        "conversation_id",
        unique=True,
        sqlite_where=text("phase IN ('running', 'paused')"),
        postgresql_where=text("phase IN ('running', 'paused')"),
    ),
    Index(
        "turns_running",
        "phase",
        sqlite_where=text("phase = 'running'"),
        postgresql_where=text("phase = 'running'"),
    ),
)

EVENTS: Final = Table(
    "events",
    METADATA,
    Column("turn_id", String, primary_key=True),
    Column("first_seq", Integer, primary_key=True),
    Column("last_seq", Integer, nullable=False),
    Column("packed", Text, nullable=False),
)
"""Events that were flushed together are one row: a commit for each would cost twenty times more."""

PAUSES: Final = Table(
    "pauses",
    METADATA,
    Column("position", Integer, primary_key=True, autoincrement=True),
    Column("pause_id", String, nullable=False, unique=True),
    Column("turn_id", String, nullable=False),
    Column("conversation_id", String, nullable=False),
    Column("principal", String, nullable=False),
    Column("agent", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("pause", Text, nullable=False),
    Column("draft", Text, nullable=False),
    Column("expires_ms", BigInteger),
    Column("phase", String, nullable=False),
    Column("decision", String),
    Column("decided_by", String),
    Index("pauses_by_conversation", "conversation_id"),
    Index("pauses_by_turn", "turn_id"),
    Index("pauses_by_phase", "phase", "kind"),
)

KEYS: Final = Table(
    "api_keys",
    METADATA,
    Column("key_id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("environment", String, nullable=False),
    Column("scopes", String, nullable=False),
    Column("secret_hash", String, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("revoked_ms", BigInteger),
    Column("per_minute", Integer),
    Column("last_used_ms", BigInteger),
    Column("previous_hash", String),
    Column("previous_until_ms", BigInteger),
)

SECRETS: Final = Table(
    "secrets",
    METADATA,
    Column("kind", String, primary_key=True),
    Column("secret_hash", String, primary_key=True),
    Column("expires_ms", BigInteger, nullable=False),
)

SESSIONS: Final = Table(
    "sessions",
    METADATA,
    Column("session_hash", String, primary_key=True),
    Column("member", String, nullable=False),
    Column("application", String, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("seen_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger, nullable=False),
    Index("sessions_by_expiry", "expires_ms"),
)

CODES: Final = Table(
    "sign_in_codes",
    METADATA,
    Column("member", String, primary_key=True),
    Column("session_hash", String, nullable=False, index=True),
    Column("code_hash", String, nullable=False),
    Column("expires_ms", BigInteger, nullable=False, index=True),
    Column("tries", Integer, nullable=False),
    Column("is_taken", Boolean, nullable=False),
)
"""The code that each member asked for last; ``is_taken`` while its credential is fetched."""

CREDENTIALS: Final = Table(
    "credentials",
    METADATA,
    Column("member", String, primary_key=True),
    Column("session_hash", String, nullable=False, index=True),
    Column("sealed", Text, nullable=False),
    Column("expires_ms", BigInteger, index=True),
)

USAGE: Final = Table(
    "usage",
    METADATA,
    Column("subject", String, primary_key=True),
    Column("window_ms", BigInteger, primary_key=True),
    Column("start_ms", BigInteger, primary_key=True),
    Column("messages", Integer, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Index("usage_by_window", "window_ms", "start_ms"),
)
"""What was used of each window, with what is held for turns that run."""

METERS: Final = Table(
    "meters",
    METADATA,
    Column("turn_id", String, primary_key=True),
    Column("subject", String, primary_key=True),
    Column("window_ms", BigInteger, nullable=False),
    Column("start_ms", BigInteger, nullable=False),
    Column("held", BigInteger, nullable=False),
    Column("charged", BigInteger, nullable=False),
)
"""Which windows a turn that has not ended is charged to."""

AUDIT: Final = Table(
    "tool_audit",
    METADATA,
    Column("position", Integer, primary_key=True, autoincrement=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("step", String, nullable=False),
    Column("result", String, nullable=False),
    Column("confirmation_id", String, nullable=False),
    Column("conversation_id", String, nullable=False),
    Column("turn_id", String, nullable=False),
    Column("principal", String, nullable=False),
    Column("agent", String, nullable=False),
    Column("tool", String, nullable=False),
    Column("risk", String, nullable=False),
    Column("arguments_hash", String, nullable=False),
    Column("decided_by", String),
    Column("code", String),
    Column("receipt", String),
    # An action is begun by the one who adds its start; see docs/decisions.
    UniqueConstraint("confirmation_id", "step"),
    Index("audit_by_conversation", "conversation_id"),
    Index("audit_by_principal", "principal"),
)
for _change in ("UPDATE", "DELETE"):
    event.listen(
        AUDIT,
        "after_create",
        DDL(
            f"CREATE TRIGGER tool_audit_no_{_change.lower()} BEFORE {_change} ON tool_audit "
            "BEGIN SELECT RAISE(ABORT, 'tool_audit is append-only'); END"
        ),
    )

RECEIPTS: Final = Table(
    "receipts",
    METADATA,
    Column("turn_id", String, primary_key=True),
    Column("receipt", Text, nullable=False),
)

SPECS: Final = Table(
    "agent_specs",
    METADATA,
    Column("slug", String, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("phase", String, nullable=False),
    Column("text", Text, nullable=False),
    Column("author", String, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
)

UPGRADES: Final[Mapping[int, Sequence[str]]] = {
    1: (
        "ALTER TABLE api_keys ADD COLUMN per_minute INTEGER",
        "ALTER TABLE api_keys ADD COLUMN last_used_ms BIGINT",
        "ALTER TABLE api_keys ADD COLUMN previous_hash VARCHAR",
        "ALTER TABLE api_keys ADD COLUMN previous_until_ms BIGINT",
    ),
    2: (),  # agent_specs is new
}
"""What makes the tables of a version those of the next one. A new table needs no statement: it is
made where it is missing."""
