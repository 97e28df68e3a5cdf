import json
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from turnwire.errors import SetupError
from turnwire.events import Passage
from turnwire.retrieval.encoder import Encoder
from turnwire.retrieval.index import Index
from turnwire.retrieval.ingest import ingest
from turnwire.retrieval.search import Found, Retriever
from turnwire.retrieval.selection import RetrievalPolicy


@pytest.fixture
def retriever(index: Index, library: Path, encoder: Encoder) -> Retriever:
    ingest(library, corpus="policies", index=index, encoder=encoder)
    return Retriever(index, encoder, RetrievalPolicy())


def adds_up(found: Found) -> bool:
    funnel = found.search.funnel
    assert funnel is not None
    dropped = funnel.dropped_floor + funnel.dropped_slice
    dropped += funnel.dropped_dedupe + funnel.dropped_budget
    return funnel.returned == funnel.kept + dropped and funnel.kept == len(found.evidence)


def test_evidence_says_where_it_comes_from(retriever: Retriever):
    found = retriever.search("road ambulance for each hospital stay", locale="en")
    first = found.evidence[0].passage
    assert first.index == 1
    assert first.title == "Group Medical Cover — Ambulance"
    assert (first.document_name, first.section, first.page) == (
        "Group Medical Cover",
        "Ambulance",
        None,
    )
    assert (first.source, first.locale, first.date) == ("policies", "en", "2025-03-01")
    assert 0 < first.score <= 1
    assert found.evidence[0].text.startswith("Road ambulance is paid")
    assert found.evidence[0].text.startswith(first.snippet[:40])
    assert found.search.status == "ok"
    assert adds_up(found)


def test_evidence_tells_the_state_of_its_document(
    retriever: Retriever, index: Index, library: Path, encoder: Encoder, tmp_path: Path
):
    def passage() -> Passage:
        return retriever.search("road ambulance for each hospital stay").evidence[0].passage

    before = passage()
    assert (before.date, before.version) == ("2025-03-01", "1.10")
    changed = (library / "cover.md").read_text().replace("1.10", "1.11")
    (tmp_path / "cover.md").write_text(changed)
    ingest(tmp_path / "cover.md", corpus="policies", index=index, encoder=encoder)
    assert passage().version == "1.11"
    assert passage().digest != before.digest


def test_evidence_is_numbered_from_1_and_sorted_by_score(retriever: Retriever):
    evidence = retriever.search("hospital member card days claim").evidence
    assert [each.passage.index for each in evidence] == list(range(1, len(evidence) + 1))
    scores = [each.passage.score for each in evidence]
    assert scores == sorted(scores, reverse=True)


def test_an_identifier_finds_its_passage(retriever: Retriever):
    assert "DC-204" in retriever.search("what is dc-204?").evidence[0].text


def test_a_page_number_stands_in_the_title(index: Index, encoder: Encoder, tmp_path: Path):
    (tmp_path / "a.md").write_text("# Plan\n\n## Pool\n\nThe pool opens at nine.")
    ingest(tmp_path / "a.md", corpus="c", index=index, encoder=encoder)
    with closing(sqlite3.connect(index.path)) as connection:
        connection.execute("UPDATE passages SET page = 12")
        connection.commit()
    found = Retriever(index, encoder, RetrievalPolicy()).search("pool opens")
    assert found.evidence[0].passage.title == "Plan — Pool — p.12"


def test_only_the_named_corpus_is_searched(
    retriever: Retriever, index: Index, encoder: Encoder, tmp_path: Path
):
    (tmp_path / "a.txt").write_text("Road ambulance is free in this other plan.")
    ingest(tmp_path / "a.txt", corpus="other", index=index, encoder=encoder)
    found = retriever.search("road ambulance", corpus="other")
    assert {each.passage.source for each in found.evidence} == {"other"}
    assert found.search.funnel is not None
    assert found.search.funnel.returned == 1
    assert retriever.search("road ambulance", corpus="unknown").evidence == ()


def test_the_readers_language_is_preferred_between_equals(
    index: Index, encoder: Encoder, tmp_path: Path
):
    for locale in ("en", "es"):
        text = f"---\nlocale: {locale}\n---\nHotel Miramar {locale} opens today."
        (tmp_path / f"{locale}.md").write_text(text)
    ingest(tmp_path, corpus="c", index=index, encoder=encoder)
    retriever = Retriever(index, encoder, RetrievalPolicy())
    for locale in ("en", "es-MX"):
        first = retriever.search("hotel miramar", locale=locale).evidence[0].passage
        assert first.locale == locale[:2]


