"""Allowances in SQL, as functions of one connection: taken when a turn begins, settled at its end.

``meters`` says of a turn which windows it is charged to, how many tokens are held there, and how
many were charged; its rows go when the turn has ended. They outlive an erased conversation until
then, so that what it used counts.
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, bindparam, delete, select, update
from sqlalchemy.dialects import sqlite

from turnwire.ids import TurnId
from turnwire.storage.base import Conflict
from turnwire.storage.members import Charge, Used
from turnwire.storage.prepared import Prepared
from turnwire.storage.tables import METERS, USAGE

_NEW_METER: Final = sqlite.insert(METERS)
_METER: Final = Prepared(
    _NEW_METER.values({each.name: bindparam(each.name) for each in METERS.c}).on_conflict_do_update(
        index_elements=["turn_id", "subject"],
        set_={
            "start_ms": _NEW_METER.excluded.start_ms,
            "window_ms": _NEW_METER.excluded.window_ms,
            "held": METERS.c.held + _NEW_METER.excluded.held,
        },
    )
)
_NEW_USAGE: Final = sqlite.insert(USAGE)
_ADD: Final = Prepared(
    _NEW_USAGE.values({each.name: bindparam(each.name) for each in USAGE.c}).on_conflict_do_update(
        index_elements=["subject", "window_ms", "start_ms"],
        set_={
            "messages": USAGE.c.messages + _NEW_USAGE.excluded.messages,
            "tokens": USAGE.c.tokens + _NEW_USAGE.excluded.tokens,
        },
    )
)
"""Add to a window, which is made where it is missing."""

_WINDOW: Final = (USAGE.c.subject, USAGE.c.window_ms, USAGE.c.start_ms)
_USED: Final = Prepared(
    select(USAGE.c.messages, USAGE.c.tokens).where(
        *(each == bindparam(each.name) for each in _WINDOW)
    )
)


def used(db: Connection, charges: Sequence[Charge]) -> tuple[Used, ...]:
    """Return what was used of each charge's window."""
    return tuple(_used(db, each) for each in charges)


def _used(db: Connection, charge: Charge) -> Used:
    window = {
        "subject": charge.subject,
        "window_ms": charge.window_ms,
        "start_ms": charge.start_ms,
    }
    found = _USED.rows(db, window)
    return Used(found[0]["messages"], found[0]["tokens"]) if found else Used()


def take(db: Connection, turn_id: TurnId, charges: Sequence[Charge]) -> None:
    """Charge a turn's message and hold its tokens, or raise ``Conflict`` where nothing is left."""
    for each, so_far in zip(charges, used(db, charges), strict=True):
        if not so_far.leaves_room(each):
            raise Conflict
        _count(db, each, so_far, tokens=each.held)
        meter = {
            "turn_id": turn_id,
            "subject": each.subject,
            "window_ms": each.window_ms,
            "start_ms": each.start_ms,
            "held": each.held,
            "charged": 0,
        }
        _METER.run(db, meter)


def charge(db: Connection, charges: Sequence[Charge]) -> tuple[Charge, ...]:
    """Count a message for each charge and return nothing, or count none and return the full."""
    before = list(zip(charges, used(db, charges), strict=True))
    full = tuple(each for each, so_far in before if not so_far.leaves_room(each))
    for each, so_far in () if full else before:
        _count(db, each, so_far, tokens=0)
    return full


def go_on(db: Connection, turn_id: TurnId, *, now: int) -> None:
    """Charge what the turn takes from ``now`` (ms) on to the window of that time."""
    start = now - now % METERS.c.window_ms
    db.execute(update(METERS).where(METERS.c.turn_id == turn_id).values(start_ms=start))


def settle(db: Connection, turn_id: TurnId, tokens: int, *, is_over: bool) -> None:
    """Charge the ``tokens`` that the whole turn has used so far, and give back what was held."""
    mine = METERS.c.turn_id == turn_id
    rows = db.execute(select(METERS).where(mine)).all()
    if not rows:
        return
    for row in rows:
        change = max(tokens, row.charged) - row.charged - row.held
        _add(db, row.subject, row.window_ms, row.start_ms, messages=0, tokens=change)
    if is_over:
        db.execute(delete(METERS).where(mine))
    else:
        db.execute(update(METERS).where(mine).values(held=0, charged=tokens))


def _count(db: Connection, charge: Charge, so_far: Used, *, tokens: int) -> None:
    _add(db, charge.subject, charge.window_ms, charge.start_ms, messages=1, tokens=tokens)
    if so_far == Used():  # a new window: everybody's older ones are of no use any more
        of_length = USAGE.c.window_ms == charge.window_ms
        db.execute(delete(USAGE).where(of_length, USAGE.c.start_ms < charge.start_ms))


def _add(
    db: Connection, subject: str, window_ms: int, start_ms: int, *, messages: int, tokens: int
) -> None:
    _ADD.run(
        db,
        {
            "subject": subject,
            "window_ms": window_ms,
            "start_ms": start_ms,
            "messages": messages,
            "tokens": tokens,
        },
    )
