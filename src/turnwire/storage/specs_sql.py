"""Versions of specs in SQL, as functions of one connection."""

from dataclasses import asdict

from sqlalchemy import Connection, func, insert, select

from turnwire.storage.specs import SpecPhase, SpecRecord
from turnwire.storage.tables import SPECS


def add(
    db: Connection, slug: str, text: str, *, phase: SpecPhase, author: str, now: int
) -> SpecRecord:
    """Keep a text as the agent's next version."""
    latest = db.execute(select(func.max(SPECS.c.version)).where(SPECS.c.slug == slug)).scalar()
    record = SpecRecord(
        slug=slug,
        version=(latest or 0) + 1,
        phase=phase,
        text=text,
        author=author,
        created_ms=now,
    )
    db.execute(insert(SPECS).values(**asdict(record)))
    return record


def find(db: Connection, slug: str | None) -> list[SpecRecord]:
    """Return the versions of an agent, or of all, oldest first."""
    query = select(SPECS).order_by(SPECS.c.slug, SPECS.c.version)
    if slug is not None:
        query = query.where(SPECS.c.slug == slug)
    return [SpecRecord(**each) for each in db.execute(query).mappings()]
