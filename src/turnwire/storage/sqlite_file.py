"""The SQLite file: how it is opened, and which version of the tables is in it."""

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from turnwire.errors import SetupError
from turnwire.storage.tables import META, METADATA, UPGRADES, VERSION


def engine_for(path: Path, busy_seconds: float) -> Engine:
    """Return an engine whose writer waits ``busy_seconds`` for another process's lock."""
    engine = create_engine(
        f"sqlite:///{path}",
        connect_args={"timeout": busy_seconds, "check_same_thread": False, "isolation_level": None},
    )

    def on_connect(connection: Any, _: object) -> None:  # noqa: ANN401 - sqlite3's own type
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA secure_delete=ON")
        except Exception:  # SQLAlchemy drops a connection that its listener refuses, unclosed
            connection.close()
            raise

    def on_begin(connection: Connection) -> None:
        # A reader takes no write lock; the writer takes it at once instead of failing half-way.
        writer = connection.get_execution_options().get("writer")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writer else "BEGIN")

    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", on_begin)
    return engine


def prepare(engine: Engine, path: Path) -> None:
    """Make the file and its tables where they are missing, or bring them up to date.

    Raises:
        SetupError: it can't be written, or a later version of turnwire made it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with engine.execution_options(writer=True).begin() as db:
            METADATA.create_all(db)
            version = db.execute(select(META.c.value).where(META.c.name == "version")).scalar()
            if version is None:
                rows = [
                    {"name": "version", "value": str(VERSION)},
                    {"name": "checked", "value": ""},
                ]
                db.execute(insert(META), rows)
            else:
                version = _upgraded(db, str(version))
    except (OSError, SQLAlchemyError) as error:
        raise SetupError(f"{path} can't be opened for writing: {error}") from error
    if version not in (None, str(VERSION)):
        raise SetupError(
            f"{path} was made by another version of turnwire (tables {version}, here {VERSION}); "
            "use the version that made it, or another --data-dir"
        )


def is_outdated(version: str) -> bool:
    """Whether tables of this version would be brought up to date by opening them."""
    return version.isdecimal() and int(version) in UPGRADES


def _upgraded(db: Connection, version: str) -> str:
    """Bring the tables as far as there are steps, all or none; return their version then."""
    while is_outdated(version):
        for each in UPGRADES[int(version)]:
            db.exec_driver_sql(each)
        version = str(int(version) + 1)
    db.execute(update(META).where(META.c.name == "version").values(value=version))
    return version
