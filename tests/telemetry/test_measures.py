"""What is measured is read off the events."""

from collections import Counter
from collections.abc import Sequence

import pytest

from tests.scenarios.every import SCENARIOS
from tests.scenarios.play import Scenario, envelopes
from turnwire.engine.observer import Earlier
from turnwire.events import (
    Cost,
    Envelope,
    Event,
    GuardrailDecided,
    GuardrailDecision,
    NodeCompleted,
    TextDelta,
    Topology,
    TopologyNode,
    TurnCompleted,
    TurnFailed,
    TurnPaused,
    TurnStarted,
    Usage,
)
from turnwire.ids import ConversationId, RunId, Seq, TurnId
from turnwire.telemetry.catalog import (
    COST,
    FIRST_TOKEN,
    GUARD_VERDICTS,
    METRICS,
    NODE_SECONDS,
    TOKENS,
    TURN_SECONDS,
    TURNS,
)
from turnwire.telemetry.measures import Account, Measurement, Names

ANSWER = Topology(nodes=(TopologyNode(id="answer", kind="model", conditional=False),))


def begun(*, resumed: bool = False) -> TurnStarted:
    return TurnStarted(
        conversation_id=ConversationId("conv_1"),
        agent="helper",
        model="gpt",
        locale="en",
        trace_id="a" * 32,
        resumed=resumed,
        topology=ANSWER,
    )


def at(ms: int, event: Event) -> Envelope:
    return Envelope(Seq(1), TurnId("trn_1"), RunId("run_1"), ms, event)


def told(*envelopes: Envelope, account: Account | None = None) -> list[Measurement]:
    hearing = account or Account()
    return [each for envelope in envelopes for each in hearing.hear(envelope)]


def of(measured: Sequence[Measurement], metric: object) -> list[tuple[tuple[str, ...], float]]:
    return [(each.labels, each.value) for each in measured if each.metric is metric]


def test_a_turn_is_counted_by_how_it_ended_and_timed():
    measured = told(at(1000, begun()), at(3500, TurnCompleted(finish_reason="stop", content="")))
    assert of(measured, TURNS) == [(("helper", "stop"), 1)]
    assert of(measured, TURN_SECONDS) == [(("helper",), 2.5)]


def test_a_failed_turn_is_counted_by_its_code():
    failed = TurnFailed(code="upstream_timeout", message="", retryable=True, error_id="err_1")
    assert of(told(at(0, begun()), at(1, failed)), TURNS) == [(("helper", "upstream_timeout"), 1)]


def test_the_first_words_are_timed_once():
    measured = told(at(1000, begun()), at(1250, TextDelta(text="a")), at(1300, TextDelta(text="b")))
    assert of(measured, FIRST_TOKEN) == [(("helper",), 0.25)]


def test_words_after_a_pause_are_no_first_words():
    measured = told(at(0, begun(resumed=True)), at(900, TextDelta(text="a")))
    assert of(measured, FIRST_TOKEN) == []


def test_the_time_that_people_took_does_not_count():
    account = Account()
    told(at(0, begun()), at(400, TurnPaused(pauses=())), account=account)
    earlier = Earlier(begun(), RunId("run_1"), 400)
    account.hear(at(90_000, begun(resumed=True)), earlier)
    ended = told(at(90_100, TurnCompleted(finish_reason="stop", content="")), account=account)
    assert of(ended, TURN_SECONDS) == [(("helper",), 0.5)]


def test_a_turn_whose_beginning_nobody_knows_is_counted_and_not_timed():
    earlier = Earlier(begun(), RunId("run_1"), None)
    failed = TurnFailed(code="stream_interrupted", message="", retryable=True, error_id="e")
    measured = Account().hear(at(0, failed), earlier)
    assert of(measured, TURNS) == [(("helper", "stream_interrupted"), 1)]
    assert of(measured, TURN_SECONDS) == []


def test_tokens_and_cost_are_counted_by_model_and_direction():
    ended = TurnCompleted(
        finish_reason="stop",
        content="",
        usage=Usage(prompt_tokens=7, completion_tokens=3, total_tokens=10),
        cost=Cost(model="gpt", tokens_in=7, tokens_out=3, usd=0.25),
    )
    measured = told(at(0, begun()), at(1, ended))
    assert of(measured, TOKENS) == [(("gpt", "input"), 7), (("gpt", "output"), 3)]
    assert of(measured, COST) == [(("gpt",), 0.25)]


def test_a_verdict_is_counted_by_check_and_outcome():
    decision = GuardrailDecision(stage="pre", check="pii", outcome="redact", reason="secret")
    measured = told(at(0, begun()), at(1, GuardrailDecided(decision=decision)))
    assert of(measured, GUARD_VERDICTS) == [(("pii", "redact"), 1)]


def test_nodes_are_timed_by_name_and_those_that_the_graph_does_not_have_are_others():
    measured = told(
        at(0, begun()),
        at(1, NodeCompleted(node="answer", duration_ms=20)),
        at(1, NodeCompleted(node="what the member said", status="failed", duration_ms=30)),
        at(1, NodeCompleted(node="answer", status="skipped")),
    )
    assert of(measured, NODE_SECONDS) == [
        (("helper", "answer", "executed"), 0.02),
        (("helper", "other", "failed"), 0.03),
    ]


def test_a_finish_reason_of_a_graphs_own_is_another():
    ended = TurnCompleted(finish_reason="what the member said", content="")
    assert of(told(at(0, begun()), at(1, ended)), TURNS) == [(("helper", "other"), 1)]


def test_a_graph_that_makes_up_models_fills_no_label():
    account = Account()
    usage, measured = Usage(prompt_tokens=1), list[Measurement]()
    for number in range(150):
        cost = Cost(model=f"model-{number}")
        ended = TurnCompleted(finish_reason="stop", content="", usage=usage, cost=cost)
        measured = told(at(0, begun()), at(1, ended), account=account)
    assert of(measured, TOKENS) == [(("other", "input"), 1)]


def test_a_known_name_stays_known():
    names = Names(1)
    assert [names.bounded(each) for each in ("a", "b", "a")] == ["a", "other", "a"]


def test_an_account_forgets_turns_that_do_not_run():
    account = Account()
    told(at(0, begun()), at(1, TurnPaused(pauses=())), account=account)
    told(at(2, begun()), at(3, TurnCompleted(finish_reason="stop", content="")), account=account)
    assert account.running == 0


def test_a_run_whose_ending_was_never_told_is_forgotten_and_no_later_one():
    account = Account()
    told(at(0, begun()), account=account)
    account.forget(TurnId("trn_1"), RunId("run_2"))
    assert account.running == 1
    account.forget(TurnId("trn_1"), RunId("run_1"))
    assert account.running == 0


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_each_scenario_counts_one_turn_if_it_ended_and_its_verdicts(scenario: Scenario):
    log = envelopes(scenario)
    measured = told(*log)
    ended = [each.event for each in log if isinstance(each.event, TurnCompleted | TurnFailed)]
    verdicts = [each.event.decision for each in log if isinstance(each.event, GuardrailDecided)]
    assert len(of(measured, TURNS)) == len(ended)
    assert Counter(labels for labels, _ in of(measured, GUARD_VERDICTS)) == Counter(
        (each.check, each.outcome) for each in verdicts
    )


def test_every_metric_has_the_form_that_prometheus_asks_for():
    for each in METRICS:
        assert each.name.startswith("turnwire_")
        assert each.name.endswith("_total") == (each.kind == "counter")
        assert bool(each.buckets) == (each.kind == "histogram")
        assert list(each.buckets) == sorted(each.buckets)
