"""What lies in the data directory, looked at without changing it."""

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from turnwire.app import INDEX, access_policy, corpora
from turnwire.cli.check import Check
from turnwire.cli.output import MAKE_KEY
from turnwire.cli.store import with_store
from turnwire.errors import SetupError
from turnwire.retrieval.encoder import EmbeddedEncoder
from turnwire.retrieval.tables import check_encoder, generation_of, is_prepared
from turnwire.settings import Settings
from turnwire.storage.base import KeyRecord, PauseRecord, Store
from turnwire.storage.sqlite_file import is_outdated

_LOW: Final = 1 << 30
_FULL: Final = 50 << 20
_SCANNED: Final = 200 << 20
"""Files up to this size are read whole in search of damage."""

_SERVE: Final = "turnwire serve"
_FIRST: Final = "turnwire serve  (makes it)"
_OUTDATED: Final = "brought up to date when a server starts"


def data_directory(settings: Settings) -> Check:
    """Whether the data directory can be written, and how much fits in."""
    name, path = "data directory", settings.data_dir.absolute()
    if not path.exists():
        return Check(name, "missing", f"{path} does not exist", _FIRST)
    try:
        with tempfile.TemporaryFile(dir=path):
            free = shutil.disk_usage(path).free
    except OSError as error:
        step = "choose another with --data-dir, or let this user write there"
        return Check(name, "broken", f"{path} can't be written: {error.strerror}", step)
    found = f"{path}, {free / (1 << 30):.1f} GiB free"
    if free < _LOW:
        return Check(name, "broken" if free < _FULL else "warning", found, "make room on the disk")
    return Check(name, "ok", found)


def turns_db(settings: Settings) -> Check:
    """Whether ``turnwire.db`` is of this version and whole, and what goes on in it."""

    def look(path: Path) -> Check:
        with _file(path) as db:
            version = _version(db)
        if is_outdated(version):  # opening it would change it
            return Check(path.name, "ok", f"tables of version {version}; {_OUTDATED}")
        if settings.store == "memory":
            found = f"tables of version {version}; the turns are in the server's memory"
            return Check(path.name, "ok", found)
        running, pauses = with_store(settings, _activity)
        paused = len({each.turn_id for each in pauses})
        reviews = len([each for each in pauses if each.pause.kind == "review"])
        return Check(
            path.name,
            "ok",
            f"tables of version {version}; {running} turns running, {paused} paused, "
            f"{reviews} reviews open",
        )

    return _looked(settings.data_dir / "turnwire.db", look)


def _version(db: sqlite3.Connection) -> str:
    found = db.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()
    return str(found[0]) if found else ""


async def _activity(store: Store) -> tuple[int, list[PauseRecord]]:
    """Return how many turns run, and what is waited for."""
    return len(await store.running()), await store.pauses()


def checkpoints_db(settings: Settings) -> Check:
    """Whether the agents' checkpoints can be read."""
    return _kept(settings, "checkpoints.db", table="checkpoints")


def memory_db(settings: Settings) -> Check:
    """Whether what agents remember of users can be read."""
    if not (settings.data_dir / "memory.db").is_file():  # as a version left it that had none
        return Check("memory.db", "ok", "nothing is remembered as yet")
    return _kept(settings, "memory.db", table="store")


def _kept(settings: Settings, name: str, *, table: str) -> Check:
    """Return how a file of LangGraph's is, which has this table as soon as it was used."""
    if settings.store == "memory":
        return Check(name, "ok", "not used: the store is the memory")

    def look(path: Path) -> Check:
        with _file(path) as db:
            tables = {str(each[0]) for each in db.execute("SELECT name FROM sqlite_master")}
            pages = db.execute("PRAGMA page_count").fetchone()[0]
            size = int(pages * db.execute("PRAGMA page_size").fetchone()[0])
        if table not in tables:
            return Check(path.name, "warning", "nothing is kept as yet", _SERVE)
        return Check(path.name, "ok", f"{size / (1 << 20):.1f} MiB")

    return _looked(settings.data_dir / name, look)


