import yaml

from evaluation.cases import load
from evaluation.page import REASONS, lines, missed
from evaluation.record import read
from tests.evaluation.test_record import recorded


def test_the_record_is_of_the_committed_sets():
    assert read()["offline"].sets == load().digest()


def test_every_aim_that_is_missed_has_its_reason():
    reasons = yaml.safe_load(REASONS.read_text("utf-8"))
    assert [each for each in missed(read()) if not reasons.get(each)] == []


def test_an_aim_is_missed_by_the_held_back_half_alone():
    low = recorded("escalation.recall", 9)
    figures = {"escalation.recall": low.figures["escalation.recall"]}
    of_held = figures["escalation.recall"].model_copy(update={"slices": {"held.all": (9, 10)}})
    of_tuned = figures["escalation.recall"].model_copy(update={"slices": {"tuned.all": (9, 10)}})
    held = low.model_copy(update={"figures": {"escalation.recall": of_held}})
    tuned = low.model_copy(update={"figures": {"escalation.recall": of_tuned}})
    assert missed({"offline": held}) == ["escalation.recall"]
    assert missed({"offline": tuned}) == []


def test_the_page_shows_each_aim_with_its_interval_and_counts():
    page = "\n".join(lines())
    held = read()["offline"].figures["escalation.recall"].rate("held", None)
    low, high = held.interval()
    assert held.value is not None
    shown = f"{held.value:.2f} [{low:.2f}, {high:.2f}] {held.hits:g}/{held.of}"
    assert f"| emergencies escalated | `offline` | ≥ 0.98 | {shown} |" in page
    assert "| names taken out | `pii` | ≥ 0.85 |" in page
