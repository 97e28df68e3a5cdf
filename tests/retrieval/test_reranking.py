import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from turnwire.errors import SetupError
from turnwire.retrieval.encoder import Encoder
from turnwire.retrieval.index import Index
from turnwire.retrieval.ingest import ingest
from turnwire.retrieval.reranking import Reranker, load_reranker
from turnwire.retrieval.search import Found, Retriever
from turnwire.retrieval.selection import RetrievalPolicy

QUERY = "hospital member card days claim"


def longest_first(_query: str, texts: Sequence[str]) -> list[float]:
    return [float(len(each)) for each in texts]


def failing(_query: str, _texts: Sequence[str]) -> list[float]:
    raise RuntimeError("out of memory")


def short(_query: str, _texts: Sequence[str]) -> list[float]:
    return [1.0]


def blank(_query: str, texts: Sequence[str]) -> list[float]:
    return [float("nan")] * len(texts)


@pytest.fixture
def filled(index: Index, library: Path, encoder: Encoder) -> Index:
    ingest(library, corpus="policies", index=index, encoder=encoder)
    return index


def found_by(
    index: Index, encoder: Encoder, reranker: Reranker | None, hint: bool | None = None
) -> Found:
    retriever = Retriever(index, encoder, RetrievalPolicy(tail=0), reranker=reranker)
    return retriever.search(QUERY, rerank_hint=hint)


def ids(found: Found) -> list[str]:
    return [each.passage.id for each in found.evidence]


def how(found: Found) -> str:
    assert found.search.funnel is not None
    return found.search.funnel.rerank


def test_a_reranker_decides_the_order(filled: Index, encoder: Encoder):
    found = found_by(filled, encoder, longest_first)
    lengths = [len(each.text) for each in found.evidence]
    assert lengths == sorted(lengths, reverse=True)
    assert how(found) == "ok"
    assert ids(found) != ids(found_by(filled, encoder, None))


@pytest.mark.parametrize("broken", [failing, short, blank])
def test_a_reranker_that_fails_leaves_the_order_as_it_was(
    filled: Index, encoder: Encoder, broken: Reranker
):
    found = found_by(filled, encoder, broken)
    assert how(found) == "fallback"
    assert ids(found) == ids(found_by(filled, encoder, None))


def test_a_client_may_pass_over_the_reranker_and_never_bring_one(filled: Index, encoder: Encoder):
    assert how(found_by(filled, encoder, longest_first, hint=False)) == "skipped_by_client"
    assert how(found_by(filled, encoder, longest_first, hint=True)) == "ok"
    assert how(found_by(filled, encoder, None, hint=True)) == "off"


def test_a_reranker_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "brought_along.py").write_text(
        "def made():\n    return lambda query, texts: [0.0] * len(texts)\nnumber = lambda: 7\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert load_reranker("brought_along:made")("q", ["a", "b"]) == [0.0, 0.0]
    for name in ("brought_along", "brought_along:gone", "nowhere:made", "brought_along:number"):
        with pytest.raises(SetupError, match="reranker"):
            load_reranker(name)
