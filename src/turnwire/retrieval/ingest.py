"""Files into the index: only what changed is read into it, and what cannot be read is named."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from turnwire.errors import SetupError
from turnwire.retrieval.documents import (
    HEADING_SEPARATOR,
    LoadedDocument,
    UnreadableDocument,
    printable,
)
from turnwire.retrieval.encoder import Encoder
from turnwire.retrieval.index import Index
from turnwire.retrieval.loaders import parse, read
from turnwire.retrieval.screening import Screen, is_left_out, screened
from turnwire.retrieval.splitter import Piece, sentences, split
from turnwire.retrieval.tables import EncodedPiece, StoredDocument, Writer

BATCH: Final = 64
"""How many passages, or sentences, are encoded at a time."""

_SHORTEST: Final = 15
"""Characters of a sentence that gets a vector of its own."""
_MOST_SENTENCES: Final = 32
"""Sentences of one passage that do; a table may have more rows."""

# Part of every digest: raise it when loaders or splitter change what they return.
_READING: Final = b"4"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an ingest is: ``done`` of ``total`` files were dealt with; ``path`` is at hand."""

    done: int
    total: int
    path: str
    passages: int
    """New passages so far."""


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest did to its corpus, counted in documents."""

    added: int
    changed: int
    removed: int
    unchanged: int
    skipped: tuple[tuple[str, str], ...]
    """Path below the root, and why the file is not in the index."""
    passages: int
    """How many were encoded."""
    generation: int
    """The index's generation afterwards; the one before where nothing changed."""
    left_out: tuple[tuple[str, int], ...] = ()
    """Path below the root, and how many passages of what was read now may not be indexed."""


@dataclass(slots=True)
class _Tally:
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    passages: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    left_out: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])


def ingest(  # noqa: PLR0913 - one an option
    root: Path,
    *,
    corpus: str,
    index: Index,
    encoder: Encoder,
    progress: Callable[[Progress], None] | None = None,
    reset: bool = False,
    screen: Screen | None = None,
) -> IngestReport:
    """Make ``corpus`` what the files below ``root`` (or the one file ``root``) hold now.

    A file whose bytes are known is left alone; one that is gone, or cannot be read any more,
    leaves the index. Everything becomes visible at once at the end; where it is interrupted,
    nothing has changed. Hidden files and directories and linked directories are passed over.

    Args:
        root: a directory, or a single file.
        corpus: the name under which a search can ask for just these documents.
        index: where they go; another ingest of it is waited for.
        encoder: what makes the embeddings.
        progress: called after each file, and after each 64 passages of a long one, in this
            thread.
        reset: empty the whole index first, all corpora of it.
        screen: says what of a text may be indexed; none: all of it. Another one has every document
            read anew.

    Raises:
        SetupError: there is no such root, another encoder made the index, or it stays locked.
    """
    if not root.exists():
        raise SetupError(
            f"there is nothing to ingest at {root}: name an existing file or directory"
        )
    tally = _Tally()
    with index.writing(encoder, reset=reset) as writer:
        before = writer.documents(corpus)
        paths = sorted(_files(root, tally.skipped))
        seen: set[str] = set()
        for done, path in enumerate(paths, start=1):
            name = _name(path, root)

            def within(at: int = done - 1, of: str = name) -> None:
                if progress is not None:
                    progress(Progress(at, len(paths), of, tally.passages))

            desk = _Desk(writer, encoder, tally, within, screen)
            if _take_in(path, name, corpus, before.get(name), desk):
                seen.add(name)
            if progress is not None:
                progress(Progress(done, len(paths), name, tally.passages))
        gone = _remove(writer, [stored for name, stored in before.items() if name not in seen])
        if screen is not None and (tally.changed or gone or reset):
            writer.scrub()
    return IngestReport(
        added=tally.added,
        changed=tally.changed,
        removed=gone,
        unchanged=tally.unchanged,
        skipped=tuple(sorted(tally.skipped)),
        passages=tally.passages,
        generation=index.generation(),
        left_out=tuple(sorted(tally.left_out)),
    )


def _remove(writer: Writer, documents: Sequence[StoredDocument]) -> int:
    for each in documents:
        writer.remove(each.id)
    return len(documents)


@dataclass(frozen=True, slots=True)
class _Desk:
    writer: Writer
    encoder: Encoder
    tally: _Tally
    within: Callable[[], None]
    """Called where a file goes on after a batch."""
    screen: Screen | None

    @property
    def reading(self) -> bytes:
        """What a document's passages depend on beside its bytes."""
        return _READING + (self.screen.fingerprint.encode() if self.screen else b"")


