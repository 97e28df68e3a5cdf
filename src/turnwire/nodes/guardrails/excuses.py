"""Which words of a text tell of no event of now: a question for knowledge, what is over, a denial.

A rule knows the words of an emergency; whether they report one is grammar that all rules share.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final

from turnwire.nodes.guardrails.matching import NOTHING_EXCUSED, Excused, Hit, Index, one_clause
from turnwire.nodes.guardrails.phrases import Words, parse
from turnwire.nodes.guardrails.rules import Phrases, Strict


class Excuses(Strict):
    """Wordings around the words of acute rules that make a fair message of them.

    A stretch is a part of a clause between two ``joints``.
    """

    questions: Phrases = ()
    """Ask for knowledge: what follows in the sentence, up to ``persons`` or ``present``."""
    past: Phrases = ()
    """Say that it is long over: their stretch, or the next one where they stand alone."""
    settled: Phrases = ()
    """Say how it ended, or who says it: their sentence."""
    before: Phrases = ()
    """Directly before a find, they make it fair: a denial, a wish to know what the word means."""
    persons: Phrases = ()
    """Speak of somebody in particular."""
    present: Phrases = ()
    """Speak of now: their stretch is neither ``past`` nor ``settled``."""
    now: Phrases = ()
    """Found anywhere, nothing in the text is excused."""
    joints: Phrases = ()
    """Words that begin a new stretch, such as ``and`` and ``but``."""


_KINDS: Final = tuple(Excuses.model_fields)


class ExcuseReader:
    """Excuses, ready to read texts."""

    def __init__(self, excuses: Excuses) -> None:
        self._index = Index(
            (label, wording)
            for label, kind in enumerate(_KINDS)
            for phrase in getattr(excuses, kind)
            for wording in parse(phrase)
        )

    def knows(self, word: str) -> bool:
        """Whether an excuse has a place for the canonical ``word``."""
        return self._index.knows(word)

    def excused(self, text: Words) -> Excused:
        """Return which words of ``text`` tell of no event of now; linear in the text."""
        hits: defaultdict[str, list[Hit]] = defaultdict(list)
        for hit in self._index.hits(text):
            hits[_KINDS[hit.label]].append(hit)
        if not hits or hits["now"]:
            return NOTHING_EXCUSED
        reading = _Reading(text, hits)
        fair = (each.end for each in hits["before"] if one_clause(text, each))
        return Excused(
            inside=_positions((*reading.asked(), *reading.over()), len(text.words)),
            at=frozenset(each for each in fair if reading.follows(each)),
        )


class _Reading:
    """One text with what was found in it."""

    def __init__(self, text: Words, hits: dict[str, list[Hit]]) -> None:
        self._text = text
        self._hits = hits
        self._joints = joints = {each.start for each in hits.get("joints", ())}
        clauses = text.clauses
        breaks = (
            int(at > 0 and (at in joints or clauses[at] != clauses[at - 1]))
            for at in range(len(clauses))
        )
        self._stretches = tuple(accumulate(breaks))
        excuses = [(each.start, each.end) for each in self._excuses()]
        taken = _positions(excuses, len(text.words))
        present = [each.start for each in hits.get("present", ()) if each.start not in taken]
        self._present = frozenset(self._stretches[each] for each in present)
        persons = (each.start for each in hits.get("persons", ()))
        self._stops = sorted({*present, *(each for each in persons if each not in taken)})

    def follows(self, at: int) -> bool:
        """Whether the word at ``at`` is in the clause of the word before it."""
        clauses = self._text.clauses
        return at < len(clauses) and clauses[at] == clauses[at - 1]

    def asked(self) -> Iterator[tuple[int, int]]:
        """Yield what each question is about."""
        for hit in self._hits.get("questions", ()):
            end = _end(self._text.sentences, hit.start)
            stop = bisect_left(self._stops, hit.end)
            yield hit.start, min((end, *self._stops[stop : stop + 1]))

    def over(self) -> Iterator[tuple[int, int]]:
        """Yield the stretches that tell of what is over."""
        ends = {each.start: each.end for each in self._hits.get("past", ())}
        stretches = {stretch for start, end in ends.items() for stretch in self._around(start, end)}
        sentences = {self._text.sentences[each.start] for each in self._hits.get("settled", ())}
        for sentence in sentences:
            first = bisect_left(self._text.sentences, sentence)
            last = bisect_right(self._text.sentences, sentence) - 1
            stretches |= set(range(self._stretches[first], self._stretches[last] + 1))
        for stretch in stretches - self._present:
            end = bisect_right(self._stretches, stretch)
            # The joint that ends a stretch may be the last word of a find in it.
            yield bisect_left(self._stretches, stretch), end + (end in self._joints)

    def _around(self, start: int, end: int) -> Iterator[int]:
        stretch = self._stretches[start]
        yield stretch
        after = _end(self._stretches, start)
        alone = bisect_left(self._stretches, stretch) == start and after == end
        sentences = self._text.sentences
        if alone and after < len(sentences) and sentences[after] == sentences[start]:
            yield self._stretches[after]

    def _excuses(self) -> Iterator[Hit]:
        for kind in ("questions", "past", "settled"):
            yield from self._hits.get(kind, ())


def _end(numbers: Sequence[int], at: int) -> int:
    """Return where the run of equal ``numbers`` that holds ``at`` ends."""
    return bisect_right(numbers, numbers[at])


def _positions(ranges: Iterable[tuple[int, int]], length: int) -> frozenset[int]:
    """Return all places in ``ranges``, which may overlap, in one walk."""
    steps = [0] * (length + 1)
    for start, end in ranges:
        steps[start] += 1
        steps[end] -= 1
    return frozenset(at for at, depth in enumerate(accumulate(steps)) if depth)
