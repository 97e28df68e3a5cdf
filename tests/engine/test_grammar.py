from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scenarios.every import SCENARIOS
from tests.scenarios.play import EPOCH, Scenario, envelopes
from tests.scenarios.turns import GUARDED, asked, cited, completed
from turnwire.engine.grammar import FINAL, TRANSITIONS, Order, TurnState, next_state
from turnwire.engine.turn import Turn
from turnwire.errors import AgentError, IllegalTransition
from turnwire.events import (
    RUN_ENDINGS,
    ActionCompleted,
    Envelope,
    Event,
    ModelCalled,
    NodeCompleted,
    NodeStarted,
    RetrievalCompleted,
    TextDelta,
    TextReplaced,
    ToolCompleted,
    ToolStarted,
    TurnCompleted,
    TurnFailed,
    TurnPaused,
    TurnStarted,
)
from turnwire.ids import ConversationId, RunId, TurnId

STARTED = TurnStarted(
    conversation_id=ConversationId("conv_1"),
    agent="helper",
    model="quoting",
    locale="en",
    trace_id="0" * 32,
    topology=GUARDED,
)
FAILED = TurnFailed(code="agent_error", message="No.", retryable=False, error_id="err_1")

NODES = st.sampled_from(["guard", "retrieve", "answer"])
CALLS = st.sampled_from(["call_1", "call_2"])
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(NodeStarted, node=NODES),
    st.builds(NodeCompleted, node=NODES, status=st.sampled_from(["executed", "failed"])),
    st.builds(ToolStarted, tool_call_id=CALLS, name=st.just("clock")),
    st.builds(ToolCompleted, tool_call_id=CALLS, name=st.just("clock"), status=st.just("ok")),
    st.builds(TextDelta, text=st.sampled_from(["a", "b", " "])),
    st.builds(TextReplaced, text=st.sampled_from(["c", ""]), reason=st.just("edited")),
    st.sampled_from([cited(1), cited(2), cited(3)]),
    st.just(RetrievalCompleted(query="q", duration_ms=1)),
    st.just(ModelCalled(provider="fake:one", outcome="ok", duration_ms=1)),
    st.just(ActionCompleted(confirmation_id="cnf_1", decision="approve", status="ok")),
    st.sampled_from([TurnPaused(pauses=(asked(each),)) for each in ("pse_1", "pse_2")]),
    st.sampled_from([completed(""), completed("a"), completed("ab")]),
    st.just(FAILED),
    st.just(STARTED),
)
MOVES = st.lists(st.one_of(EVENTS, st.sampled_from(["resume", "cancel", "fail", "drop"])))


def follow(turn: Turn, move: Event | str, at: int, runs: int) -> list[Envelope]:
    run_id = RunId(f"run_{runs}")
    match move:
        case "resume":
            return turn.begin(run_id, STARTED.model_copy(update={"resumed": True}), at=at)
        case "cancel":
            return turn.cancel(at=at)
        case "fail":
            return turn.fail(AgentError(), error_id="err_1", at=at)
        case "drop":
            return turn.drop(run_id, at=at)
        case str():
            raise AssertionError(move)
        case event:
            return turn.receive((event,), at=at)


def drive(moves: list[Event | str]) -> tuple[Turn, list[Envelope]]:
    """Feed a turn whatever comes; what it refuses is left out, as the engine would."""
    turn = Turn(TurnId("trn_1"))
    log = turn.begin(RunId("run_0"), STARTED, at=EPOCH)
    for number, move in enumerate(moves, start=1):
        try:
            log += follow(turn, move, EPOCH + number, number)
        except IllegalTransition:
            log += turn.receive((), at=EPOCH + number)
    return turn, log


def test_the_table_knows_every_event_and_no_other():
    known = {kind for allowed in TRANSITIONS.values() for kind in allowed}

    assert known == set(get_args(Event))


def test_the_table_knows_every_state():
    assert set(TRANSITIONS) == set(TurnState)
    assert frozenset({TurnState.COMPLETED, TurnState.FAILED}) == FINAL


@pytest.mark.parametrize("state", [TurnState.COMPLETED, TurnState.FAILED])
@pytest.mark.parametrize("event", [STARTED, TextDelta(text="a"), completed(""), FAILED])
def test_nothing_follows_an_ending(state: TurnState, event: Event):
    with pytest.raises(IllegalTransition):
        next_state(state, event)


def test_a_turn_begins_with_its_start():
    order = Order()

    with pytest.raises(IllegalTransition):
        order.follow(TextDelta(text="a"))

    assert order.state is TurnState.NEW
    assert not order.said


