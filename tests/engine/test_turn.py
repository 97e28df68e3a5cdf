"""What a turn remembers, closes and says at its end."""

from typing import Literal

import pytest

from tests.scenarios.play import EPOCH, NO_TOPOLOGY
from tests.scenarios.turns import (
    GUARDED,
    REVIEW,
    asked,
    cited,
    completed,
    decided,
    ended,
    started,
    words,
)
from turnwire.engine.grammar import Order, TurnState
from turnwire.engine.turn import Turn
from turnwire.errors import IllegalTransition, StorageUnavailable, UpstreamTimeout
from turnwire.events import (
    Citation,
    Envelope,
    Event,
    Failover,
    ModelCalled,
    NodeCompleted,
    NodeStarted,
    TextDelta,
    TextReplaced,
    ToolCompleted,
    ToolStarted,
    Topology,
    TurnCompleted,
    TurnFailed,
    TurnPaused,
    TurnStarted,
    Usage,
)
from turnwire.ids import ConversationId, PauseId, RunId, Seq, TurnId


def start(topology: Topology = NO_TOPOLOGY) -> Turn:
    turn = Turn(TurnId("trn_1"))
    event = TurnStarted(
        conversation_id=ConversationId("conv_1"),
        agent="helper",
        model="quoting",
        locale="en",
        trace_id="0" * 32,
        topology=topology,
    )
    turn.begin(RunId("run_1"), event, at=EPOCH)
    return turn


def resume(turn: Turn, *, at: int) -> None:
    assert turn.started is not None
    event = turn.started.model_copy(update={"resumed": True})
    turn.begin(RunId("run_2"), event, at=at)


def events(envelopes: list[Envelope]) -> list[Event]:
    return [each.event for each in envelopes]


def last(envelopes: list[Envelope]) -> TurnCompleted:
    event = envelopes[-1].event
    assert isinstance(event, TurnCompleted)
    return event


def skipped(envelopes: list[Envelope]) -> list[str]:
    return [
        each.event.node
        for each in envelopes
        if isinstance(each.event, NodeCompleted) and each.event.status == "skipped"
    ]


def test_a_failure_closes_open_tools_and_nodes_before_it_is_said():
    turn = start()
    call = ToolStarted(tool_call_id="call_1", name="clock")
    turn.receive((started("answer"), started("map"), started("map"), call), at=EPOCH + 10)

    said = turn.fail(UpstreamTimeout("secret"), error_id="err_1", at=EPOCH + 30)

    assert events(said) == [
        ToolCompleted(tool_call_id="call_1", name="clock", status="error", error="cancelled"),
        NodeCompleted(node="answer", status="failed", duration_ms=20),
        NodeCompleted(node="map", status="failed", duration_ms=20),
        NodeCompleted(node="map", status="failed", duration_ms=20),
        TurnFailed(
            code="upstream_timeout",
            message="The answer took too long. Please try again.",
            retryable=True,
            error_id="err_1",
        ),
    ]


def test_cancelling_keeps_the_partial_text_and_its_citations():
    turn = start()
    turn.receive((started("answer"), *words("Rest", " for"), cited(1)), at=EPOCH)

    said = turn.cancel(at=EPOCH + 50)

    assert events(said)[0] == NodeCompleted(node="answer", status="failed", duration_ms=50)
    assert last(said).finish_reason == "cancelled"
    assert last(said).content == "Rest for"
    assert [each.marker for each in last(said).citations] == [1]


def test_a_cancelled_turn_does_not_call_its_unvisited_nodes_skipped():
    turn = start(GUARDED)

    assert skipped(turn.cancel(at=EPOCH)) == []


def test_only_conditional_nodes_that_no_run_visited_are_skipped():
    turn = start(GUARDED)
    turn.receive((started("guard"), ended("guard"), started("answer"), ended("answer")), at=EPOCH)

    said = turn.receive((completed(""),), at=EPOCH)

    assert skipped(said) == ["retrieve", "review"]


def test_a_node_that_an_earlier_run_visited_is_not_skipped():
    turn = start(GUARDED)
    turn.receive((started("retrieve"), ended("retrieve"), started("review")), at=EPOCH)
    turn.receive((TurnPaused(pauses=(REVIEW,)),), at=EPOCH)
    resume(turn, at=EPOCH)

    said = turn.receive((started("review"), ended("review"), completed("")), at=EPOCH)

    assert skipped(said) == []


def test_the_wait_for_people_is_summed_over_all_pauses():
    turn = start()
    turn.receive((TurnPaused(pauses=(asked("pse_1"),)),), at=EPOCH + 100)
    resume(turn, at=EPOCH + 1_100)
    turn.receive((TurnPaused(pauses=(asked("pse_2"),)),), at=EPOCH + 2_000)
    resume(turn, at=EPOCH + 2_500)

    said = turn.receive((completed(""),), at=EPOCH + 9_000)

    assert last(said).human_wait_ms == 1_500


