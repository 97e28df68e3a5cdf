"""What stands in the index file: its tables, how they are read whole, and how they are changed."""

import sqlite3
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from turnwire.errors import SetupError
from turnwire.retrieval.documents import LoadedDocument, primary
from turnwire.retrieval.encoder import Encoder, Matrix
from turnwire.retrieval.keywords import Keywords, listed
from turnwire.retrieval.splitter import Piece

REINGEST: Final = "turnwire ingest --reset PATH"
"""What the operator runs to make the index anew."""

Places = npt.NDArray[np.intp]

_LAYOUT: Final = "2"
_OLDER: Final = "1"
"""The layout before sentences had vectors; what it holds is searched without them."""
_LEXICAL_HITS: Final = 200

_WITHIN: Final = (
    "AND rowid IN (SELECT p.row FROM passages p JOIN documents d ON d.id = p.document_id "
    "WHERE d.corpus = ?)"
)

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS documents (
    id TEXT PRIMARY KEY, corpus TEXT NOT NULL, path TEXT NOT NULL, digest TEXT NOT NULL,
    title TEXT NOT NULL, locale TEXT, date TEXT, version TEXT, keywords TEXT NOT NULL DEFAULT '',
    UNIQUE (corpus, path));
CREATE TABLE IF NOT EXISTS passages (
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
    document_id TEXT NOT NULL REFERENCES documents (id), section TEXT, page INTEGER,
    text TEXT NOT NULL, embedding BLOB NOT NULL, sentences BLOB);
CREATE INDEX IF NOT EXISTS passages_by_document ON passages (document_id);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
    section, text, tokenize = 'porter unicode61 remove_diacritics 2');
"""

_FROM_OLDER: Final = """
ALTER TABLE documents ADD COLUMN keywords TEXT NOT NULL DEFAULT '';
ALTER TABLE passages ADD COLUMN sentences BLOB;
"""


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage with what its document says about itself."""

    id: str
    document_id: str
    corpus: str
    title: str
    """The document's."""
    locale: str | None
    date: str | None
    section: str | None
    page: int | None
    text: str
    version: str | None = None
    """What the document calls its version."""
    digest: str | None = None
    """Of the file that it was read from."""
    keywords: str = ""
    """Words under which the document wants to be found, apart by commas."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All passages of one generation, in memory; it never changes."""

    generation: int
    passages: tuple[StoredPassage, ...]
    embeddings: Matrix
    """float32 of shape ``(len(passages), dims)``, rows of length 1."""
    places: Mapping[int, int]
    """Where the passage of a database row stands in the two above."""
    rows: tuple[int, ...]
    """The database row of each passage."""
    corpora: Mapping[str, Places]
    """Where each corpus's passages stand."""
    languages: Mapping[str, Places]
    """Where each language's passages stand."""
    documents: Mapping[str, Places]
    """Where each document's passages stand."""
    keywords: Keywords


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """What is known of a file that was ingested before."""

    id: str
    digest: str


@dataclass(frozen=True, slots=True)
class EncodedPiece:
    """A passage as it goes into the index."""

    id: str
    piece: Piece
    embedding: Matrix
    """Shape ``(dims,)``, of the whole passage."""
    sentences: Sequence[Matrix]
    """Shape ``(dims,)`` each, of its sentences."""


@contextmanager
def transaction(connection: sqlite3.Connection, begin: str | None = None) -> Generator[None]:
    """Commit at the end, or roll back where anything was raised; ``begin`` opens it first."""
    if begin is not None:
        connection.execute(begin)
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def is_prepared(connection: sqlite3.Connection) -> bool:
    """Whether the tables are there; another version's raise ``sqlite3.DatabaseError``."""
    try:
        layout = _fact(connection, "layout")
    except sqlite3.OperationalError as missing:
        if "no such table" not in str(missing):
            raise
        layout = None
    if layout not in (None, _OLDER, _LAYOUT):
        raise sqlite3.DatabaseError("another version of turnwire made it")
    return layout == _LAYOUT


def prepare(connection: sqlite3.Connection) -> None:
    """Make the tables where they are missing or older; within the caller's transaction."""
    for statement in _SCHEMA.split(";\n"):
        connection.execute(statement)
    if _fact(connection, "layout") == _OLDER:
        for statement in _FROM_OLDER.split(";\n"):
            connection.execute(statement)
    connection.execute("INSERT OR REPLACE INTO facts VALUES ('layout', ?)", (_LAYOUT,))


def generation_of(connection: sqlite3.Connection) -> int:
    """Return the number of the last change that was committed; 0 before the first."""
    return int(_fact(connection, "generation") or 0)


def check_encoder(connection: sqlite3.Connection, encoder: Encoder, path: Path) -> None:
    """Raise :class:`SetupError` where another encoder made the index."""
    made_by, dims = _fact(connection, "encoder"), _fact(connection, "dims")
    if made_by is None or (made_by, dims) == (encoder.name, str(encoder.dims)):
        return
    raise SetupError(
        f"{path} was made with the encoder {made_by} ({dims} dimensions), and {encoder.name} "
        f"({encoder.dims}) is set now: set {made_by} again, or run `{REINGEST}` for every corpus, "
        "with --reset for the first only"
    )