def test_an_empty_index_gives_an_empty_result(index: Index, encoder: Encoder):
    found = Retriever(index, encoder, RetrievalPolicy()).search("anything")
    assert found.evidence == ()
    assert found.search.funnel is not None
    assert (found.search.funnel.returned, found.search.funnel.generation) == (0, 0)


@pytest.mark.parametrize("query", ["", "   ", "\x00", "\u200b", "the of and"])
def test_a_query_without_words_is_answered(retriever: Retriever, query: str):
    assert adds_up(retriever.search(query))


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "' OR 1=1 --",
        'text:ambulance AND (NEAR("a" "b", 5) NOT *',
        "ambulance*^-+{}[]()",
        "\x00ambulance\x00",
        "\U0001f691\U0001f691 ambulance \ud83d",
        "a" * 200_000,
        "ambulance " * 20_000,
        "\u202eambulance \u0300",
    ],
)
def test_no_query_breaks_the_search(retriever: Retriever, query: str):
    found = retriever.search(query)
    assert adds_up(found)
    assert len(found.search.query) <= 2000
    json.dumps(found.search.model_dump(), ensure_ascii=False).encode()


def test_the_rerank_hint_is_reported_and_there_is_no_reranker(retriever: Retriever):
    funnel = retriever.search("ambulance", rerank_hint=True).search.funnel
    assert funnel is not None
    assert (funnel.rerank, funnel.rerank_hint) == ("off", True)


def test_neighbours_that_were_cut_apart_are_read_as_one(
    index: Index, encoder: Encoder, tmp_path: Path
):
    parts = [f"The zeppelin number {at} flies over the lake. " + "Calm air. " * 60 for at in "123"]
    (tmp_path / "a.md").write_text("# Air\n\n" + "\n\n".join(parts) + "\n\n## Sea\n\nZeppelin.")
    ingest(tmp_path / "a.md", corpus="c", index=index, encoder=encoder)
    found = Retriever(index, encoder, RetrievalPolicy()).search("zeppelin flies over the lake")
    texts = [each.text for each in found.evidence]
    whole = next(each for each in texts if "number 1" in each)
    assert whole.index("number 1") < whole.index("number 2") < whole.index("number 3")
    assert "Zeppelin." in texts
    assert [each.passage.index for each in found.evidence] == [1, 2]
    assert found.search.funnel is not None
    assert found.search.funnel.kept == 4


def test_a_search_sees_what_was_ingested_since_the_last_one(
    retriever: Retriever, index: Index, encoder: Encoder, tmp_path: Path
):
    before = retriever.search("zeppelin flight")
    assert all("zeppelin" not in each.text for each in before.evidence)
    (tmp_path / "a.txt").write_text("A zeppelin flight is covered.")
    with Index(index.path) as other_process:
        ingest(tmp_path / "a.txt", corpus="new", index=other_process, encoder=encoder)
    found = retriever.search("zeppelin flight")
    assert found.evidence[0].text == "A zeppelin flight is covered."
    assert found.search.funnel is not None
    assert found.search.funnel.generation == 2


def test_another_encoder_is_refused_before_the_first_search(
    retriever: Retriever, index: Index, other_encoder: Encoder
):
    with pytest.raises(SetupError, match="hashing"):
        Retriever(index, other_encoder, RetrievalPolicy())


def test_threads_search_while_the_index_changes_and_see_whole_generations(
    index: Index, encoder: Encoder, tmp_path: Path
):
    root = tmp_path / "docs"
    root.mkdir()
    retriever = Retriever(index, encoder, RetrievalPolicy(kept=40, per_document=40, tail=0))
    sizes = {0: 0}
    stop = threading.Event()

    def searching() -> list[tuple[int, int]]:
        seen: list[tuple[int, int]] = []
        while not stop.is_set():
            funnel = retriever.search("item").search.funnel
            assert funnel is not None
            seen.append((funnel.generation, funnel.returned))
        return seen

    with ThreadPoolExecutor(4) as pool:
        searches = [pool.submit(searching) for _ in range(4)]
        for count in range(1, 9):
            (root / f"{count}.md").write_text(
                f"# {count}\n\nItem {count}.\n\n# More\n\nItem x{count}."
            )
            sizes[ingest(root, corpus="c", index=index, encoder=encoder).generation] = 2 * count
        stop.set()
    assert all(
        sizes[generation] == returned for each in searches for generation, returned in each.result()
    )
