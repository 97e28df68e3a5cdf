"""The statements of every turn, compiled once.

SQLAlchemy looks a statement up in its cache and converts the parameters at each call, which takes
longer than SQLite takes to run it. These have nothing to convert.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Insert, RowMapping, Select, Update
from sqlalchemy.dialects import sqlite


class Prepared:
    """One statement, all of whose values are parameters with names."""

    def __init__(self, statement: Insert | Update | Select[*tuple[Any, ...]]) -> None:
        compiled = statement.compile(dialect=sqlite.dialect())
        self._sql = str(compiled)
        self._names: Sequence[str] = compiled.positiontup or ()

    def run(self, db: Connection, values: Mapping[str, object]) -> int:
        """Run it and return how many rows it concerned."""
        return db.exec_driver_sql(self._sql, self._row(values)).rowcount

    def rows(self, db: Connection, values: Mapping[str, object]) -> Sequence[RowMapping]:
        """Run it and return the rows that it found."""
        return db.exec_driver_sql(self._sql, self._row(values)).mappings().all()

    def run_each(self, db: Connection, rows: Sequence[Mapping[str, object]]) -> None:
        """Run it for each of ``rows``."""
        if rows:
            db.exec_driver_sql(self._sql, [self._row(each) for each in rows])

    def _row(self, values: Mapping[str, object]) -> tuple[object, ...]:
        return tuple([values[each] for each in self._names])
