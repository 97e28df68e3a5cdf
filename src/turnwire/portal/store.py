"""The portal's SQLite: members, tokens as hashes, and a ledger of what really happened.

It is used by one thread at a time. Each write is a transaction of its own, in write-ahead logging:
a process that is killed loses nothing that it has answered, and does nothing by half.
"""

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Self

from pydantic import JsonValue

from turnwire.errors import SetupError, TurnwireError
from turnwire.portal.records import Member, Plan, Record, seed

_VERSION: Final = 2
_TABLES: Final = (
    "CREATE TABLE plans (plan_id TEXT PRIMARY KEY, facts TEXT NOT NULL)",
    "CREATE TABLE members (member_number TEXT PRIMARY KEY, mobile TEXT NOT NULL UNIQUE, "
    "facts TEXT NOT NULL)",
    "CREATE TABLE tokens (digest TEXT PRIMARY KEY, member_number TEXT NOT NULL, "
    "expires_ms INTEGER NOT NULL)",
    "CREATE TABLE actions (action_id INTEGER PRIMARY KEY, kind TEXT NOT NULL, "
    "member_number TEXT NOT NULL, idempotency_key TEXT, asked TEXT NOT NULL, "
    "answer TEXT NOT NULL, created_at TEXT NOT NULL)",
    "CREATE TABLE desk (name TEXT NOT NULL, position INTEGER NOT NULL, facts TEXT NOT NULL, "
    "PRIMARY KEY (name, position))",
    "CREATE INDEX actions_by_key ON actions (member_number, kind, idempotency_key)",
)

Kind = Literal["callback", "address_change", "order_release"]
Json = dict[str, JsonValue]


class KeyReused(TurnwireError):
    """The ``Idempotency-Key`` was sent before, with another body."""

    code, status = "idempotency_key_reused", 422

    def __init__(self) -> None:
        super().__init__("This Idempotency-Key was sent with another body; take a new one.")


