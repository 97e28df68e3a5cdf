"""The index: one SQLite file that one process writes while any number of threads read.

A write is one transaction (``BEGIN IMMEDIATE``), however long it takes: in WAL mode readers go
on seeing the last committed generation, and a second writer waits.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from turnwire.errors import SetupError
from turnwire.retrieval.encoder import Encoder, Matrix
from turnwire.retrieval.tables import (
    Snapshot,
    Writer,
    check_encoder,
    generation_of,
    is_prepared,
    lexical,
    load_snapshot,
    prepare,
    sentence_vectors,
    transaction,
)


class Index:
    """An index file; made where there is none. Safe to share between threads; close it in the end.

    Raises:
        SetupError: the file is not an index of this version, or cannot be opened.
    """

    def __init__(self, path: Path, *, patience: float = 600.0) -> None:
        """``patience`` is how many seconds a write waits for another process's."""
        self.path = path
        self._patience = patience
        self._reading = threading.Lock()
        self._snapshot: Snapshot | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._reader = self._prepared()
        except (OSError, sqlite3.Error) as broken:
            raise SetupError(
                f"{path} is not a usable index: {broken}; remove it and ingest again"
            ) from broken

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; reading afterwards raises ``sqlite3.ProgrammingError``."""
        with self._reading:
            self._reader.close()

    def generation(self) -> int:
        """Return the number of the last committed change; 0 for an index without one."""
        with self._reading:
            return generation_of(self._reader)

    def check(self, encoder: Encoder) -> None:
        """Raise :class:`SetupError` where another encoder made the index."""
        with self._reading:
            check_encoder(self._reader, encoder, self.path)

    def look_up(
        self, expression: str, *, corpus: str | None, encoder: Encoder
    ) -> tuple[Snapshot, dict[int, float]]:
        """Return the current generation, and BM25 by place for what matches an FTS5 expression.

        Both come from one read transaction. BM25 is positive, larger is better; at most the 200
        best are listed. The generation is read anew from the file only where it changed.
        """
        with self._reading, transaction(self._reader, "BEGIN"):
            snapshot = self._current(encoder)
            hits = lexical(self._reader, expression, corpus) if expression else []
        return snapshot, {snapshot.places[row]: score for row, score in hits}

    def sentence_vectors(self, rows: Sequence[int], *, dims: int) -> dict[int, Matrix]:
        """Return the vectors of the sentences of these passages, by row; some may be missing."""
        with self._reading:
            return sentence_vectors(self._reader, rows, dims)

    @contextmanager
    def writing(self, encoder: Encoder, *, reset: bool = False) -> Generator[Writer]:
        """Hand out the one writer; what it did becomes the next generation, or nothing of it does.

        Args:
            encoder: what makes the embeddings.
            reset: begin with an empty index; the way to change the encoder.

        Raises:
            SetupError: another encoder made the index, or another process did not stop writing.
        """
        with closing(self._connect()) as connection:
            self._begin(connection)
            with transaction(connection):
                writer = Writer(connection)
                if reset:
                    writer.clear()
                check_encoder(connection, encoder, self.path)
                yield writer
                writer.seal(encoder)
            # What was removed leaves the file; a reader that is in the way is not waited for.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def _prepared(self) -> sqlite3.Connection:
        connection = self._connect()
        try:
            if not is_prepared(connection):
                self._begin(connection)
                with transaction(connection):
                    prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=5.0, isolation_level=None, check_same_thread=False
        )
        try:
            _patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"), self._patience)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA secure_delete = ON")
        except BaseException:
            connection.close()
            raise
        return connection

    def _begin(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA busy_timeout = 500")  # short, so that Ctrl-C is heard
        try:
            _patiently(lambda: connection.execute("BEGIN IMMEDIATE"), self._patience)
        except sqlite3.OperationalError as busy:
            if not _is_busy(busy):
                raise
            raise SetupError(
                f"{self.path} has been written by another process for {self._patience:g} s; "
                "wait for that ingest to end, then run this one again"
            ) from busy

    def _current(self, encoder: Encoder) -> Snapshot:
        generation = generation_of(self._reader)
        if self._snapshot is None or self._snapshot.generation != generation:
            check_encoder(self._reader, encoder, self.path)
            self._snapshot = None  # not two of them in memory
            self._snapshot = load_snapshot(self._reader, generation, encoder.dims)
        return self._snapshot


def _is_busy(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _patiently(attempt: Callable[[], object], patience: float) -> None:
    """Try again while another connection holds the file, for ``patience`` seconds at most."""
    give_up = time.monotonic() + patience
    while True:
        try:
            attempt()
            return
        except sqlite3.OperationalError as busy:
            if not _is_busy(busy) or time.monotonic() >= give_up:
                raise
        time.sleep(0.02)
