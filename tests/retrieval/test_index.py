import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from turnwire.errors import SetupError
from turnwire.retrieval.encoder import Encoder
from turnwire.retrieval.index import Index
from turnwire.retrieval.ingest import ingest
from turnwire.retrieval.search import Retriever
from turnwire.retrieval.selection import RetrievalPolicy


def test_a_new_index_is_empty_and_at_generation_0(index: Index, encoder: Encoder):
    snapshot, hits = index.look_up('"a"', corpus=None, encoder=encoder)
    assert (index.generation(), snapshot.generation, snapshot.passages, hits) == (0, 0, (), {})
    assert snapshot.embeddings.shape == (0, 64)


def test_the_index_is_in_wal_mode(index: Index):
    reader = sqlite3.connect(index.path)
    assert reader.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    reader.close()


def test_another_encoder_is_refused_with_the_command_that_helps(
    index: Index, library: Path, encoder: Encoder, other_encoder: Encoder
):
    ingest(library, corpus="c", index=index, encoder=encoder)
    for attempt in (
        lambda: index.check(other_encoder),
        lambda: ingest(library, corpus="c", index=index, encoder=other_encoder),
        lambda: index.look_up("", corpus=None, encoder=other_encoder),
    ):
        with pytest.raises(SetupError, match=r"turnwire ingest --reset"):
            attempt()
    assert index.generation() == 1


def test_a_reset_changes_the_encoder(
    index: Index, library: Path, encoder: Encoder, other_encoder: Encoder
):
    ingest(library, corpus="c", index=index, encoder=encoder)
    report = ingest(library, corpus="c", index=index, encoder=other_encoder, reset=True)
    assert (report.added, report.generation) == (3, 2)
    snapshot, _ = index.look_up("", corpus=None, encoder=other_encoder)
    assert snapshot.embeddings.shape[1] == 32


def test_a_file_that_is_no_index_is_refused_by_name(tmp_path: Path):
    (tmp_path / "index.db").write_bytes(b"not a database " * 100)
    with pytest.raises(SetupError, match=r"index\.db is not a usable index"):
        Index(tmp_path / "index.db")


def test_an_index_of_another_version_is_refused(tmp_path: Path):
    Index(tmp_path / "index.db").close()
    with sqlite3.connect(tmp_path / "index.db") as connection:
        connection.execute("UPDATE facts SET value = '0' WHERE name = 'layout'")
    connection.close()
    with pytest.raises(SetupError, match="another version"):
        Index(tmp_path / "index.db")


def test_readers_see_the_old_generation_until_a_write_ends(
    index: Index, library: Path, encoder: Encoder
):
    ingest(library, corpus="first", index=index, encoder=encoder)
    with index.writing(encoder) as writer:
        writer.clear()
        during, _ = index.look_up("", corpus=None, encoder=encoder)
        assert (during.generation, len(during.passages)) == (1, 19)
    after, _ = index.look_up("", corpus=None, encoder=encoder)
    assert (after.generation, after.passages) == (2, ())


def test_a_write_that_fails_leaves_no_trace(index: Index, library: Path, encoder: Encoder):
    ingest(library, corpus="c", index=index, encoder=encoder)

    def fail() -> None:
        with index.writing(encoder) as writer:
            writer.clear()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    snapshot, hits = index.look_up('"ambulance"', corpus=None, encoder=encoder)
    assert (snapshot.generation, len(snapshot.passages), len(hits)) == (1, 19, 1)


def test_the_index_opens_and_reads_while_another_process_writes(index: Index, encoder: Encoder):
    with index.writing(encoder), Index(index.path, patience=0) as second:
        assert second.generation() == 0


def test_a_second_writer_waits_for_the_first(index: Index, library: Path, encoder: Encoder):
    began, may_end = threading.Event(), threading.Event()

    def slow() -> None:
        with Index(index.path) as own, own.writing(encoder) as writer:
            writer.clear()
            began.set()
            may_end.wait(5)

    first = threading.Thread(target=slow)
    first.start()
    began.wait(5)
    threading.Timer(0.1, may_end.set).start()
    report = ingest(library, corpus="c", index=index, encoder=encoder)
    first.join()
    assert (report.added, report.generation) == (3, 2)


def test_a_writer_that_waits_too_long_says_so(index: Index, encoder: Encoder):
    with (
        index.writing(encoder),
        Index(index.path, patience=0.1) as impatient,
        pytest.raises(SetupError, match="written by another process"),
        impatient.writing(encoder),
    ):
        pytest.fail("two writers at once")


def test_an_index_without_vectors_of_sentences_is_searched_and_read_anew_by_the_next_ingest(
    library: Path, index: Index, encoder: Encoder
):
    ingest(library, corpus="c", index=index, encoder=encoder)
    index.close()
    with closing(sqlite3.connect(index.path)) as connection:  # as the layout before left it
        connection.execute("ALTER TABLE passages DROP COLUMN sentences")
        connection.execute("ALTER TABLE documents DROP COLUMN keywords")
        connection.execute("UPDATE documents SET digest = 'of an older reading'")
        connection.execute("UPDATE facts SET value = '1' WHERE name = 'layout'")
        connection.commit()
    with Index(index.path) as older:
        retriever = Retriever(older, encoder, RetrievalPolicy())
        assert retriever.search("road ambulance for each hospital stay").evidence
        assert ingest(library, corpus="c", index=older, encoder=encoder).changed == 3
        snapshot, _ = older.look_up("", corpus=None, encoder=encoder)
        vectors = older.sentence_vectors(snapshot.rows, dims=encoder.dims)
        assert set(vectors) == set(snapshot.rows)


def test_the_nearest_sentence_of_a_long_passage_counts(
    tmp_path: Path, index: Index, encoder: Encoder
):
    aside = "Gardens grow slowly while rivers carry stones towards distant valleys."
    (tmp_path / "long.md").write_text(f"{aside} Kettles boil quickly today. {aside}")
    (tmp_path / "short.md").write_text("Kettles boil. Copper bends, iron rusts.")
    ingest(tmp_path, corpus="c", index=index, encoder=encoder)

    def nearness_of_long(weight: float) -> float:
        policy = RetrievalPolicy(floor=-1, tail=-1, lexical_weight=0, sentence_weight=weight)
        found = Retriever(index, encoder, policy).search("kettles boil quickly today")
        return next(e.passage.score for e in found.evidence if e.passage.document_name == "long")

    assert nearness_of_long(0.0) < 0.6
    assert nearness_of_long(1.0) > 0.95
