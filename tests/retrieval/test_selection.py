from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from turnwire.retrieval.selection import Candidate, RetrievalPolicy, select
from turnwire.retrieval.tables import StoredPassage

POLICY = RetrievalPolicy(
    kept=3, per_document=2, budget=100, floor=0.2, overlap_weight=0.2, tail=0.5
)


def a_candidate(
    text: str, cosine: float, *, document: str = "doc", overlap: float = 0.0, code: bool = False
) -> Candidate:
    passage = StoredPassage("p", document, "c", "T", "en", None, None, None, text)
    return Candidate(passage, cosine, cosine, overlap, code)


def test_shared_words_lift_a_passage_over_the_floor():
    weak = a_candidate("one two three", 0.1)
    assert select([weak], POLICY, generation=1)[1].dropped_floor == 1
    assert select([replace(weak, overlap=0.5)], POLICY, generation=1)[1].kept == 1


def test_a_foreign_passage_without_a_shared_word_passes_by_its_cosine():
    kept, _ = select([a_candidate("uno dos tres", 0.4)], POLICY, generation=1)
    assert len(kept) == 1


def test_what_is_far_behind_the_best_is_dropped():
    ranked = [a_candidate("one two three", 0.9), a_candidate("four five six", 0.3)]
    assert select(ranked, POLICY, generation=1)[1].dropped_floor == 1


def test_an_identifier_passes_the_floor_however_weak_the_cosine():
    kept, _ = select([a_candidate("form DC-204", 0.0, code=True)], POLICY, generation=1)
    assert len(kept) == 1


def test_a_near_copy_is_dropped_and_a_passage_with_another_number_is_not():
    text = "the plan pays up to {} dollars a day for a room"
    ranked = [
        a_candidate(text.format(200), 0.9, document="a"),
        a_candidate(text.format(200) + ".", 0.8, document="b"),
        a_candidate(text.format(300), 0.7, document="c"),
    ]
    kept, funnel = select(ranked, replace(POLICY, budget=1000), generation=1)
    assert [each.passage.document_id for each in kept] == ["a", "c"]
    assert funnel.dropped_dedupe == 1


def test_of_two_near_copies_the_newer_one_is_kept_in_the_better_place():
    def dated(candidate: Candidate, date: str | None) -> Candidate:
        return replace(candidate, passage=replace(candidate.passage, date=date))

    text = "the plan pays up to 200 dollars a day for a room"
    old = dated(a_candidate(text, 0.9, document="a"), "2024-01-01")
    new = dated(a_candidate(text + ".", 0.8, document="b"), "2026-02-10")
    undated = a_candidate(text + "!", 0.7, document="c")
    kept, funnel = select([old, new, undated], replace(POLICY, budget=1000), generation=1)
    assert kept == [new]
    assert funnel.dropped_dedupe == 2
    assert select([new, old], POLICY, generation=1)[0] == [new]


def test_one_document_does_not_take_every_place():
    ranked = [a_candidate(f"{each} {each}x {each}y", 0.9) for each in ("a", "b", "c")]
    ranked.append(a_candidate("other words here", 0.8, document="second"))
    kept, funnel = select(ranked, POLICY, generation=1)
    assert [each.passage.document_id for each in kept] == ["doc", "doc", "second"]
    assert funnel.dropped_slice == 1


def test_a_passage_over_the_budget_is_dropped_and_a_shorter_one_still_fits():
    ranked = [
        a_candidate("a" * 60, 0.9, document="1"),
        a_candidate("b" * 60, 0.8, document="2"),
        a_candidate("c" * 30, 0.7, document="3"),
    ]
    kept, funnel = select(ranked, POLICY, generation=1)
    assert [len(each.passage.text) for each in kept] == [60, 30]
    assert funnel.dropped_budget == 1


@given(
    st.lists(
        st.builds(
            a_candidate,
            st.text(alphabet="ab ", max_size=60),
            st.floats(-1, 1),
            document=st.sampled_from("xyz"),
            overlap=st.floats(0, 1),
        ),
        max_size=30,
    )
)
def test_the_funnel_adds_up(ranked: list[Candidate]):
    kept, funnel = select(ranked, POLICY, generation=7)
    dropped = funnel.dropped_floor + funnel.dropped_slice
    dropped += funnel.dropped_dedupe + funnel.dropped_budget
    assert funnel.returned == len(ranked) == funnel.kept + dropped
    assert funnel.kept == len(kept) <= POLICY.kept
    assert funnel.generation == 7
