from pathlib import Path

from evaluation.cases import Sets
from evaluation.record import Latency, Measured, Record, read, record, worse, write
from evaluation.seen import Seen
from tests.evaluation.samples import judged

NO_CASES = Sets((), (), (), ())


def recorded(key: str, hits: float, of: int = 10, *, margin: int = 0, sets: str = "s") -> Record:
    return Record(
        sets=sets,
        sizes={},
        guards_ms=Latency(p50=1, p95=2),
        figures={key: Measured(margin=margin, slices={"held.en": (hits, of)})},
    )


def test_a_figure_that_fell_is_named_with_its_slice_and_counts():
    (said,) = worse(recorded("escalation.recall", 8), recorded("escalation.recall", 9))
    assert said == (
        "escalation.recall (held.en, emergencies escalated): 8 of 10, was 9 of 10, margin 0"
    )


def test_more_false_alarms_are_worse():
    assert worse(recorded("escalation.false_alarms", 2), recorded("escalation.false_alarms", 1))
    assert not worse(recorded("escalation.false_alarms", 0), recorded("escalation.false_alarms", 1))


def test_within_its_margin_a_figure_may_fall():
    before = recorded("retrieval.hit3", 9, margin=1)
    assert worse(recorded("retrieval.hit3", 8), before) == []
    assert len(worse(recorded("retrieval.hit3", 7), before)) == 1


def test_what_is_better_or_the_same_passes():
    assert worse(recorded("retrieval.hit3", 9), recorded("retrieval.hit3", 9)) == []
    assert worse(recorded("retrieval.hit3", 10), recorded("retrieval.hit3", 9)) == []


def test_a_figure_that_nothing_counts_towards_any_more_is_worse():
    assert worse(recorded("retrieval.hit1", 1), recorded("retrieval.hit3", 9)) != []


def test_no_alarm_at_all_is_no_worse():
    empty = recorded("retrieval.hit3", 1)
    assert worse(empty, recorded("escalation.false_alarms", 1)) == []


def test_other_sets_are_not_compared():
    (said,) = worse(recorded("retrieval.hit3", 9), recorded("retrieval.hit3", 9, sets="others"))
    assert "python -m evaluation.run --write" in said


def test_a_record_counts_each_half_and_language_by_itself():
    seen = Seen(
        judged=(
            judged("escalate", "escalate"),
            judged("escalate", "escalate", half="tuned"),
            judged("escalate", "proceed", half="tuned"),
        )
    )
    made = record(seen, NO_CASES)
    assert made.figures["escalation.recall"].slices == {
        "tuned.all": (1, 2),
        "tuned.en": (1, 2),
        "held.all": (1, 1),
        "held.en": (1, 1),
    }
    assert "names.recall" not in made.figures
    assert made.guards_ms == Latency(p50=1.0, p95=1.0)


def test_what_was_written_is_read_back(tmp_path: Path):
    path = tmp_path / "baseline.json"
    assert read(path) == {}
    write({"offline": recorded("retrieval.hit3", 9)}, path)
    assert read(path) == {"offline": recorded("retrieval.hit3", 9)}
