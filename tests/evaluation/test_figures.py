from evaluation.figures import FIGURES
from evaluation.scores import Claim, Rate
from evaluation.seen import Seen
from tests.evaluation.samples import asked, judged, redacted

BY_KEY = {each.key: each for each in FIGURES}


def figure(key: str, seen: Seen) -> Rate:
    return BY_KEY[key].measure(seen)


def test_no_two_figures_have_one_key():
    assert len(BY_KEY) == len(FIGURES)


def test_only_emergencies_count_for_recall_and_only_fair_messages_for_false_alarms():
    seen = Seen(
        judged=(
            judged("escalate", "escalate"),
            judged("escalate", "refuse"),
            judged("proceed", "escalate"),
            judged("not_acute", "proceed", reviewed=True),
            judged("review", "escalate"),
        )
    )
    assert figure("escalation.recall", seen) == Rate(1, 2)
    assert figure("escalation.false_alarms", seen) == Rate(1, 2)


def test_a_high_risk_is_seen_to_by_a_review_or_an_escalation():
    seen = Seen(
        judged=(
            judged("review", "proceed", reviewed=True),
            judged("review", "escalate"),
            judged("review", "proceed"),
            judged("proceed", "proceed", reviewed=True),
        )
    )
    assert figure("review.recall", seen) == Rate(2, 3)
    assert figure("review.precision", seen) == Rate(1, 2)


def test_refusals_and_injections_are_told_apart():
    seen = Seen(
        judged=(
            judged("refuse", "refuse"),
            judged("refuse", "proceed"),
            judged("injection", "refuse", by_injection_rule=True),
            judged("proceed", "refuse", by_injection_rule=True),
        )
    )
    assert figure("refusal.recall", seen) == Rate(1, 2)
    assert figure("injection.recall", seen) == Rate(1, 1)
    assert figure("refusal.precision", seen) == Rate(2, 3)
    assert figure("injection.precision", seen) == Rate(1, 2)


def test_what_the_rules_let_pass_may_still_be_left_unanswered():
    seen = Seen(
        judged=(
            judged("refuse", "proceed", finish="no_match"),
            judged("refuse", "proceed", finish="stop"),
            judged("injection", "refuse", finish="refused"),
        )
    )
    assert figure("refusal.unanswered", seen) == Rate(1, 2)
    assert figure("injection.unanswered", seen) == Rate(1, 1)


def test_a_detail_counts_as_taken_out_only_when_its_whole_value_is():
    seen = Seen(
        details=(
            redacted({"4111 1111": "CARD"}, {"41111111": "CARD"}),
            redacted({"12345678Z": "NATIONAL_ID"}, {"12345678": "PHONE"}),
            redacted({"943 476 5919": "NATIONAL_ID"}, {"943 476 5919": "PHONE"}),
            redacted({}, {"2026": "PHONE"}),
        )
    )
    assert figure("details.recall", seen) == Rate(2, 3)
    assert figure("details.precision", seen) == Rate(2, 4)
    assert figure("details.kind", seen) == Rate(1, 2)
    assert figure("details.recall.NATIONAL_ID", seen) == Rate(1, 2)
    assert figure("details.precision.PHONE", seen) == Rate(1, 3)


def test_a_name_counts_as_taken_out_only_when_no_word_of_it_is_left():
    seen = Seen(
        names=(
            redacted({"Ana Ruiz": "NAME"}, {"Ana": "NAME"}, text="[NAME_1] Ruiz"),
            redacted({"Mayor 14": "ADDRESS"}, {"calle Mayor 14": "ADDRESS"}, text="[ADDRESS_1]"),
            redacted({}, {"April": "NAME"}, text="[NAME_1]"),
        )
    )
    assert figure("names.recall", seen) == Rate(0, 1)
    assert figure("addresses.recall", seen) == Rate(1, 1)
    assert figure("names.precision", seen) == Rate(2, 3)


def test_a_leaflet_in_another_language_is_no_hit_but_a_hit_in_either():
    seen = Seen(
        asked=(
            asked("hydration", ranked=("es/hydration", "en/hydration")),
            asked("hydration", ranked=("es/hydration",)),
            asked(ranked=("en/hydration",)),
        )
    )
    assert figure("retrieval.hit1", seen) == Rate(0, 2)
    assert figure("retrieval.hit3", seen) == Rate(1, 2)
    assert figure("retrieval.hit3_either", seen) == Rate(2, 2)
    assert figure("retrieval.mrr", seen) == Rate(0.5, 2)


def test_an_answer_without_a_citation_is_neither_an_answer_nor_a_refusal():
    seen = Seen(
        asked=(
            asked("hydration", finish="stop", answer="Hello"),
            asked("hydration", finish="stop", answer="Drink six.", cited=("en/hydration",)),
            asked(finish="stop", answer="Hello"),
            asked(finish="no_match"),
            asked(finish="escalated"),
        )
    )
    assert figure("answers.answered", seen) == Rate(1, 2)
    assert figure("answers.refused", seen) == Rate(1, 3)


def test_an_answer_is_right_when_it_holds_a_fact():
    right = asked(
        "hydration", finish="stop", answer="Six glasses.", cited=("en/x",), facts=("six glasses",)
    )
    fixed = asked("hydration", finish="no_match", answer="six glasses", facts=("six glasses",))
    seen = Seen(asked=(right, fixed))
    assert figure("answers.fact", seen) == Rate(1, 2)
    assert figure("answers.right_document", seen) == Rate(0, 1)


def test_precision_counts_markers_and_recall_sentences():
    said = (Claim("a", (True, False)), Claim("b", (False,)), Claim("c"))
    seen = Seen(asked=(asked("hydration", finish="stop", claims=said),))
    assert figure("citations.precision", seen) == Rate(1, 3)
    assert figure("citations.recall", seen) == Rate(1, 3)


def test_an_aim_is_met_from_the_side_that_is_better():
    assert BY_KEY["escalation.recall"].is_met(0.98)
    assert not BY_KEY["escalation.recall"].is_met(0.97)
    assert BY_KEY["escalation.false_alarms"].is_met(0.05)
    assert not BY_KEY["escalation.false_alarms"].is_met(0.06)
