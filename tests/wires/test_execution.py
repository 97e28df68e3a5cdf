"""The execution wire, read by a parser that we did not write."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from tests.scenarios.every import SCENARIOS
from tests.scenarios.play import EPOCH, Answered, Scenario, envelopes, say
from tests.scenarios.turns import (
    APPROVED,
    BREAKS,
    CANCELLED,
    DROPPED,
    FAILED,
    INPUT,
    LINE_BREAKS,
    PLAIN,
    REFUSED,
    TWO_PAUSES,
    WAITING,
    asked,
    cited,
    completed,
    started,
    words,
)
from tests.wires.foreign import parsed, split_carelessly
from tests.wires.golden import execution_path as path
from tests.wires.golden import execution_said as said
from turnwire.events import TextReplaced, ToolStarted, TurnPaused, TurnStarted
from turnwire.wires.base import WireMessage, iso
from turnwire.wires.execution import Execution
from turnwire.wires.execution_frames import FRAMES

WIRES = pytest.mark.parametrize("tokens", [False, True], ids=["plain", "tokens"])
EACH = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)


def messages(scenario: Scenario, *, tokens: bool = True) -> list[WireMessage]:
    wire = Execution(tokens=tokens)
    return [message for each in envelopes(scenario) for message in wire.say(each)]


def names(said: Iterable[WireMessage]) -> list[str]:
    return [each.name for each in said]


def body(message: WireMessage) -> dict[str, Any]:
    return json.loads(message.data)


@WIRES
@EACH
def test_a_scenario_has_the_bytes_of_its_golden_file(scenario: Scenario, tokens: bool):
    assert said(envelopes(scenario), tokens=tokens) == path(scenario, tokens=tokens).read_bytes()


@WIRES
@EACH
def test_a_foreign_parser_reads_the_messages_that_were_said(scenario: Scenario, tokens: bool):
    read = parsed(path(scenario, tokens=tokens).read_bytes())

    sent = messages(scenario, tokens=tokens)
    assert [(each.id, each.event, each.data) for each in read] == sent


@WIRES
@EACH
def test_a_careless_parser_reads_the_same(scenario: Scenario, tokens: bool):
    read = split_carelessly(path(scenario, tokens=tokens).read_bytes())

    sent = messages(scenario, tokens=tokens)
    assert [(each["id"], each["event"], each["data"]) for each in read] == sent


@WIRES
@EACH
def test_every_frame_is_valid_by_its_published_model(scenario: Scenario, tokens: bool):
    for each in messages(scenario, tokens=tokens):
        FRAMES[each.name].model_validate_json(each.data, strict=False)


@EACH
def test_each_frames_id_is_the_number_of_the_event_that_it_says(scenario: Scenario):
    numbers = [int(each.id.removeprefix(f"{scenario.turn_id}.")) for each in messages(scenario)]

    assert numbers == sorted(set(numbers))
    assert numbers[-1] == len(envelopes(scenario))


@WIRES
@EACH
def test_each_run_begins_with_the_graph_and_ends_once(scenario: Scenario, tokens: bool):
    sent = names(messages(scenario, tokens=tokens))
    runs = sum(isinstance(each.event, TurnStarted) for each in envelopes(scenario))
    endings = [each for each in sent if each in ("turn_completed", "paused", "error")]

    assert sent[0] == "graph_topology"
    assert sent.count("graph_topology") == runs == len(endings)
    assert sent[-1] == endings[-1]


def test_without_tokens_no_words_are_said_before_the_ending():
    assert names(messages(PLAIN, tokens=False)) == [
        "graph_topology",
        "node_started",
        "node_completed",
        "turn_completed",
    ]


def test_the_tokens_make_up_the_answer():
    sent = messages(PLAIN)

    assert "".join(body(e)["text"] for e in sent if e.name == "token") == "Rest for two days."
    assert body(sent[-1])["content"] == "Rest for two days."


def test_bypassed_nodes_are_told_before_the_ending():
    skipped = [body(e) for e in messages(REFUSED) if e.name == "node_completed"][-2:]

    assert skipped == [
        {"node": "retrieve", "status": "skipped", "duration_ms": 0},
        {"node": "review", "status": "skipped", "duration_ms": 0},
    ]


def test_reasoning_and_tool_arguments_are_not_for_this_wire():
    call = ToolStarted(tool_call_id="call_1", name="clock", arguments={"zone": "CANARY"})
    scenario = Scenario("t", (say(call), say(completed(""))), phase="completed", content="")

    assert "They ask about rest" not in str(messages(PLAIN))
    assert "CANARY" not in str(messages(scenario))


def test_a_review_tells_what_the_reviewer_needs():
    paused = body(messages(WAITING)[-1])

    assert paused["status"] == "paused_for_review"
    assert paused["review"]["review_id"] == "rev_1"
    assert paused["review"]["reasons"] == ["dosage"]
    assert paused["review"]["draft"] == paused["draft"] == "Rest for two days. [1]"
    assert paused["review"]["citations"][0]["marker"] == 1
    assert paused["review"]["requested_at"] == "2027-01-15T08:00:00.000+00:00"
    assert paused["review"]["expires_at"] == "2027-01-15T08:01:00.000+00:00"


def test_a_resume_tells_the_graph_again_and_only_the_nodes_after_the_pause():
    sent = messages(APPROVED, tokens=False)
    resumed = sent[[body(e).get("resumed") for e in sent].index(True) :]

    assert names(resumed) == [
        "graph_topology",
        "node_started",
        "node_completed",
        "turn_completed",
    ]
    assert body(resumed[-1])["human_wait_ms"] == 100


def test_an_open_question_keeps_its_empty_members():
    question = asked("pse_1", payload={"a": None, "b": [None]})
    scenario = Scenario("q", (say(TurnPaused(pauses=(question,))),), phase="paused", content="")

    assert body(messages(scenario)[-1])["pauses"][0]["payload"] == {"a": None, "b": [None]}


def test_every_open_question_is_told_again_after_a_partial_answer():
    paused = [body(each) for each in messages(TWO_PAUSES) if each.name == "paused"]

    assert [[one["pause_id"] for one in each["pauses"]] for each in paused] == [
        ["pse_1", "pse_2"],
        ["pse_1"],
    ]
    assert paused[1]["pauses"][0]["requested_at"] == iso(EPOCH)
    assert paused[0]["status"] == "paused_for_input"


def test_a_failure_tells_code_and_fixed_text():
    assert body(messages(FAILED)[-1]) == {
        "code": "upstream_unavailable",
        "message": "The model is not available right now. Please try again.",
        "retryable": True,
        "error_id": "err_1",
    }


@pytest.mark.parametrize(
    ("scenario", "status", "reason", "content"),
    [
        (PLAIN, "complete", "stop", "Rest for two days."),
        (CANCELLED, "complete", "cancelled", "Rest for two d"),
        (DROPPED, "complete", "cancelled", "Rest for two days. [1]"),
        (WAITING, "paused_for_review", "awaiting_review", "Rest for two days. [1]"),
        (INPUT, "complete", "stop", "Thank you, Ada."),
    ],
    ids=lambda each: each.name if isinstance(each, Scenario) else "",
)
def test_the_json_answer_says_what_the_last_frame_says(
    scenario: Scenario, status: str, reason: str, content: str
):
    wire, log = Execution(), envelopes(scenario)
    for each in log:
        wire.say(each)

    answer = wire.response(log[-1])

    assert (answer.status, answer.finish_reason, answer.content) == (status, reason, content)
    assert (answer.thread_id, answer.turn_id) == ("conv_1", "trn_1")


def test_a_response_needs_an_ending():
    log = envelopes(FAILED)
    wire = Execution()
    for each in log:
        wire.say(each)

    with pytest.raises(ValueError, match="ending"):
        wire.response(log[-1])


def test_unicode_line_breaks_arrive_as_they_were_written():
    sent = messages(BREAKS)
    raw = said(envelopes(BREAKS), tokens=True)

    assert body(sent[-1])["content"] == LINE_BREAKS
    assert body(sent[-1])["citations"][0]["title"] == LINE_BREAKS
    assert "".join(body(e)["text"] for e in sent if e.name == "token") == LINE_BREAKS
    for each in ("\u2028", "\u2029", "\u0085"):
        assert each.encode() not in raw


LONG = ("x" * 100_000, "é" * 100_000, "\x00" * 100_000, "\u2028" * 100_000, "🌦" * 100_000)


@pytest.mark.parametrize("text", LONG, ids=["ascii", "accents", "control", "breaks", "emoji"])
@WIRES
def test_no_frame_outgrows_a_clients_buffer_however_long_the_text(text: str, tokens: bool):
    replaced = TextReplaced(text=text, reason="edited")
    scenario = Scenario(
        "long",
        (say(started("answer"), *words(text), replaced, cited(1)), say(completed(text))),
        phase="completed",
        content=text,
    )
    sent = messages(scenario, tokens=tokens)

    assert max(len(line) for line in said(envelopes(scenario), tokens=tokens).split(b"\n")) < 65_536
    assert body(sent[-1])["content_url"] == "/conversations/conv_1/turns/trn_1"
    assert text.startswith(body(sent[-1])["content"])
    shown = ""
    for each in sent:
        FRAMES[each.name].model_validate_json(each.data)
        if each.name == "text_replaced":
            shown = ""
        if each.name in ("token", "text_replaced"):
            shown += body(each)["text"]
    assert shown == (text if tokens else "")


def test_who_loses_the_connection_within_a_long_text_goes_on_where_it_was():
    replaced = TextReplaced(text="y" * 20_000, reason="edited")
    scenario = Scenario("long", (say(*words("short"), replaced),), phase="running", content="")
    wire, sent = Execution(tokens=True), messages(scenario)

    assert [(each.name, each.id) for each in sent[1:]] == [
        ("token", "trn_1.2"),
        ("text_replaced", "trn_1.3"),
        ("token", "trn_1.4"),
        ("token", "trn_1.5"),
    ]
    log = envelopes(scenario)
    for each in log[:3]:
        wire.hear(each)
    assert [message for each in log[3:] for message in wire.say(each)] == sent[3:]


def test_a_long_delta_is_several_events_of_their_own():
    scenario = Scenario("long", (say(*words("y" * 20_000)),), phase="running", content="")

    assert [each.id for each in messages(scenario)[1:]] == ["trn_1.2", "trn_1.3", "trn_1.4"]


def test_text_that_just_fits_is_sent_whole():
    text = "word " * 9_000
    scenario = Scenario("fits", (say(completed(text)),), phase="completed", content=text)

    assert body(messages(scenario)[-1])["content"] == text


def test_a_wire_that_has_heard_the_start_tells_the_rest():
    log = envelopes(APPROVED)
    whole = messages(APPROVED)
    for after in range(1, len(log)):
        wire = Execution(tokens=True)
        for each in log[:after]:
            wire.say(each)
        rest = [message for each in log[after:] for message in wire.say(each)]
        assert rest == whole[len(whole) - len(rest) :]


def test_the_second_run_does_not_tell_the_decisions_of_the_first_twice():
    scenario = Scenario(
        "again",
        (
            say(TurnPaused(pauses=(asked("pse_1"),))),
            Answered({"pse_1": "answered"}),
            say(TurnPaused(pauses=(asked("pse_2"),))),
        ),
        phase="paused",
        content="",
    )
    wire, log = Execution(), envelopes(scenario)
    for each in log:
        wire.say(each)

    assert wire.response(log[-1]).guardrail_decisions == ()
