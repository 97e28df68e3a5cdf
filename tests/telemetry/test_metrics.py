"""What was counted is what Prometheus reads."""

from tests.scenarios.play import envelopes
from tests.scenarios.turns import APPROVED, PLAIN
from tests.telemetry.reading import Samples, samples, value
from turnwire.telemetry.catalog import METRICS, NODE_SECONDS, TURNS_RUNNING
from turnwire.telemetry.metrics import Metrics


def read(metrics: Metrics) -> Samples:
    return samples(metrics.text("")[0].decode())


def test_an_application_that_did_nothing_offers_every_metric_by_its_name():
    text = Metrics().text("")[0].decode()
    for each in METRICS:
        assert f"# TYPE {each.name} {each.kind}\n" in text


def test_a_played_turn_is_counted():
    metrics = Metrics()
    metrics.heard(envelopes(PLAIN))
    found = read(metrics)
    assert value(found, "turnwire_turns_total", agent="helper", outcome="stop") == 1
    assert value(found, "turnwire_first_token_seconds_count", agent="helper") == 1


def test_two_applications_of_one_process_count_apart():
    one, other = Metrics(), Metrics()
    one.heard(envelopes(PLAIN))
    assert value(read(other), "turnwire_turns_total", agent="helper", outcome="stop") is None


def test_a_long_node_falls_into_its_bucket():
    metrics = Metrics()
    metrics.heard(envelopes(APPROVED))
    buckets = {
        float(dict(labels)["le"]): count
        for (name, labels), count in read(metrics).items()
        if name == f"{NODE_SECONDS.name}_bucket" and ("node", "answer") in labels
    }
    assert set(NODE_SECONDS.buckets) < set(buckets)
    assert buckets[float("inf")] >= 1


def test_a_gateway_tells_of_its_calls_and_breakers():
    metrics = Metrics()
    metrics.called("openai", "rate_limited", seconds=0.5)
    metrics.breaker("openai", "open")
    metrics.breaker("openai", "half_open")
    found = read(metrics)
    calls = {"provider": "openai", "outcome": "rate_limited"}
    assert value(found, "turnwire_provider_calls_total", **calls) == 1
    assert value(found, "turnwire_provider_seconds_sum", provider="openai") == 0.5
    states = {
        each: value(found, "turnwire_provider_breaker", provider="openai", state=each)
        for each in ("closed", "half_open", "open")
    }
    assert states == {"closed": 0, "half_open": 1, "open": 0}


def test_a_gauge_is_asked_when_the_metrics_are_read():
    metrics, running = Metrics(), [3]
    metrics.watch(TURNS_RUNNING, lambda: running[0])
    running[0] = 4
    assert value(read(metrics), "turnwire_turns_running") == 4


def test_pauses_that_are_gone_leave_no_line_behind():
    metrics = Metrics()
    metrics.pauses_open({("helper", "review"): 2})
    metrics.pauses_open({("helper", "input"): 1})
    found = read(metrics)
    assert value(found, "turnwire_pauses_open", agent="helper", kind="review") is None
    assert value(found, "turnwire_pauses_open", agent="helper", kind="input") == 1


def test_who_accepts_openmetrics_gets_it():
    body, content_type = Metrics().text("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")
