import pytest

from evaluation.scores import (
    Claim,
    Rate,
    claims,
    hit_at,
    holds,
    is_gone,
    mostly_in,
    percentile,
    rate,
    reciprocal_rank,
    squash,
)
from turnwire.retrieval.splitter import sentences

PASSAGES = {1: "Rest and drink. A fever is 38 °C or more.", 2: "Gargle with salt water."}


def claimed(answer: str) -> tuple[Claim, ...]:
    return claims(
        answer,
        PASSAGES,
        supports=lambda sentence, passage: holds(passage, sentence),
        sentences=sentences,
    )


# Values of R's binom.confint(x, n, methods = "wilson").
@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (8, 10, 0.4902, 0.9433), (1, 2, 0.0945, 0.9055)],
)
def test_an_interval_is_wilsons(hits: int, of: int, low: float, high: float):
    assert Rate(hits, of).interval() == pytest.approx((low, high), abs=1e-4)


def test_a_rate_of_nothing_says_nothing():
    assert Rate(0, 0).value is None
    assert Rate(0, 0).interval() == (0.0, 1.0)


def test_a_rate_counts_what_is_true():
    assert rate([True, False, True]) == Rate(2, 3)


def test_a_hit_counts_only_among_the_first_k():
    ranked = ["a", "b", "c", "d"]
    assert hit_at(3, ranked, ["c"])
    assert not hit_at(3, ranked, ["d"])
    assert not hit_at(3, ranked, [])


def test_a_reciprocal_rank_is_that_of_the_first_that_is_right():
    assert reciprocal_rank(["a", "b", "b", "c"], ["c", "b"]) == 0.5
    assert reciprocal_rank(["a"], ["z"]) == 0.0


def test_a_percentile_is_a_value_that_was_measured():
    assert percentile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.0
    assert percentile([4.0, 1.0, 3.0, 2.0], 0.95) == 4.0
    assert percentile([7.0], 0.5) == 7.0


def test_marks_blanks_and_full_width_digits_make_no_other_value():
    assert squash("4111-1111 1111") == squash("411111111111") == squash("４１１１ 11111111")  # noqa: RUF001 - full-width on purpose
    assert squash("jo@example.com") != squash("jo@example.org")


def test_a_text_holds_whole_words_only():
    assert holds("Most fevers settle, within 3 days.", "settle within 3 days")
    assert not holds("The 38-year-old", "8 year")
    assert not holds("salt water", "water salt")


def test_a_value_is_gone_only_when_none_of_its_words_is_left():
    assert is_gone("Ana Ruiz", "soy [NAME_1]")
    assert not is_gone("Ana Ruiz", "soy [NAME_1] Ruiz")


def test_a_marker_belongs_to_the_sentence_right_before_it():
    assert claimed("Rest and drink. [1] Gargle with salt water. [2]") == (
        Claim("Rest and drink.", (True,)),
        Claim("Gargle with salt water.", (True,)),
    )


def test_a_marker_at_another_passage_supports_nothing():
    assert claimed("Rest and drink. [2]")[0].supported == (False,)
    assert claimed("Rest and drink. [7]")[0].supported == (False,)


def test_several_markers_are_judged_one_by_one():
    assert claimed("Rest and drink. [1, 2]")[0].supported == (True, False)
    assert claimed("Rest and drink. [2][1]")[0].supported == (False, True)


def test_a_marker_before_the_full_stop_belongs_to_the_same_sentence():
    assert claimed("Rest and drink [1]. Then sleep.") == (
        Claim("Rest and drink.", (True,)),
        Claim("Then sleep."),
    )


def test_a_sentence_without_a_marker_of_its_own_is_unsupported():
    assert claimed("Take aspirin. Rest and drink. [1]") == (
        Claim("Take aspirin."),
        Claim("Rest and drink.", (True,)),
    )


def test_a_free_sentence_needs_every_number_and_most_of_its_words():
    passage = "A fever is a temperature of 38 °C or higher, and most settle within four days."
    assert mostly_in("Fever: temperature of 38 or higher.", passage)
    assert not mostly_in("Fever: temperature of 39 or higher.", passage)
    assert not mostly_in("Antibiotics cure every fever quickly.", passage)
    assert not mostly_in("It is.", passage)
