"""The studio wire: every scenario's messages, also for a client that comes back after any event."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scenarios.every import SCENARIOS
from tests.scenarios.play import Scenario, envelopes
from tests.scenarios.turns import TWO_PAUSES, WAITING
from tests.wires.golden import studio_path as path
from tests.wires.golden import studio_said as said
from tests.wires.golden import told
from turnwire.events import TextDelta, TextReplaced, TurnPaused
from turnwire.wires.base import FRAME_BYTES
from turnwire.wires.framings.websocket import texts
from turnwire.wires.studio import Studio, message
from turnwire.wires.studio_frames import ErrorBody, Pong, ToolResult

EACH = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)


def frames(scenario: Scenario) -> list[dict[str, Any]]:
    return [json.loads(each) for each in texts(told(Studio(), envelopes(scenario)))]


@EACH
def test_a_scenario_has_the_bytes_of_its_golden_file(scenario: Scenario):
    assert said(envelopes(scenario)) == path(scenario).read_bytes()


@EACH
def test_who_comes_back_after_any_event_hears_the_rest_as_it_was(scenario: Scenario):
    log = envelopes(scenario)
    whole = told(Studio(), log)
    for after in range(1, len(log)):
        wire = Studio()
        for each in log[:after]:
            wire.hear(each)
        later = told(wire, log[after:])
        seen = {each.id for envelope in log[:after] for each in whole if _is_of(each.id, envelope)}
        assert later == [each for each in whole if each.id not in seen] or not later[:-1]


def _is_of(position: str, envelope: Any) -> bool:  # noqa: ANN401 - an envelope of any event
    return position == f"{envelope.turn_id}.{envelope.seq}"


@EACH
def test_numbers_rise_and_a_turns_end_comes_once_and_last(scenario: Scenario):
    heard = frames(scenario)
    numbers = [each["seq"] for each in heard if "seq" in each]
    assert numbers == sorted(numbers)
    ends = [each["type"] for each in heard if each["type"] in ("done", "error")]
    assert ends == ([heard[-1]["type"]] if heard[-1]["type"] != "approval_request" else [])


@EACH
def test_the_words_are_those_of_the_events(scenario: Scenario):
    wanted = shown = ""
    for each in envelopes(scenario):
        if isinstance(each.event, TextReplaced):
            wanted = each.event.text
        elif isinstance(each.event, TextDelta):
            wanted += each.event.text
    for frame in frames(scenario):
        if frame["type"] == "text_replaced":
            shown = frame["content"]
        elif frame["type"] == "token":
            shown += frame["content"]
    assert shown == wanted


@pytest.mark.parametrize("scenario", [WAITING, TWO_PAUSES], ids=lambda each: each.name)
def test_a_pause_is_a_request_for_each_of_its_questions_and_never_a_done(scenario: Scenario):
    asked = [
        pause.pause_id
        for each in envelopes(scenario)
        if isinstance(each.event, TurnPaused)
        for pause in each.event.pauses
    ]
    heard = frames(scenario)
    requests = [each["approval_id"] for each in heard if each["type"] == "approval_request"]
    assert requests == asked


def test_a_log_without_an_ending_is_told_as_interrupted():
    wire = Studio()
    log = envelopes(SCENARIOS[0])[:2]
    for each in log:
        list(wire.say(each))
    (end,) = texts(wire.end(error_id="err_1"))
    assert json.loads(end)["code"] == "stream_interrupted"
    assert json.loads(end)["error_id"] == "err_1"


def test_a_frame_of_no_turn_has_no_place():
    assert texts([message("", Pong())]) == ['{"type":"pong"}']
    body = ErrorBody(code="c", message="m", retryable=False)
    assert texts([message("", body)]) == [
        '{"type":"error","code":"c","message":"m","retryable":false}'
    ]


@given(st.text(), st.integers(0, 200_000))
def test_no_message_outgrows_a_clients_buffer(text: str, length: int):
    result = ToolResult(
        tool_call_id="c1",
        name="t",
        status="ok",
        duration_ms=1,
        result={"text": text + "é" * length},
        error=text * 3 + "x" * length,
    )
    (said,) = texts([message("trn_1.7", result)])
    assert len(said.encode()) < FRAME_BYTES + 200
    read = json.loads(said)
    assert (read["type"], read["turn_id"], read["seq"]) == ("tool_result", "trn_1", 7)


@given(st.text())
def test_any_words_come_through_whole_and_in_one_line(text: str):
    (said,) = texts([message("", ErrorBody(code="c", message=text, retryable=True))])
    assert json.loads(said)["message"] == text
    assert len(said.splitlines()) == 1
