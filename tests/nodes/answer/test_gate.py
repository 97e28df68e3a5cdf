"""Sentences pass a gate one by one until one of them trips its check."""

from turnwire.nodes.answer.gate import Gate, Trip

TRIPPED = Trip("persona_stability", ("shouts",))


def gate(*, reach: int = 5, seen: list[str] | None = None) -> Gate:
    def check(text: str) -> Trip | None:
        if seen is not None:
            seen.append(text)
        return TRIPPED if "no no" in " ".join(text.replace(".", "").lower().split()) else None

    return Gate(check, reach=reach)


def test_sentences_leave_whole_and_none_is_lost():
    held = gate()

    assert [held.feed(each) for each in ("One. T", "wo.", " Three")] == ["One. ", "", "Two. "]
    assert held.flush() == "Three"
    assert (held.trip, held.passed, held.withheld) == (None, ["One. ", "Two. ", "Three"], [])


def test_the_sentence_that_trips_and_all_behind_it_is_withheld():
    held = gate()

    assert held.feed("One. It is no no. Three. F") == "One. "
    assert held.feed("our.") == held.flush() == ""
    assert held.trip == TRIPPED
    assert (held.passed, held.withheld) == (["One. "], ["It is no no. ", "Three. ", "Four."])


def test_what_spans_two_sentences_trips_at_the_second():
    held = gate()

    assert held.feed("This no. No that. ") + held.flush() == "This no. "
    assert held.withheld == ["No that. "]


def test_the_check_sees_as_many_words_before_a_sentence_as_it_needs_and_no_more_sentences():
    seen: list[str] = []
    held = gate(reach=3, seen=seen)

    held.feed("A bb. C dd. E ff. G hh. I")

    assert seen == ["A bb. ", "A bb. C dd. ", "A bb. C dd. E ff. ", "C dd. E ff. G hh. "]


def test_a_sentence_is_checked_as_it_will_be_said():
    def edit(sentence: str) -> str:
        return sentence.replace("ana", "[PERSON]")

    held = Gate(lambda text: TRIPPED if "ana" in text else None, reach=5, edit=edit)

    assert held.feed("I am ana. Y") == "I am [PERSON]. "