def load_snapshot(connection: sqlite3.Connection, generation: int, dims: int) -> Snapshot:
    """Return everything that can be searched; within the caller's read transaction."""
    count = int(connection.execute("SELECT count(*) FROM passages").fetchone()[0])
    embeddings = np.empty((count, dims), dtype=np.float32)
    passages: list[StoredPassage] = []
    places: dict[int, int] = {}
    rows = connection.execute(
        "SELECT p.row, p.embedding, p.id, d.id, d.corpus, d.title, d.locale, d.date, "
        "p.section, p.page, p.text, d.version, d.digest, d.keywords "
        "FROM passages p JOIN documents d ON d.id = p.document_id ORDER BY p.row"
    )
    for place, (row, blob, *stored) in enumerate(rows):
        embeddings[place] = np.frombuffer(blob, dtype=np.float32)
        passages.append(StoredPassage(*stored))
        places[row] = place
    embeddings.flags.writeable = False
    return Snapshot(
        generation=generation,
        passages=tuple(passages),
        embeddings=embeddings,
        places=places,
        rows=tuple(places),
        corpora=_places_by(each.corpus for each in passages),
        languages=_places_by(primary(each.locale) or "" for each in passages),
        documents=_places_by(each.document_id for each in passages),
        keywords=listed({each.document_id: each.keywords for each in passages}.items()),
    )


def lexical(
    connection: sqlite3.Connection, expression: str, corpus: str | None
) -> list[tuple[int, float]]:
    """Return the best rows for an FTS5 expression with BM25, positive, the larger the better."""
    # FTS5's rank is negative, the smaller the better; a heading's words weigh half as much again.
    within = "" if corpus is None else _WITHIN
    found = connection.execute(
        "SELECT rowid, -rank FROM words WHERE words MATCH ? AND rank MATCH 'bm25(1.5, 1.0)' "
        f"{within} ORDER BY rank LIMIT ?",
        (expression, *([] if corpus is None else [corpus]), _LEXICAL_HITS),
    )
    return [(int(row), float(score)) for row, score in found]


def sentence_vectors(
    connection: sqlite3.Connection, rows: Sequence[int], dims: int
) -> dict[int, Matrix]:
    """Return the vectors of the sentences of these passages, by row: ``(n, dims)``, n from 1.

    A passage that is gone, or that was ingested before sentences had vectors, is left out.
    """
    marks = ",".join("?" * len(rows))
    found = connection.execute(
        f"SELECT row, sentences FROM passages WHERE row IN ({marks}) AND length(sentences) > 0",
        tuple(rows),
    )
    return {
        row: np.frombuffer(blob, dtype=np.float16).reshape(-1, dims).astype(np.float32)
        for row, blob in found
    }


def _places_by(keys: Iterable[str]) -> dict[str, Places]:
    found: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        found.setdefault(key, []).append(place)
    return {key: np.array(places, dtype=np.intp) for key, places in found.items()}


def _fact(connection: sqlite3.Connection, name: str) -> str | None:
    found = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return None if found is None else str(found[0])


class Writer:
    """Changes documents within one transaction; from :meth:`Index.writing`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._changed = False

    def documents(self, corpus: str) -> dict[str, StoredDocument]:
        """Return what the corpus holds, by path."""
        found = self._connection.execute(
            "SELECT path, id, digest FROM documents WHERE corpus = ?", (corpus,)
        )
        return {path: StoredDocument(id, digest) for path, id, digest in found}

    def add(
        self, document_id: str, *, corpus: str, path: str, digest: str, document: LoadedDocument
    ) -> None:
        """Add a document that is not there, as yet without passages."""
        self._changed = True
        self._connection.execute(
            "INSERT INTO documents "
            "(id, corpus, path, digest, title, locale, date, version, keywords) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                document_id,
                corpus,
                path,
                digest,
                document.title,
                document.locale,
                document.date,
                document.version,
                document.keywords,
            ),
        )

    def add_passages(self, document_id: str, encoded: Iterable[EncodedPiece]) -> None:
        """Add passages of a document that was added."""
        for each in encoded:
            piece = each.piece
            added = self._connection.execute(
                "INSERT INTO passages "
                "(id, document_id, section, page, text, embedding, sentences) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    each.id,
                    document_id,
                    piece.heading,
                    piece.page,
                    piece.text,
                    each.embedding.tobytes(),
                    np.array(each.sentences, dtype=np.float16).tobytes(),
                ),
            )
            self._connection.execute(
                "INSERT INTO words (rowid, section, text) VALUES (?, ?, ?)",
                (added.lastrowid, piece.heading, piece.text),
            )

    def remove(self, document_id: str) -> None:
        """Remove a document with its passages."""
        self._changed = True
        key = (document_id,)
        self._connection.execute(
            "DELETE FROM words WHERE rowid IN (SELECT row FROM passages WHERE document_id = ?)", key
        )
        self._connection.execute("DELETE FROM passages WHERE document_id = ?", key)
        self._connection.execute("DELETE FROM documents WHERE id = ?", key)

    def clear(self) -> None:
        """Remove every document of every corpus, and forget which encoder there was."""
        self._changed = True
        for table in ("words", "passages", "documents"):
            self._connection.execute(f"DELETE FROM {table}")
        self._connection.execute("DELETE FROM facts WHERE name IN ('encoder', 'dims')")

    def scrub(self) -> None:
        """Leave none of the words of what was removed in the word index.

        FTS5 forgets a removed row's words only when it merges their segment.
        """
        self._connection.execute("INSERT INTO words (words) VALUES ('optimize')")

    def seal(self, encoder: Encoder) -> None:
        """Raise the generation where anything changed, and note which encoder made it."""
        if not self._changed:
            return
        facts = {
            "generation": generation_of(self._connection) + 1,
            "encoder": encoder.name,
            "dims": encoder.dims,
        }
        for name, value in facts.items():
            self._connection.execute(
                "INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, str(value))
            )