@pytest.mark.parametrize(
    ("before", "illegal"),
    [
        ([], NodeCompleted(node="answer")),
        ([], ToolCompleted(tool_call_id="call_1", name="clock", status="ok")),
        ([], cited(1)),
        ([], STARTED.model_copy(update={"resumed": True})),
        ([ToolStarted(tool_call_id="c", name="n")], ToolStarted(tool_call_id="c", name="n")),
        ([NodeStarted(node="answer"), NodeCompleted(node="answer")], NodeCompleted(node="answer")),
        ([NodeStarted(node="answer")], completed("")),
        ([ToolStarted(tool_call_id="c", name="n")], FAILED),
    ],
)
def test_an_illegal_event_raises_and_changes_nothing(before: list[Event], illegal: Event):
    order = Order()
    for each in (STARTED, *before):
        order.follow(each)
    state, nodes, tools, said = order.state, order.nodes.copy(), dict(order.tools), order.said

    with pytest.raises(IllegalTransition):
        order.follow(illegal)

    assert (order.state, +order.nodes, order.tools, order.said) == (state, +nodes, tools, said)


def test_a_resumed_start_needs_a_pause_and_a_pause_needs_a_resumed_start():
    order = Order()
    order.follow(STARTED)
    order.follow(TurnPaused(pauses=(asked("pse_1"),)))

    with pytest.raises(IllegalTransition):
        order.follow(STARTED)
    order.follow(STARTED.model_copy(update={"resumed": True}))

    assert order.state is TurnState.RUNNING


def test_parallel_copies_of_a_node_each_want_a_completion():
    order = Order()
    for each in (STARTED, NodeStarted(node="map"), NodeStarted(node="map")):
        order.follow(each)
    order.follow(NodeCompleted(node="map"))

    with pytest.raises(IllegalTransition):
        order.follow(completed(""))
    order.follow(NodeCompleted(node="map"))
    order.follow(completed(""))

    assert order.state is TurnState.COMPLETED


def assert_grammatical(log: list[Envelope]) -> None:
    """The grammar of the contract, said a second time and in another way."""
    assert [each.seq for each in log] == list(range(1, len(log) + 1))
    runs: dict[str, list[Event]] = {}
    for each in log:
        runs.setdefault(each.run_id, []).append(each.event)
    finals = [n for n, e in enumerate(log) if isinstance(e.event, TurnCompleted | TurnFailed)]
    assert finals in ([], [len(log) - 1])
    for run in runs.values():
        assert isinstance(run[0], TurnStarted)
        assert sum(isinstance(each, TurnStarted) for each in run) == 1
        assert not any(isinstance(each, RUN_ENDINGS) for each in run[:-1])
        left = still_open(run)
        assert not left or not isinstance(run[-1], TurnCompleted | TurnFailed)


def still_open(run: list[Event]) -> list[str]:
    """Return the nodes and tool calls that the run left open; fails on an end without a start."""
    left: list[str] = []
    for event in run:
        match event:
            case NodeStarted():
                left.append(event.node)
            case NodeCompleted() if event.status != "skipped":
                left.remove(event.node)
            case ToolStarted():
                assert event.tool_call_id not in left
                left.append(event.tool_call_id)
            case ToolCompleted():
                left.remove(event.tool_call_id)
            case _:
                pass
    return left


@given(MOVES)
def test_whatever_is_fed_the_log_is_grammatical(moves: list[Event | str]):
    turn, log = drive(moves)

    assert_grammatical(log)
    assert turn.is_over == isinstance(log[-1].event, TurnCompleted | TurnFailed)


@given(MOVES)
def test_the_ending_tells_the_text_and_the_citations_that_the_events_said(
    moves: list[Event | str],
):
    _, log = drive(moves)
    text, markers = "", list[int]()
    for each in log:
        match each.event:
            case TextDelta():
                text += each.event.text
            case TextReplaced():
                text, markers = each.event.text, []
            case TurnCompleted():
                assert each.event.content == text
                assert [one.marker for one in each.event.citations] == markers
            case event if event.type == "citation.added":
                markers.append(event.citation.marker)
            case _:
                pass


@given(MOVES, MOVES)
def test_a_restored_turn_goes_on_as_the_turn_that_wrote_the_log(
    before: list[Event | str], after: list[Event | str]
):
    turn, log = drive(before)
    restored = Turn.restore(turn.turn_id, log)

    assert restored.state is turn.state
    assert restored.text == turn.text
    for number, move in enumerate(after):
        at = EPOCH + 1000 + number
        assert attempt(restored, move, at) == attempt(turn, move, at)


def attempt(turn: Turn, move: Event | str, at: int) -> list[Envelope] | str:
    try:
        return follow(turn, move, at, at)
    except IllegalTransition as error:
        turn.receive((), at=at)
        return str(error)


@given(MOVES, EVENTS)
def test_an_event_that_a_turn_refuses_leaves_no_trace(moves: list[Event | str], event: Event):
    turn, log = drive(moves)
    refused = False
    try:
        turn.receive((event,), at=EPOCH + 5000)
    except IllegalTransition:
        refused = True
    if refused and not isinstance(event, TurnCompleted):
        assert turn.receive((), at=EPOCH + 5000) == []
        assert turn.seq == log[-1].seq


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_every_scenario_is_grammatical_and_follows_the_table(scenario: Scenario):
    log = envelopes(scenario)
    order = Order()

    for each in log:
        order.follow(each.event)

    assert_grammatical(log)
