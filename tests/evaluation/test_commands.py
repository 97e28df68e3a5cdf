"""The two commands, with a run made by hand."""

import json
from typing import Any

import pytest

from evaluation import check, run
from evaluation.cases import load
from evaluation.record import Record, record
from evaluation.seen import Seen
from tests.evaluation.samples import judged
from turnwire.errors import SetupError

GOOD = Seen(judged=(judged("escalate", "escalate"), judged("escalate", "escalate", half="tuned")))
BAD = Seen(judged=(judged("escalate", "proceed"), judged("escalate", "escalate", half="tuned")))


def saw(monkeypatch: pytest.MonkeyPatch, seen: Seen) -> None:
    def ran(*_: object) -> Seen:
        return seen

    monkeypatch.setattr(run, "run", ran)
    monkeypatch.setattr(check, "run", ran)


def committed(monkeypatch: pytest.MonkeyPatch, records: dict[str, Record]) -> None:
    monkeypatch.setattr(check, "read", lambda: records)


def test_the_check_passes_where_nothing_fell(monkeypatch: pytest.MonkeyPatch):
    saw(monkeypatch, GOOD)
    committed(monkeypatch, {"offline": record(GOOD, load())})
    assert check.main() == 0


def test_the_check_names_the_figure_that_fell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    saw(monkeypatch, BAD)
    committed(monkeypatch, {"offline": record(GOOD, load())})
    assert check.main() == 1
    said = capsys.readouterr().err
    assert "escalation.recall (held.en, emergencies escalated): 0 of 1, was 1 of 1" in said
    assert "tuned" not in said


def test_the_check_needs_a_record(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    committed(monkeypatch, {})
    assert check.main() == 2
    assert "python -m evaluation.run --write" in capsys.readouterr().err


def test_a_run_prints_a_line_for_each_figure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    saw(monkeypatch, BAD)
    assert run.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:2] == ["escalation.recall", "1.000"]
    assert lines[-1].startswith("guardrails, ms a message: p50 1.0")


def test_a_run_of_one_half_takes_only_its_cases(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    given: list[Any] = []

    def ran(_: object, sets: object) -> Seen:
        given.append(sets)
        return GOOD

    monkeypatch.setattr(run, "run", ran)
    assert run.main(["--half", "held", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sets"] == load().of("held").digest()
    assert given == [load().of("held")]


def test_half_a_run_is_no_record(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        run.main(["--half", "held", "--write"])
    assert ended.value.code == 2
    assert "--write needs both halves" in capsys.readouterr().err


def test_a_configuration_that_cannot_run_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def refused(*_: object) -> Seen:
        raise SetupError("install this")

    monkeypatch.setattr(run, "run", refused)
    assert run.main(["--configuration", "pii"]) == 2
    assert capsys.readouterr().err == "install this\n"
