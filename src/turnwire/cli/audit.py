"""``turnwire audit``: what was proposed to members, decided and done."""

import csv
import json
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from turnwire.cli.output import STDOUT, AsJson, DataDir, literal
from turnwire.cli.store import with_store
from turnwire.clock import system_now
from turnwire.errors import SetupError
from turnwire.settings import read
from turnwire.storage.audit import AuditEntry, AuditQuery
from turnwire.wires.base import iso

_COLUMNS: Final = (
    *("at", "step", "result", "tool", "risk", "confirmation_id", "conversation_id", "turn_id"),
    *("principal", "decided_by", "arguments_hash", "code", "receipt", "agent"),
)
_SHOWN: Final = ("at", "result", "tool", "code", "receipt", "confirmation_id")
_AGO: Final = re.compile(r"([0-9]{1,6})([mhd])", re.ASCII)
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}


_WIDE: Final = 400
"""Columns of a line that nothing folds."""


def audit(  # noqa: PLR0913 - one an option
    conversation: Annotated[str | None, typer.Option(help="Of this conversation only.")] = None,
    member: Annotated[str | None, typer.Option(help="Of this member only, by their id.")] = None,
    tool: Annotated[str | None, typer.Option(help="Of this tool only.")] = None,
    since: Annotated[
        str | None,
        typer.Option(help="From this time on: 2026-11-30, 2026-11-30T10:00Z, or 90m, 24h, 7d ago."),
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List what was proposed to members, what they decided, and what was done; oldest first.

    A server may run meanwhile. Nothing of a member's words is in it, and erasing a conversation
    leaves it.

    Example: turnwire audit --since 7d --csv > audit.csv
    """
    if as_csv and as_json:
        raise SetupError("--json and --csv are two forms; choose one")
    settings = read(data_dir=data_dir)
    if not (settings.data_dir / "turnwire.db").is_file():
        raise SetupError(f"there is no turnwire.db in {settings.data_dir}; name its --data-dir")
    query = AuditQuery(
        conversation_id=conversation, principal=member, tool=tool, since_ms=_since(since)
    )
    entries = with_store(settings, lambda store: store.audit(query))
    if as_json:
        typer.echo(json.dumps([_facts(each) for each in entries]))
    elif as_csv:
        _write_csv(entries)
    else:
        _print(entries)


def _print(entries: Sequence[AuditEntry]) -> None:
    table = Table(box=None, pad_edge=False)
    for name in _SHOWN:
        table.add_column(name, overflow="fold", no_wrap=name in ("at", "result"))
    for each in entries:
        facts = _facts(each)
        facts["at"] = f"{str(facts['at'])[:19]}Z"  # all of it is in the other forms
        table.add_row(*(literal(facts[name] or "") for name in _SHOWN))
    # Only a terminal has an edge.
    out = STDOUT if STDOUT.is_terminal else Console(width=_WIDE)
    out.print(table, soft_wrap=False)


def _write_csv(entries: Sequence[AuditEntry]) -> None:
    out = csv.DictWriter(sys.stdout, _COLUMNS)
    out.writeheader()
    out.writerows({name: _cell(text) for name, text in _facts(each).items()} for each in entries)


def _cell(text: str | None) -> str:
    """Return a text that no spreadsheet takes for a formula (OWASP, CSV injection)."""
    return f"'{text}" if text and text[0] in "=+-@\t\r" else text or ""


def _facts(entry: AuditEntry) -> dict[str, str | None]:
    return {name: iso(entry.at_ms) if name == "at" else getattr(entry, name) for name in _COLUMNS}


def _since(text: str | None) -> int:
    """Return milliseconds since 1970 in UTC.

    Raises:
        SetupError: it is no time.
    """
    if text is None:
        return 0
    ago = _AGO.fullmatch(text)
    if ago:
        back = timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        return system_now() - int(back.total_seconds() * 1000)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise SetupError(
            f"--since {text!r} is no time; write 2026-11-30, 2026-11-30T10:00Z or 24h"
        ) from None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return int(at.timestamp() * 1000)