def test_a_clock_that_went_back_makes_no_negative_wait():
    turn = start()
    turn.receive((TurnPaused(pauses=(asked("pse_1"),)),), at=EPOCH + 100)
    resume(turn, at=EPOCH)

    assert last(turn.cancel(at=EPOCH)).human_wait_ms == 0


def test_where_nobody_was_asked_there_is_no_wait():
    assert last(start().receive((completed(""),), at=EPOCH)).human_wait_ms is None


def test_replacing_the_text_forgets_its_citations_and_new_ones_count():
    turn = start()
    replaced = TextReplaced(text="Sleep. [2]", reason="edited")
    turn.receive((*words("Rest. [1]"), cited(1), replaced, cited(2)), at=EPOCH)

    said = turn.receive((completed("Sleep. [2]"),), at=EPOCH)

    assert [each.marker for each in last(said).citations] == [2]


def test_content_that_differs_from_the_words_said_replaces_them_and_cites_anew():
    turn = start()
    turn.receive((*words("Rest. [1]"), cited(1)), at=EPOCH)

    said = turn.receive((completed("Rest well. [1]"),), at=EPOCH)

    assert events(said)[:-1] == [
        TextReplaced(text="Rest well. [1]", reason="final_message"),
        cited(1),
    ]
    assert last(said).content == "Rest well. [1]"
    assert [each.marker for each in last(said).citations] == [1]


def test_content_that_was_never_said_is_said_once():
    said = start().receive((completed("Rest."),), at=EPOCH)

    assert [type(each) for each in events(said)] == [TextDelta, TurnCompleted]


def test_content_that_was_said_is_not_said_again():
    turn = start()
    turn.receive(words("Re", "st."), at=EPOCH)

    assert len(turn.receive((completed("Rest."),), at=EPOCH)) == 1


def test_the_ending_tells_every_decision_in_order():
    turn = start()
    turn.receive((decided("pii", "redact"), decided("scope_rules", "pass")), at=EPOCH)

    checks = [each.check for each in last(turn.cancel(at=EPOCH)).guardrail_decisions]

    assert checks == ["pii", "scope_rules"]


def test_a_question_that_is_asked_again_keeps_its_first_form():
    turn = start()
    turn.receive((TurnPaused(pauses=(asked("pse_1", requested_ms=1, expires_ms=9),)),), at=EPOCH)
    resume(turn, at=EPOCH)

    again = TurnPaused(pauses=(asked("pse_1", requested_ms=5, expires_ms=13), asked("pse_2")))
    said = turn.receive((again,), at=EPOCH)

    assert events(said) == [
        TurnPaused(pauses=(asked("pse_1", requested_ms=1, expires_ms=9), asked("pse_2")))
    ]


def test_a_pause_without_a_draft_shows_the_words_said_so_far():
    turn = start()
    turn.receive(words("Rest", "."), at=EPOCH)

    [paused] = events(turn.receive((TurnPaused(pauses=(asked("pse_1"),)),), at=EPOCH))

    assert isinstance(paused, TurnPaused)
    assert paused.draft == "Rest."


def test_what_waits_at_a_pause_is_not_open_in_the_next_run():
    turn = start()
    call = ToolStarted(tool_call_id="call_1", name="pay")
    turn.receive((started("pay"), call, TurnPaused(pauses=(asked("pse_1"),))), at=EPOCH)
    resume(turn, at=EPOCH)

    said = turn.receive((started("pay"), call, completed("")), at=EPOCH + 3)

    assert events(said)[2:4] == [
        ToolCompleted(tool_call_id="call_1", name="pay", status="error", error="cancelled"),
        NodeCompleted(node="pay", status="failed", duration_ms=0),
    ]


def test_dropping_a_paused_turn_ends_it_as_cancelled_in_a_run_of_its_own():
    turn = start()
    turn.receive((*words("Shall I?"), TurnPaused(pauses=(asked("pse_1"),))), at=EPOCH)

    said = turn.drop(RunId("run_9"), at=EPOCH + 70)

    assert [each.run_id for each in said] == ["run_9", "run_9"]
    assert [each.seq for each in said] == [4, 5]
    assert isinstance(said[0].event, TurnStarted)
    assert said[0].event.resumed
    assert (last(said).finish_reason, last(said).content) == ("cancelled", "Shall I?")
    assert last(said).human_wait_ms == 70


def test_an_illegal_event_in_a_batch_leaves_those_before_it_to_the_next_call():
    turn = start()

    with pytest.raises(IllegalTransition):
        turn.receive((*words("Rest."), NodeCompleted(node="never")), at=EPOCH)
    said = turn.fail(UpstreamTimeout(), error_id="err_1", at=EPOCH)

    assert [type(each) for each in events(said)] == [TextDelta, TurnFailed]
    assert [each.seq for each in said] == [2, 3]


def test_a_resume_that_may_not_happen_leaves_the_run_as_it_was():
    turn = start()

    with pytest.raises(IllegalTransition):
        resume(turn, at=EPOCH)

    assert turn.receive(words("Rest."), at=EPOCH)[0].run_id == "run_1"


