"""Neighbours as one: passages that follow each other in a section are read as they were written."""

from collections.abc import Sequence
from dataclasses import replace

from turnwire.retrieval.selection import Candidate


def merged(kept: Sequence[Candidate]) -> list[Candidate]:
    """Return what was kept, with passages that adjoin in one section joined in their order.

    A joined passage stands where its best part stood, and has that part's id and score.
    """
    runs: dict[int, list[Candidate]] = {}
    for each in sorted(kept, key=lambda each: each.place):
        before = runs.get(each.place - 1)
        if before is not None and _adjoin(before[-1], each):
            before.append(each)
            runs[each.place] = runs.pop(each.place - 1)
        else:
            runs[each.place] = [each]
    rank = {each.place: at for at, each in enumerate(kept)}
    ordered = sorted(runs.values(), key=lambda run: min(rank[each.place] for each in run))
    return [_joined(run, rank) for run in ordered]


def _adjoin(one: Candidate, other: Candidate) -> bool:
    def whole(candidate: Candidate) -> tuple[str, str | None, int | None]:
        passage = candidate.passage
        return passage.document_id, passage.section, passage.page

    return whole(one) == whole(other)


def _joined(run: Sequence[Candidate], rank: dict[int, int]) -> Candidate:
    best = min(run, key=lambda each: rank[each.place])
    text = "\n\n".join(each.passage.text for each in run)
    return replace(best, passage=replace(best.passage, text=text))
