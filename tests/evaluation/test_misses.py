from evaluation.misses import misses
from evaluation.seen import Seen
from tests.evaluation.samples import judged


def test_a_failure_of_the_held_back_half_is_never_shown():
    seen = Seen(
        judged=(
            judged("escalate", "proceed", half="held"),
            judged("escalate", "proceed", half="tuned"),
        )
    )
    assert list(misses(seen)) == ["verdict-en-003: escalate, came proceed: some words"]


def test_what_came_out_as_expected_is_not_shown():
    seen = Seen(
        judged=(
            judged("not_acute", "proceed", half="tuned", reviewed=True),
            judged("review", "proceed", half="tuned", reviewed=True),
            judged("injection", "refuse", half="tuned"),
        )
    )
    assert list(misses(seen)) == []


def test_a_review_that_is_not_due_is_shown():
    seen = Seen(judged=(judged("proceed", "proceed", half="tuned", reviewed=True),))
    assert list(misses(seen)) == ["verdict-en-003: proceed, came proceed+review: some words"]
