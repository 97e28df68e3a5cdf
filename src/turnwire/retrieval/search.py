"""A question's evidence: dense and lexical ranking, a floor, and a funnel that adds up."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from turnwire.events import Passage, Search
from turnwire.retrieval.documents import clean, primary
from turnwire.retrieval.encoder import Encoder, Matrix
from turnwire.retrieval.index import Index
from turnwire.retrieval.merging import merged
from turnwire.retrieval.reranking import Reranker, rerank
from turnwire.retrieval.selection import Candidate, RetrievalPolicy, select
from turnwire.retrieval.tables import Places, Snapshot, StoredPassage
from turnwire.retrieval.words import codes, content_words, match_expression

MAX_QUERY: Final = 2000
"""Characters of a query that are searched for and reported."""

_SNIPPET: Final = 280
_DIGEST: Final = 12
_NOWHERE: Final = np.empty(0, dtype=np.intp)
_EVEN: Final = 0.02
"""The least spread of cosines that counts: below it, z-scores would blow up noise."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage that was kept, with all of its text."""

    passage: Passage
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """What a search brought: its evidence, best first, and the account of it."""

    evidence: tuple[Evidence, ...]
    search: Search


class Retriever:
    """Searches an index; any number of threads may ask at once.

    Ranking: the dense cosine, z-scored over the passages searched, plus ``lexical_weight`` times
    BM25 divided by the best BM25, plus small bonuses for identifiers and the reader's language.
    """

    def __init__(
        self,
        index: Index,
        encoder: Encoder,
        policy: RetrievalPolicy,
        *,
        reranker: Reranker | None = None,
    ) -> None:
        """Raise :class:`~turnwire.errors.SetupError` where another encoder made the index."""
        index.check(encoder)
        self._index = index
        self._encoder = encoder
        self._policy = policy
        self._reranker = reranker

    def search(
        self,
        query: str,
        *,
        locale: str | None = None,
        corpus: str | None = None,
        rerank_hint: bool | None = None,
    ) -> Found:
        """Return the passages that may answer ``query``, numbered from 1, best first.

        Args:
            query: any text; its first 2,000 characters are searched for.
            locale: the reader's; passages in that language are preferred a little.
            corpus: only this corpus, or none for all of them.
            rerank_hint: what the client asked for: False passes over the reranker, and nothing
                brings one that is not there.

        Raises:
            SetupError: the index was made anew with another encoder.
        """
        began = time.perf_counter()
        asked = clean(query[:MAX_QUERY])
        snapshot, hits = self._index.look_up(
            match_expression(asked), corpus=corpus, encoder=self._encoder
        )
        candidates = self._candidates(asked, snapshot, hits, locale, corpus) if asked else []
        ranked, how = rerank(asked, candidates, self._reranker, hint=rerank_hint)
        kept, funnel = select(ranked, self._policy, generation=snapshot.generation)
        return Found(
            evidence=tuple(_evidence(each, number) for number, each in enumerate(merged(kept), 1)),
            search=Search(
                query=asked,
                duration_ms=round((time.perf_counter() - began) * 1000),
                funnel=funnel.model_copy(update={"rerank": how, "rerank_hint": rerank_hint}),
            ),
        )

    def _candidates(
        self,
        query: str,
        snapshot: Snapshot,
        hits: Mapping[int, float],
        locale: str | None,
        corpus: str | None,
    ) -> list[Candidate]:
        places = _searched(snapshot, corpus)
        if not len(places):
            return []
        cosines = snapshot.embeddings @ self._encoder.encode([query])[0]
        # z-score + bonus, taken back to the scale of a cosine: same order, and a readable score.
        spread = max(float(cosines[places].std()), _EVEN)
        nearness = cosines + spread * self._bonuses(query, snapshot, hits, locale)
        best = places[np.argsort(-nearness[places], kind="stable")[: self._policy.candidates]]
        wanted, named = content_words(query), codes(query)
        return [
            Candidate(
                passage=(passage := snapshot.passages[place]),
                nearness=float(nearness[place]),
                cosine=float(cosines[place]),
                overlap=_overlap(wanted, passage),
                has_code=bool(named and named & codes(passage.text)),
                place=place,
            )
            for place in map(int, best)
        ]

    def _bonuses(
        self, query: str, snapshot: Snapshot, hits: Mapping[int, float], locale: str | None
    ) -> Matrix:
        """Return what is added to each passage's z-score."""
        bonuses = np.zeros(len(snapshot.passages), dtype=np.float32)
        bonuses[snapshot.languages.get(primary(locale) or "?", _NOWHERE)] += (
            self._policy.locale_bonus
        )
        named = codes(query)
        best = max(hits.values(), default=1.0)
        for place, bm25 in hits.items():
            bonuses[place] += self._policy.lexical_weight * bm25 / best
            if named:
                share = len(named & codes(snapshot.passages[place].text)) / len(named)
                bonuses[place] += self._policy.code_bonus * share
        return bonuses


def _searched(snapshot: Snapshot, corpus: str | None) -> Places:
    if corpus is None:
        return np.arange(len(snapshot.passages), dtype=np.intp)
    return snapshot.corpora.get(corpus, _NOWHERE)


def _overlap(wanted: frozenset[str], passage: StoredPassage) -> float:
    if not wanted:
        return 0.0
    has = content_words(passage.text) | content_words(passage.section or "")
    return len(wanted & (has | content_words(passage.title))) / len(wanted)


def _evidence(candidate: Candidate, number: int) -> Evidence:
    stored = candidate.passage
    page = None if stored.page is None else f"p.{stored.page}"
    return Evidence(
        passage=Passage(
            index=number,
            id=stored.id,
            title=" \u2014 ".join(part for part in (stored.title, stored.section, page) if part),
            document_id=stored.document_id,
            document_name=stored.title,
            section=stored.section,
            page=stored.page,
            score=round(min(max(candidate.nearness, 0.0), 1.0), 4),
            snippet=_snippet(stored.text),
            source=stored.corpus,
            locale=stored.locale,
            date=stored.date,
            version=stored.version,
            digest=stored.digest[:_DIGEST] if stored.digest else None,
        ),
        text=stored.text,
    )


def _snippet(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= _SNIPPET:
        return line
    whole_words = line[:_SNIPPET].rpartition(" ")[0] or line[:_SNIPPET]
    return whole_words.rstrip(",;: ") + " \u2026"