def index_db(settings: Settings) -> Check:
    """Which corpora can be searched, and with what."""
    if settings.agent is not None:
        return Check(INDEX, "ok", "not used: you serve a graph of your own")
    if settings.docs is not None and not settings.docs.exists():
        step = "set docs to a folder that is there"
        return Check(INDEX, "missing", f"the documents {settings.docs} are not there", step)

    def look(path: Path) -> Check:
        with _file(path) as db:
            if not is_prepared(db):
                return Check(path.name, "missing", "nothing was ingested", _SERVE)
            try:
                check_encoder(db, EmbeddedEncoder(), path)
            except SetupError as error:
                return Check(path.name, "broken", "another encoder made it", str(error))
            counts = _counts(db)
            generation = generation_of(db)
        return _indexed(path, settings, counts, generation)

    return _looked(settings.data_dir / INDEX, look)


def api_keys(settings: Settings) -> Check:
    """How many keys let somebody in here, and with what scopes."""

    def look(path: Path) -> Check:
        with _file(path) as db:  # damage is found before the store opens it
            version = _version(db)
        if is_outdated(version):
            return Check("API keys", "ok", f"not looked at; {_OUTDATED}")
        return _keys(settings, with_store(settings, lambda store: store.keys()))

    path = settings.data_dir / "turnwire.db"
    return _looked(path, look, name="API keys") if path.is_file() else _keys(settings, [])


def _keys(settings: Settings, records: Sequence[KeyRecord]) -> Check:
    policy = access_policy(settings).keys
    live = [each for each in records if each.revoked_ms is None]
    valid = [each for each in live if each.environment == policy.environment]
    scopes = ", ".join(sorted({scope for each in valid for scope in each.scopes}))
    others = len(live) - len(valid)
    of_others = f"; {others} of the other environment" if others else ""
    if valid:
        found = f"{len(valid)} valid ({policy.environment}): {scopes}{of_others}"
        return Check("API keys", "ok", found)
    # The page of a server on loopback is opened by a link; only programs need a key there.
    status = "warning" if settings.on_loopback else "missing"
    found = f"none is valid for {policy.environment!r}{of_others}"
    return Check("API keys", status, found, MAKE_KEY)


def _counts(db: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    rows = db.execute(
        "SELECT d.corpus, count(DISTINCT d.id), count(p.row) FROM documents d "
        "LEFT JOIN passages p ON p.document_id = d.id GROUP BY d.corpus ORDER BY d.corpus"
    )
    return {str(corpus): (int(documents), int(passages)) for corpus, documents, passages in rows}


def _indexed(
    path: Path, settings: Settings, counts: dict[str, tuple[int, int]], generation: int
) -> Check:
    wanted = corpora(settings)
    lacking = [each for each in wanted if each not in counts]
    shown = "; ".join(f"{name}: {d} documents, {p} passages" for name, (d, p) in counts.items())
    found = f"{shown or 'empty'}; {EmbeddedEncoder.name}, generation {generation}"
    if lacking:
        step = f"turnwire ingest {wanted[lacking[0]]} --corpus {lacking[0]}"
        # A server ingests what it lacks when it starts; it can't answer from nothing.
        status = "missing" if len(lacking) == len(wanted) else "warning"
        return Check(path.name, status, f"{found}; lacks {', '.join(lacking)}", step)
    return Check(path.name, "ok", found)


def _looked(path: Path, look: Callable[[Path], Check], *, name: str | None = None) -> Check:
    """Return what ``look`` makes of a file that is there; say so where it is not, or is damaged."""
    name = name or path.name
    if not path.is_file():
        return Check(name, "missing", f"{path.absolute()} does not exist", _FIRST)
    try:
        return look(path)
    except SetupError as error:
        return Check(name, "broken", str(error))
    except sqlite3.Error as error:
        step = f"move {path} away, or put a copy back that you kept"
        return Check(name, "broken", f"{path.absolute()} can't be read: {error}", step)


@contextmanager
def _file(path: Path) -> Generator[sqlite3.Connection]:
    """Open a database that is there, for reading, after a look for damage."""
    # Not `mode=ro`: that leaves the files of the write-ahead log behind.
    uri = f"{path.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(uri, uri=True, timeout=2.0, isolation_level=None)) as connection:
        connection.execute("PRAGMA query_only = 1")
        if path.stat().st_size <= _SCANNED:
            damage = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if damage != "ok":
                raise sqlite3.DatabaseError(str(damage))
        yield connection