def _take_in(path: Path, name: str, corpus: str, known: StoredDocument | None, desk: _Desk) -> bool:
    """Bring the index up to date with one file; False where it cannot be read."""
    try:
        data = read(path)
        digest = hashlib.sha256(desk.reading + data).hexdigest()
        if known is not None and known.digest == digest:
            desk.tally.unchanged += 1
            return True
        document = parse(path, data)
        if desk.screen is not None:
            document = screened(document, desk.screen, path)
    except UnreadableDocument as unreadable:
        desk.tally.skipped.append((name, unreadable.reason))
        return False
    document_id = _id("doc", corpus, name)
    if known is None:
        desk.tally.added += 1
    else:
        desk.tally.changed += 1
        desk.writer.remove(known.id)
    desk.writer.add(document_id, corpus=corpus, path=name, digest=digest, document=document)
    left_out: list[Piece] = []
    named = _named(document_id, _kept(split(document.sections), left_out))
    while batch := list(islice(named, BATCH)):
        desk.writer.add_passages(document_id, _encoded(document, batch, desk.encoder))
        desk.tally.passages += len(batch)
        if len(batch) == BATCH:
            desk.within()
    if left_out:
        desk.tally.left_out.append((name, len(left_out)))
    return True


def _encoded(
    document: LoadedDocument, batch: Sequence[tuple[str, Piece]], encoder: Encoder
) -> Iterator[EncodedPiece]:
    """Yield the passages with the vectors of each as a whole and of its sentences."""
    wholes = encoder.encode([_to_encode(document.title, piece) for _, piece in batch])
    said = [_sentences(piece) for _, piece in batch]
    lines = [each for of_one in said for each in of_one]
    cuts = range(0, len(lines), BATCH)
    vectors = (row for at in cuts for row in encoder.encode(lines[at : at + BATCH]))
    for (passage_id, piece), whole, of_one in zip(batch, wholes, said, strict=True):
        yield EncodedPiece(passage_id, piece, whole, list(islice(vectors, len(of_one))))


def _sentences(piece: Piece) -> list[str]:
    """Return the sentences, each below its own heading, which often says what it is about."""
    heading = (piece.heading or "").rpartition(HEADING_SEPARATOR)[2]
    found = (" ".join(each.split()) for each in sentences(piece.text))
    long = [each for each in found if len(each) >= _SHORTEST][:_MOST_SENTENCES]
    return [f"{heading}: {each}" if heading else each for each in long]


def _kept(pieces: Iterable[Piece], left_out: list[Piece]) -> Iterator[Piece]:
    for piece in pieces:
        if is_left_out(piece):
            left_out.append(piece)
        else:
            yield piece


def _to_encode(title: str, piece: Piece) -> str:
    # Measured: with title and heading 18 of 20 questions hit first, with the text alone 13.
    return ". ".join(part for part in (title, piece.heading, piece.text) if part)


def _named(document_id: str, pieces: Iterable[Piece]) -> Iterator[tuple[str, Piece]]:
    """Yield passages with ids that outlive a change elsewhere in their document."""
    repeated: dict[str, int] = {}
    for piece in pieces:
        count = repeated[piece.text] = repeated.get(piece.text, -1) + 1
        yield _id("psg", document_id, piece.text, str(count)), piece


def _id(prefix: str, *parts: str) -> str:
    return f"{prefix}_{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:20]}"


def _name(path: Path, root: Path) -> str:
    return printable((path.relative_to(root) if path != root else Path(path.name)).as_posix())


def _files(root: Path, skipped: list[tuple[str, str]]) -> Iterator[Path]:
    """Yield what may be read below root; what a link leads out to is skipped."""
    if not root.is_dir():
        yield root
        return
    inside = root.resolve()

    def unlisted(error: OSError) -> None:
        skipped.append((printable(str(error.filename)), f"cannot be listed: {error.strerror}"))

    for folder, folders, names in os.walk(root, onerror=unlisted):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in names:
            path = Path(folder, name)
            if name.startswith("."):
                continue
            if path.is_symlink() and not _leads_inside(path, inside):
                skipped.append(
                    (_name(path, root), "is a link that leads nowhere or out of the root")
                )
                continue
            yield path


def _leads_inside(path: Path, inside: Path) -> bool:
    try:
        return path.resolve(strict=True).is_relative_to(inside)
    except (OSError, RuntimeError):  # a loop is a RuntimeError up to Python 3.12
        return False
