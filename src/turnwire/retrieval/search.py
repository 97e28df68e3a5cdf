"""A question's evidence: dense and lexical ranking, a floor, and a funnel that adds up."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from turnwire.events import Passage, Search
from turnwire.language import reworded
from turnwire.retrieval.documents import clean, primary
from turnwire.retrieval.encoder import Encoder, Matrix
from turnwire.retrieval.index import Index
from turnwire.retrieval.keywords import met
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
    keywords: tuple[str, ...] = ()
    """Those of its document's that the query has."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search brought: its evidence, best first, and the account of it."""

    evidence: tuple[Evidence, ...]
    search: Search


class Retriever:
    """Searches an index; any number of threads may ask at once.

    Ranking: the dense cosine, of the passage and of its nearest sentence, plus bonuses in standard
    deviations of the cosine over the passages searched: BM25 divided by the best BM25 times
    ``lexical_weight``, the document's keywords, identifiers, and the reader's language.
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
        keywords = met(snapshot.keywords, query)
        asked = self._asked(query, snapshot, keywords)
        cosines = snapshot.embeddings @ asked[None]
        for document_id in keywords:
            theirs = snapshot.documents[document_id]
            renamed = snapshot.embeddings[theirs] @ asked[document_id]
            cosines[theirs] = np.maximum(cosines[theirs], renamed)
        # z-score + bonus, taken back to the scale of a cosine: same order, and a readable score.
        spread = max(float(cosines[places].std()), _EVEN)
        bonuses = self._bonuses(query, snapshot, hits, locale)
        for document_id in keywords:
            bonuses[snapshot.documents[document_id]] += self._policy.keyword_bonus
        bonuses *= spread
        first = cosines + bonuses
        pool = places[np.argsort(-first[places], kind="stable")[: self._policy.pool]]
        cosines[pool] = self._nearest(snapshot, pool, cosines[pool], asked)
        nearness = cosines[pool] + bonuses[pool]
        best = pool[np.argsort(-nearness, kind="stable")[: self._policy.candidates]]
        wanted, named = content_words(query), codes(query)
        return [
            Candidate(
                passage=(passage := snapshot.passages[place]),
                nearness=float(cosines[place] + bonuses[place]),
                cosine=float(cosines[place]),
                overlap=_overlap(wanted, passage),
                keywords=keywords.get(passage.document_id, ()),
                has_code=bool(named and named & codes(passage.text)),
                place=place,
            )
            for place in map(int, best)
        ]

    def _asked(
        self, query: str, snapshot: Snapshot, keywords: Mapping[str, Sequence[str]]
    ) -> dict[str | None, Matrix]:
        """Return the query's vector, and for a document one in which it is called by its title."""
        titles = {
            document_id: snapshot.passages[int(snapshot.documents[document_id][0])].title
            for document_id in keywords
        }
        renamed = [reworded(query, keywords[each], titles[each]) for each in keywords]
        return dict(zip([None, *keywords], self._encoder.encode([query, *renamed]), strict=True))

    def _nearest(
        self,
        snapshot: Snapshot,
        pool: Places,
        wholes: Matrix,
        asked: Mapping[str | None, Matrix],
    ) -> Matrix:
        """Return how near each passage of the pool is, as a whole and by its nearest sentence.

        A passage of many subjects is far from a question about one of them; the sentence that
        answers it is not.
        """
        rows = [snapshot.rows[place] for place in map(int, pool)]
        vectors = self._index.sentence_vectors(rows, dims=self._encoder.dims)
        nearest = wholes.copy()
        for at, (row, place) in enumerate(zip(rows, map(int, pool), strict=True)):
            if row in vectors:
                nearest[at] = np.max(vectors[row] @ asked[None])
                renamed = asked.get(snapshot.passages[place].document_id)
                if renamed is not None:
                    nearest[at] = max(nearest[at], np.max(vectors[row] @ renamed))
        mixed = wholes + self._policy.sentence_weight * (nearest - wholes)
        return np.asarray(mixed, dtype=np.float32)

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
        keywords=candidate.keywords,
    )


def _snippet(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= _SNIPPET:
        return line
    whole_words = line[:_SNIPPET].rpartition(" ")[0] or line[:_SNIPPET]
    return whole_words.rstrip(",;: ") + " \u2026"
