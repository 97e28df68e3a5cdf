"""The answer wire: its frames, their order, and what is left of words that are taken back."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.scenarios.every import SCENARIOS
from tests.scenarios.members import (
    ASKED_WITHIN,
    CONFIRMED,
    LENGTHENED,
    NEVER_RUN,
    NOT_HAPPENED,
    REFUSED_BY_MEMBER,
    SEARCH_FAILED,
    SENT_TO_SIGN_IN,
    SIGNED_IN,
    SIGNED_OUT,
    TAKEN_BACK,
    TO_CONFIRM,
    TOOL_REFUSED,
    TWO_SEARCHES,
)
from tests.scenarios.play import Answered, Scenario, envelopes, say
from tests.scenarios.turns import (
    APPROVED,
    BREAKS,
    CANCELLED,
    DROPPED,
    EDITED,
    FAILED,
    FOUND,
    INPUT,
    LINE_BREAKS,
    LOST,
    PLAIN,
    TOOLS,
    WAITING,
    asked,
    cited,
    completed,
    words,
)
from tests.wires.foreign import parsed, split_carelessly
from tests.wires.golden import answer_path, answer_said, answer_wire, golden, told
from tests.wires.order import Screen, Told, check_order
from turnwire.events import Envelope, TextReplaced, ToolCompleted, ToolStarted, TurnPaused
from turnwire.ids import Seq
from turnwire.wires.answer import Answer
from turnwire.wires.answer_frames import FRAMES
from turnwire.wires.base import WireMessage

EACH = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
AGAIN = pytest.mark.parametrize("again", [False, True], ids=["live", "again"])


def frames(messages: Sequence[WireMessage]) -> list[Told]:
    return [Told(each.id, each.name, json.loads(each.data)) for each in messages]


def stream(scenario: Scenario, *, again: bool = False) -> list[Told]:
    log = envelopes(scenario)
    return frames(told(answer_wire(log, again=again), log))


def names(scenario: Scenario, *, again: bool = False) -> list[str]:
    return [each.event for each in stream(scenario, again=again)]


def only(scenario: Scenario, event: str) -> dict[str, Any]:
    (found,) = [each.data for each in stream(scenario) if each.event == event]
    return found


def attached(log: Sequence[Envelope], after: int) -> list[Told]:
    """Return what a client is told that has heard up to ``after``, when all has happened."""
    wire = answer_wire(log, again=True)
    for each in log:
        if each.seq <= after:
            wire.hear(each)
    return frames(told(wire, [each for each in log if each.seq > after]))


def test_every_golden_file_has_its_bytes_and_none_is_left_over():
    wanted = dict(golden())

    assert {each: each.read_bytes() for each in answer_path(PLAIN).parent.glob("*")} == wanted


@AGAIN
@EACH
def test_the_order_is_kept(scenario: Scenario, again: bool):
    check_order(stream(scenario, again=again))


@EACH
def test_every_frame_is_valid_by_its_published_model(scenario: Scenario):
    for each in told(Answer(), envelopes(scenario)):
        FRAMES[each.name].model_validate_json(each.data, strict=False)


@EACH
def test_foreign_and_careless_parsers_read_what_was_said(scenario: Scenario):
    body = answer_path(scenario).read_bytes()
    sent = told(Answer(), envelopes(scenario))

    assert [(each.id, each.event, each.data) for each in parsed(body)] == sent
    assert [(e["id"], e["event"], e["data"]) for e in split_carelessly(body)] == sent


@EACH
def test_a_stream_that_is_told_again_shows_what_is_stored(scenario: Scenario):
    shown = Screen().take(stream(scenario, again=True))

    assert shown.message_id == "trn_1"
    if scenario.phase != "paused":
        assert shown.text == scenario.content
        assert shown.ending == (scenario.finish_reason or scenario.error_code)
    else:
        assert scenario.content.startswith(shown.text)
        assert shown.ending.startswith("awaiting_")


@EACH
def test_wherever_a_client_loses_the_connection_it_comes_to_show_the_same(scenario: Scenario):
    log = envelopes(scenario)
    whole = Screen().take(stream(scenario, again=True))
    live = stream(scenario)
    for count in range(1, len(live) + 1):
        heard = live[:count]
        rest = attached(log, int(heard[-1].id.rpartition(".")[2]))
        check_order(rest, opened=True)
        if rest[-1].data.get("code") == "answer_replaced":
            # Words that were shown are not among what stands: the client begins anew.
            shown = Screen().take(stream(scenario, again=True))
        else:
            shown = Screen().take([*heard, *rest])
        assert shown == whole, (count, heard[-1])


def test_a_client_that_has_heard_everything_is_told_the_ending_again():
    for scenario in (PLAIN, FAILED, CANCELLED, TO_CONFIRM, SIGNED_OUT, WAITING):
        log = envelopes(scenario)
        assert attached(log, len(log)) == stream(scenario)[-1:]


def test_a_message_opens_with_its_name_and_the_model_that_answers():
    assert stream(PLAIN)[0] == Told(
        "trn_1.1",
        "message.started",
        {"message_id": "trn_1", "conversation_id": "conv_1", "model": "quoting"},
    )


def test_it_ends_with_the_finish_reason_and_the_usage_that_was_reported():
    assert stream(PLAIN)[-1].data == {
        "message_id": "trn_1",
        "finish_reason": "stop",
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
    }
    assert stream(CANCELLED)[-1].data == {"message_id": "trn_1", "finish_reason": "cancelled"}


def test_nodes_guardrails_and_reasoning_say_nothing():
    assert names(PLAIN) == [
        "message.started",
        *["token.delta"] * 3,
        "message.completed",
    ]
    assert "They ask about rest" not in str(stream(PLAIN))


def test_the_searches_of_a_turn_are_told_once_and_before_its_words():
    assert names(TWO_SEARCHES) == [
        "message.started",
        "tool.started",
        "tool.completed",
        "retrieval.completed",
        "token.delta",
        "token.delta",
        "citation",
        "citation",
        "message.completed",
    ]
    account = only(TWO_SEARCHES, "retrieval.completed")
    assert account["query"] == "rest | rest after fever"
    assert account["duration_ms"] == 12
    assert [each["id"] for each in account["documents"]] == ["psg-1", "psg-2"]
    assert account["searches"][0].get("tool_call_id") is None
    assert account["searches"][1]["funnel"]["rerank"] == "skipped_by_client"
    assert account["searches"][1]["funnel"]["rerank_hint"] is False
    assert "rerank_hint" not in account["searches"][0]["funnel"]


def test_a_citation_without_evidence_is_dropped():
    cites = [each.data["id"] for each in stream(TWO_SEARCHES) if each.event == "citation"]

    assert cites == ["psg-1", "psg-2"]
    assert "citation" not in names(BREAKS), "that turn never searched"


def test_a_citation_has_an_address_only_where_documents_have_one():
    log = envelopes(TWO_SEARCHES)

    def urls(documents: str | None) -> list[object]:
        said = frames(told(Answer(documents=documents), log))
        return [each.data.get("url") for each in said if each.event == "citation"]

    ids = [e.data["document_id"] for e in stream(TWO_SEARCHES) if e.event == "citation"]
    assert urls(None) == [None, None]
    assert urls("https://docs.example.org/d/") == [f"https://docs.example.org/d/{e}" for e in ids]


def test_a_search_that_failed_is_told_without_documents_and_without_a_funnel():
    account = only(SEARCH_FAILED, "retrieval.completed")

    assert account["documents"] == []
    assert account["searches"] == [{"query": "rest", "status": "error", "duration_ms": 0}]


def test_a_turn_that_never_searched_tells_of_no_search():
    assert "retrieval.completed" not in names(PLAIN)


def test_a_turn_that_searched_and_said_nothing_tells_of_it_all_the_same():
    silent = Scenario("s", (say(FOUND, completed("", "stop")),), phase="completed", content="")

    assert names(silent) == ["message.started", "retrieval.completed", "message.completed"]


def test_a_tool_that_failed_has_a_text_and_no_result():
    ends = [each.data for each in stream(TOOLS) if each.event == "tool.completed"]

    assert ends == [
        {
            "tool_call_id": "call_2",
            "name": "clock",
            "status": "ok",
            "duration_ms": 0,
            "result": "21:00",
        },
        {
            "tool_call_id": "call_1",
            "name": "clock",
            "status": "error",
            "duration_ms": 0,
            "error": "no clock",
        },
    ]


def test_the_code_of_a_refused_tool_is_not_on_the_wire():
    assert "not_allowed" not in str(stream(TOOL_REFUSED))
    assert only(TOOL_REFUSED, "tool.completed")["error"] == "This tool is not available."


def test_an_action_to_confirm_is_shown_with_its_preview_and_the_turn_waits():
    assert names(TO_CONFIRM)[-2:] == ["action.confirmation_required", "message.completed"]
    assert only(TO_CONFIRM, "action.confirmation_required") == {
        "confirmation_id": "cnf_1",
        "tool_call_id": "call_2",
        "name": "request_callback",
        "summary": "Ask an advisor to call you back about: my claim is stuck",
        "arguments_preview": {"reason": "my claim is stuck"},
        "risk": "send",
        "expires_at": "2027-01-15T08:01:00.000+00:00",
    }
    assert stream(TO_CONFIRM)[-1].data["finish_reason"] == "awaiting_confirmation"


@pytest.mark.parametrize("payload", [None, "really?", ["a"], {"name": 7, "arguments_preview": "x"}])
def test_a_confirmation_that_a_graph_asked_carelessly_is_shown_all_the_same(payload: Any):  # noqa: ANN401
    pause = asked("cnf_1", kind="confirmation").model_copy(update={"payload": payload})
    scenario = Scenario("c", (say(TurnPaused(pauses=(pause,))),), phase="paused", content="")

    card = only(scenario, "action.confirmation_required")
    assert (card["confirmation_id"], card["arguments_preview"]) == ("cnf_1", {})


@pytest.mark.parametrize(
    ("scenario", "ended"),
    [
        (CONFIRMED, {"decision": "approve", "status": "ok"}),
        (REFUSED_BY_MEMBER, {"decision": "reject", "status": "rejected"}),
        (
            NOT_HAPPENED,
            {"decision": "approve", "status": "error", "error": "The line is busy."},
        ),
    ],
    ids=lambda each: each.name if isinstance(each, Scenario) else "",
)
def test_an_action_ends_in_one_of_three_ways(scenario: Scenario, ended: dict[str, str]):
    assert only(scenario, "action.completed") == {"confirmation_id": "cnf_1", **ended}


def test_a_call_that_waits_for_a_person_within_itself_is_one_pair():
    assert names(ASKED_WITHIN) == [
        "message.started",
        "tool.started",
        "action.confirmation_required",
        "tool.completed",
        "token.delta",
        "message.completed",
    ]


def test_a_call_that_waited_and_is_not_taken_up_again_is_ended_before_the_next_words():
    assert names(NEVER_RUN)[-3:] == ["tool.completed", "token.delta", "message.completed"]
    assert only(NEVER_RUN, "tool.completed")["error"] == "not run"


def test_a_sign_in_that_the_turn_waits_for_can_be_resumed():
    assert only(SIGNED_OUT, "auth.required") == {
        "reason": "sign_in_required",
        "tool": "get_covered_benefits",
        "message": "I need you to sign in.",
        "resumable": True,
        "resume_id": "pse_1",
    }
    assert stream(SIGNED_OUT)[-1].data["finish_reason"] == "awaiting_sign_in"
    assert names(SIGNED_OUT).index("token.delta") < names(SIGNED_OUT).index("auth.required")


def test_a_tool_that_wants_a_sign_in_says_so_in_the_older_shape():
    assert only(SENT_TO_SIGN_IN, "auth.required") == {
        "reason": "sign_in_required",
        "tool": "get_plan_details",
        "message": "The member is not signed in.",
    }
    assert stream(SENT_TO_SIGN_IN)[-1].data["finish_reason"] == "sign_in_required"


def test_two_tools_that_want_a_sign_in_show_one_card():
    refused = [
        event
        for call in ("call_1", "call_2")
        for event in (
            ToolStarted(tool_call_id=call, name="plan"),
            ToolCompleted(tool_call_id=call, name="plan", status="error", code="sign_in_required"),
        )
    ]
    scenario = Scenario("s", (say(*refused, completed("x")),), phase="completed", content="x")

    assert names(scenario).count("auth.required") == 1


def test_a_search_after_a_pause_is_told_before_the_words_that_rest_on_it():
    accounts = [each.data for each in stream(SIGNED_IN) if each.event == "retrieval.completed"]

    assert [len(each["documents"]) for each in accounts] == [1, 2]


def test_a_pause_that_the_turn_went_on_from_does_not_end_the_stream():
    for scenario in (APPROVED, INPUT, CONFIRMED, SIGNED_IN, DROPPED):
        assert names(scenario).count("message.completed") == 1


def test_a_graphs_own_question_is_told_with_the_ending():
    scenario = Scenario("q", (say(TurnPaused(pauses=(asked("pse_1"),))),), "paused", "")

    assert stream(scenario)[-1].data == {
        "message_id": "trn_1",
        "finish_reason": "awaiting_input",
        "pauses": [
            {
                "pause_id": "pse_1",
                "kind": "input",
                "payload": {"question": "What about pse_1?"},
            }
        ],
    }


def test_a_draft_under_review_is_not_told_to_the_member():
    review = asked("rev_1", kind="review", payload={"draft": "CANARY", "reasons": ["dosage"]})
    paused = TurnPaused(pauses=(review,), draft="CANARY")
    scenario = Scenario("r", (say(paused),), phase="paused", content="CANARY")

    assert stream(scenario)[-1].data == {"message_id": "trn_1", "finish_reason": "awaiting_review"}
    assert "CANARY" not in str(stream(scenario))


def test_a_resumed_stream_of_its_own_opens_the_message_again():
    log = envelopes(CONFIRMED)
    run = [each for each in log if each.run_id == "run_2"]
    wire = Answer()
    for each in log:
        if each.seq < run[0].seq:
            wire.hear(each)
    wire.reopen()
    sent = frames(told(wire, run))

    check_order(sent)
    assert sent[0].data["message_id"] == "trn_1"
    assert sent[0].id == f"trn_1.{run[0].seq}"
    assert [each.event for each in sent[1:]] == [
        "tool.started",
        "tool.completed",
        "action.completed",
        "token.delta",
        "message.completed",
    ]


def test_words_that_were_taken_back_make_the_stream_fail_and_are_not_told_again():
    live, again = stream(TAKEN_BACK), stream(TAKEN_BACK, again=True)

    assert live[-1].data == {
        "code": "answer_replaced",
        "message": "The answer was replaced. Please read it again.",
        "retryable": True,
    }
    assert "I can't help" not in str(live), "words beside those that they replace"
    assert "ten pills" not in str(again)
    assert Screen().take(again).text == "I can't help with that."


def test_a_client_that_attaches_by_the_failures_id_is_not_led_past_it():
    live = stream(TAKEN_BACK)
    rest = attached(envelopes(TAKEN_BACK), int(live[-1].id.rpartition(".")[2]))

    assert [each.event for each in rest] == ["error"]


def test_a_client_that_has_shown_none_of_the_words_is_told_the_new_ones():
    assert Screen().take(attached(envelopes(EDITED), 1)).text == "Rest for three days. [1]"


def test_a_replacement_that_only_adds_words_is_told_as_those_words():
    assert [each.data["text"] for each in stream(LENGTHENED) if each.event == "token.delta"] == [
        "Rest for ",
        "two",
        " days.",
    ]


def test_a_replacement_of_nothing_is_told_as_words():
    scenario = Scenario(
        "r",
        (say(TextReplaced(text="Hello.", reason="edited"), completed("Hello.")),),
        phase="completed",
        content="Hello.",
    )
    assert names(scenario) == ["message.started", "token.delta", "message.completed"]


def test_a_turn_that_lost_its_process_is_told_as_interrupted():
    assert stream(LOST)[-1].data["code"] == "stream_interrupted"
    assert stream(FAILED)[-1].data == {
        "code": "upstream_unavailable",
        "message": "The model is not available right now. Please try again.",
        "retryable": True,
        "error_id": "err_1",
    }


@EACH
def test_a_log_that_stops_anywhere_still_gives_one_terminator(scenario: Scenario):
    log = envelopes(scenario)
    for count in range(1, len(log)):
        sent = frames(told(Answer(), log[:count]))
        names = [each.event for each in sent]
        assert [each for each in names if each in ("message.completed", "error")] == names[-1:]
        code = sent[-1].data.get("code")
        if log[count - 1].event.type not in ("turn.paused", "turn.failed"):
            assert code in ("stream_interrupted", "answer_replaced")
        if code == "stream_interrupted" and log[count - 1].event.type != "turn.failed":
            assert sent[-1].data["error_id"] == "err_wire"


def test_unicode_line_breaks_arrive_as_they_were_written():
    raw = answer_said(envelopes(BREAKS))

    assert Screen().take(stream(BREAKS)).text == LINE_BREAKS
    for each in ("\u2028", "\u2029", "\u0085"):
        assert each.encode() not in raw


HUGE = "\x00" * 60_000


def test_no_frame_outgrows_a_clients_buffer():
    documents = tuple(
        FOUND.documents[0].model_copy(update={"id": f"psg-{n}", "snippet": "é" * 5_000})
        for n in range(40)
    )
    cards = (
        asked("cnf_1", kind="confirmation", payload={"name": "a", "summary": HUGE}),
        asked("pse_1", payload={"question": HUGE}),
    )
    scenario = Scenario(
        "huge",
        (
            say(FOUND.model_copy(update={"documents": documents})),
            say(ToolStarted(tool_call_id="c", name="t", arguments={"a": HUGE})),
            say(ToolCompleted(tool_call_id="c", name="t", status="ok", result=HUGE)),
            say(*words(HUGE), TextReplaced(text=HUGE + HUGE, reason="edited")),
            say(TurnPaused(pauses=cards)),
            Answered({"cnf_1": "approve", "pse_1": "answered"}),
            say(cited(1), completed(HUGE + HUGE)),
        ),
        phase="completed",
        content=HUGE + HUGE,
    )
    log = envelopes(scenario)
    for again in (False, True):
        raw = answer_said(log, again=again)
        assert max(map(len, raw.split(b"\n"))) < 65_536
        check_order(stream(scenario, again=again))
    assert Screen().take(stream(scenario, again=True)).text == HUGE + HUGE
    started = only(scenario, "tool.started")
    assert started["arguments"] == {"truncated": True}


def test_without_any_event_the_stream_says_that_it_was_interrupted():
    (closing,) = Answer(replaced_at=Seq(0)).end(error_id="err_9")

    assert (closing.id, closing.name) == ("", "error")
    assert json.loads(closing.data)["error_id"] == "err_9"
