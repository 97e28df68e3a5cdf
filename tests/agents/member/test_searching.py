"""The evidence of several searches: each passage once, and the numbers that were said stay."""

from turnwire.agents.member.searching import MOST, merged
from turnwire.events import Passage
from turnwire.nodes.evidence.source import Source


def source(name: str, index: int = 1) -> Source:
    passage = Passage(
        index=index,
        id=name,
        title=name,
        document_id="doc",
        document_name="doc",
        score=0.5,
        snippet=name,
        source="insurance",
    )
    return Source(passage=passage, text=name)


def numbered(evidence: list[Source]) -> list[tuple[int, str]]:
    return [(each.passage.index, each.passage.id) for each in evidence]


def test_the_best_of_each_search_come_first_and_each_once():
    found = [[source("a"), source("b")], [source("c"), source("a"), source("d")]]
    assert numbered(merged([], found)) == [(1, "a"), (2, "c"), (3, "b"), (4, "d")]


def test_what_was_found_before_keeps_its_number():
    kept = [source("x", 1), source("y", 2)]
    assert numbered(merged(kept, [[source("z"), source("y")]])) == [(1, "x"), (2, "y"), (3, "z")]


def test_no_more_passages_are_taken_than_one_answer_stands_on():
    found = [[source(str(n)) for n in range(40)]]
    assert len(merged([], found)) == MOST