def test_an_ending_that_cannot_be_stored_is_shown_as_a_failure_with_its_number():
    turn = start()
    turn.receive(words("Rest."), at=EPOCH)
    ending = turn.receive((completed("Rest."),), at=EPOCH)

    shown = turn.instead(ending, StorageUnavailable(), error_id="err_1")

    assert [each.seq for each in shown] == [3]
    assert isinstance(shown[0].event, TurnFailed)
    assert shown[0].event.code == "storage_unavailable"
    assert turn.state is TurnState.FAILED


def test_a_pause_that_cannot_be_stored_closes_what_was_open_and_fails():
    turn = start()
    call = ToolStarted(tool_call_id="call_1", name="pay")
    before = turn.receive((started("pay"), call), at=EPOCH)
    ending = turn.receive((TurnPaused(pauses=(asked("pse_1"),)),), at=EPOCH)

    shown = turn.instead(ending, StorageUnavailable(), error_id="err_1")

    assert [each.seq for each in shown] == [4, 5, 6]
    assert [type(each) for each in events(shown)] == [ToolCompleted, NodeCompleted, TurnFailed]
    order = Order()
    assert turn.started is not None
    for each in (turn.started, *events(before), *events(shown)):
        order.follow(each)
    assert order.state is TurnState.FAILED


def test_a_turn_restored_from_its_log_remembers_every_question_and_citation():
    turn = start(GUARDED)
    log = turn.receive((started("answer"), *words("Rest. [1]"), cited(1)), at=EPOCH + 1)
    log += turn.receive((ended("answer"), TurnPaused(pauses=(REVIEW,))), at=EPOCH + 2)
    assert turn.started is not None
    first = Envelope(Seq(1), turn.turn_id, RunId("run_1"), EPOCH, turn.started)

    restored = Turn.restore(turn.turn_id, [first, *log])

    assert restored.pauses == {PauseId("rev_1"): REVIEW}
    assert restored.citations == [
        Citation(
            marker=1,
            id="psg-1",
            title="Fever",
            document_id="doc-1",
            snippet="Rest for two days.",
        )
    ]
    assert (restored.text, restored.seq, restored.state) == ("Rest. [1]", 6, TurnState.PAUSED)


def test_the_oldest_copy_of_an_open_node_tells_how_long_it_has_been_open():
    turn = start()
    turn.receive((NodeStarted(node="map"),), at=EPOCH + 5)
    turn.receive((NodeStarted(node="map"),), at=EPOCH + 9)
    turn.receive((ended("map"),), at=EPOCH + 11)

    assert turn.open_since == {"map": EPOCH + 5}


def test_a_cancelled_turn_tells_what_its_calls_have_taken():
    turn = start()
    call = ModelCalled(
        provider="fake:one",
        outcome="cancelled",
        duration_ms=5,
        tokens_in=20,
        tokens_out=3,
        usd=0.25,
    )
    turn.receive((started("answer"), TextDelta(text="Rest "), call, call), at=EPOCH)
    ending = last(turn.cancel(at=EPOCH))
    assert ending.usage == Usage(prompt_tokens=40, completion_tokens=6, total_tokens=46)
    assert (ending.cost.tokens_in, ending.cost.tokens_out, ending.cost.usd) == (40, 6, 0.5)


def called(provider: str, outcome: Literal["ok", "timeout"], node: str = "answer") -> ModelCalled:
    return ModelCalled(provider=provider, outcome=outcome, duration_ms=5, node=node)


def ends_of(turn: Turn, *events: Event) -> list[NodeCompleted]:
    said = turn.receive(events, at=EPOCH)
    return [each.event for each in said if isinstance(each.event, NodeCompleted)]


def test_a_nodes_end_tells_who_failed_and_who_answered():
    turn = start()
    [end] = ends_of(
        turn,
        NodeStarted(node="answer"),
        called("nim:llama", "timeout"),
        called("judge:small", "timeout", node="other"),
        called("anthropic:claude", "ok"),
        NodeCompleted(node="answer"),
    )
    assert end.failover == Failover(failed=("nim:llama (timeout)",), answered="anthropic:claude")


def test_a_failure_is_told_once_also_where_the_node_works_again():
    turn = start()
    again = (NodeStarted(node="answer"), called("a:b", "ok"), NodeCompleted(node="answer"))
    ends = ends_of(
        turn,
        NodeStarted(node="answer"),
        called("nim:x", "timeout"),
        NodeCompleted(node="answer"),
        *again,
    )
    assert [each.failover for each in ends] == [Failover(failed=("nim:x (timeout)",)), None]


def test_without_a_failure_an_end_looks_as_it_always_did():
    turn = start()
    [end] = ends_of(turn, NodeStarted(node="a"), called("x:y", "ok", "a"), NodeCompleted(node="a"))
    assert "failover" not in end.model_dump(mode="json")