class NotBlocked(TurnwireError):
    """The purchase order is not one that waits for its release."""

    code, status = "not_blocked", 409

    def __init__(self) -> None:
        super().__init__("There is no purchase order of this number that is blocked.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What a member, or somebody of the staff, has done in the portal."""

    kind: Kind
    member_number: str
    """Of staff, their name."""
    asked: Mapping[str, JsonValue]
    """The body of the request."""
    answer: Json
    created_at: str


class PortalStore:
    """Everything in one file; an empty one is filled with the members that ship."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it.

        Raises:
            SetupError: the file can't be opened or is no database.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = NORMAL")
                self._fill()
            except BaseException:
                self._db.close()
                raise
        except sqlite3.Error as error:
            raise SetupError(
                f"the demo portal can't use {path} ({error}); it holds made-up members only, so "
                "remove it, or choose another --data-dir"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def knows(self, mobile: str) -> bool:
        """Whether a member has this number."""
        return self._number(mobile) is not None

    def new_token(self, mobile: str, *, expires_ms: int) -> str | None:
        """Return a new token of the member with this number; the store keeps a hash of it."""
        number = self._number(mobile)
        if number is None:
            return None
        token = secrets.token_urlsafe(32)
        with self._writing():
            self._db.execute(
                "INSERT INTO tokens VALUES (?, ?, ?)", (_digest(token), number, expires_ms)
            )
        return token

    def member(self, token: str, *, now_ms: int) -> Member | None:
        """Return whose token it is, or none where it is unknown or has expired."""
        found = self._db.execute(
            "SELECT facts FROM members JOIN tokens USING (member_number) "
            "WHERE digest = ? AND expires_ms > ?",
            (_digest(token), now_ms),
        ).fetchone()
        return Member.model_validate_json(found[0]) if found else None

    def plan(self, plan_id: str) -> Plan:
        """Return a member's plan."""
        found = self._db.execute("SELECT facts FROM plans WHERE plan_id = ?", (plan_id,)).fetchone()
        return Plan.model_validate_json(found[0])

    def act(self, action: Action, *, key: str | None) -> tuple[Json, bool]:
        """Do an action once for its key; return its answer, and whether that is an earlier one.

        Raises:
            KeyReused: the member sent the key before, with another body.
        """
        asked = json.dumps(action.asked, sort_keys=True)
        with self._writing():
            if key is not None and (before := self._before(action, key)):
                if before[0] != asked:
                    raise KeyReused
                return json.loads(before[1]), True
            self._db.execute(
                "INSERT INTO actions (kind, member_number, idempotency_key, asked, answer, "
                "created_at) VALUES (?, ?, ?, ?, ?, ?)",
                (
                    action.kind,
                    action.member_number,
                    key,
                    asked,
                    json.dumps(action.answer),
                    action.created_at,
                ),
            )
            self._change(action, asked)
        return action.answer, False

    def table(self, name: str) -> list[Json]:
        """Return the rows of one of the order desk's tables; none where there is no such table."""
        rows = self._db.execute("SELECT facts FROM desk WHERE name = ? ORDER BY position", (name,))
        return [json.loads(facts) for (facts,) in rows]

    def _change(self, action: Action, asked: str) -> None:
        if action.kind == "address_change":
            self._db.execute(
                "UPDATE members SET facts = json_set(facts, '$.address', json(?)) "
                "WHERE member_number = ?",
                (asked, action.member_number),
            )
        elif action.kind == "order_release":
            done = self._db.execute(
                "UPDATE desk SET facts = json_set(facts, '$.status', 'released') "
                "WHERE name = 'purchase_orders' AND facts ->> '$.order' = ? "
                "AND facts ->> '$.status' = 'blocked'",
                (action.asked["order"],),
            )
            if done.rowcount != 1:
                raise NotBlocked

    def actions(self) -> list[Json]:
        """Return all that really happened, in order."""
        rows = self._db.execute(
            "SELECT kind, member_number, idempotency_key, asked, answer, created_at FROM actions "
            "ORDER BY action_id"
        )
        return [
            {
                "kind": kind,
                "member_number": number,
                "idempotency_key": key,
                "body": json.loads(asked),
                "answer": json.loads(answer),
                "created_at": at,
            }
            for kind, number, key, asked, answer, at in rows
        ]

    def callbacks(self, member_number: str) -> list[Json]:
        """Return the call-backs that a member has asked for, latest first."""
        rows = self._db.execute(
            "SELECT answer FROM actions WHERE kind = 'callback' AND member_number = ? "
            "ORDER BY action_id DESC",
            (member_number,),
        )
        return [json.loads(answer) for (answer,) in rows]

    def forget_actions(self) -> None:
        """Empty the ledger, with the answers that keys got; addresses stay as they were changed."""
        with self._writing():
            self._db.execute("DELETE FROM actions")

    def _number(self, mobile: str) -> str | None:
        found = self._db.execute(
            "SELECT member_number FROM members WHERE mobile = ?", (mobile,)
        ).fetchone()
        return found[0] if found else None

    def _before(self, action: Action, key: str) -> tuple[str, str] | None:
        return self._db.execute(
            "SELECT asked, answer FROM actions WHERE member_number = ? AND kind = ? "
            "AND idempotency_key = ? ORDER BY action_id LIMIT 1",
            (action.member_number, action.kind, key),
        ).fetchone()

    @contextmanager
    def _writing(self) -> Generator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def _fill(self) -> None:
        with self._writing():
            if self._db.execute("PRAGMA user_version").fetchone()[0] == _VERSION:
                return
            # What another version left is made up as well, and is made anew.
            left = "SELECT name FROM sqlite_master WHERE type = 'table'"
            for (name,) in self._db.execute(left).fetchall():
                self._db.execute(f'DROP TABLE "{name}"')
            for each in _TABLES:
                self._db.execute(each)
            begin = seed()
            self._db.executemany(
                "INSERT INTO plans VALUES (?, ?)",
                [(each.plan_id, each.model_dump_json()) for each in begin.plans],
            )
            self._db.executemany(
                "INSERT INTO members VALUES (?, ?, ?)",
                [
                    (each.member_number, each.mobile, each.model_dump_json())
                    for each in begin.members
                ],
            )
            desk = begin.desk
            tables: dict[str, tuple[Record, ...]] = {
                "suppliers": desk.suppliers,
                "purchase_orders": desk.purchase_orders,
                "order_items": desk.order_items,
            }
            self._db.executemany(
                "INSERT INTO desk VALUES (?, ?, ?)",
                [
                    (name, at, each.model_dump_json())
                    for name, rows in tables.items()
                    for at, each in enumerate(rows)
                ],
            )
            self._db.execute(f"PRAGMA user_version = {_VERSION}")


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
