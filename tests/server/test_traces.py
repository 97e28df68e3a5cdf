"""Traces leave the process as OTLP where the standard variables say so, and only there."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.server.running import InThread, Process
from tests.telemetry.collector import Collector
from turnwire.app import create
from turnwire.errors import SetupError
from turnwire.settings import read, wanted_traces

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CALLER = {"traceparent": f"00-{TRACE}-{SPAN}-01"}


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """A collector that the standard variables name."""
    with Collector() as each:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", each.url)
        yield each


def names(spans: list[Span]) -> list[str]:
    return sorted(each.name for each in spans)


def test_a_turn_is_sent_to_the_collector_in_the_callers_trace(
    collector: Collector, data_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    # What FastAPI would do by itself stays off, whatever its own variables say.
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "my-service")
    with InThread(data_dir) as server:
        answer = server.api().chat("say hello there", headers=CALLER).json()
    assert answer["trace_id"] == TRACE
    assert set(collector.paths) == {"/v1/traces"}
    assert collector.scopes == {"turnwire"}
    assert collector.service["service.name"] == "my-service"
    assert names(collector.spans) == ["chat script", "invoke_agent stage", "node perform"]
    assert {each.trace_id.hex() for each in collector.spans} == {TRACE}
    by_name = {each.name: each for each in collector.spans}
    assert by_name["invoke_agent stage"].parent_span_id.hex() == SPAN
    assert by_name["node perform"].parent_span_id == by_name["invoke_agent stage"].span_id
    assert by_name["chat script"].parent_span_id == by_name["node perform"].span_id


def test_of_a_graph_that_traces_itself_only_its_own_spans_are_added(
    collector: Collector, data_dir: Path
):
    with Process(data_dir, "traced") as server:
        server.api().chat("hello")
        server.terminate()
        server.process.wait(20)
    by_name = {each.name: each for each in collector.spans}
    assert collector.scopes == {"turnwire", "a.graph"}  # and not fastapi's
    run, own = by_name["invoke_agent traced"], by_name["a graph's own"]
    assert own.parent_span_id == run.span_id
    assert own.trace_id == run.trace_id


def test_a_resumed_run_of_another_process_is_linked(collector: Collector, data_dir: Path):
    with Process(data_dir, environment="development") as server:
        paused = server.api().paused("review 60")
        server.terminate()
        server.process.wait(20)
    first = {each.name: each for each in collector.spans}["invoke_agent stage"]
    with InThread(data_dir) as server:
        answer = server.api().resume(thread_id=paused["thread_id"], decision="approve")
        assert answer.json()["content"] == "the draft"
    second = [each for each in collector.spans if each.name == "invoke_agent stage"][-1]
    assert second.span_id != first.span_id
    assert [(each.trace_id, each.span_id) for each in second.links] == [
        (first.trace_id, first.span_id)
    ]
    assert second.trace_id == first.trace_id
    assert first.trace_id.hex() == paused["trace_id"]


@pytest.mark.parametrize("header", ["nonsense", f"00-{'0' * 32}-{SPAN}-01"])
def test_a_malformed_traceparent_is_ignored(header: str, data_dir: Path):
    with InThread(data_dir) as server:
        answer = server.api().chat("say hello", headers={"traceparent": header}).json()
    assert answer["status"] == "complete"
    assert answer["trace_id"] not in (TRACE, "0" * 32)


def test_a_callers_trace_is_the_turns_also_without_a_collector(data_dir: Path):
    with InThread(data_dir) as server:
        assert server.api().chat("say hello", headers=CALLER).json()["trace_id"] == TRACE


def test_without_a_collector_nothing_is_traced(monkeypatch: pytest.MonkeyPatch):
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_TRACES_EXPORTER"):
        monkeypatch.delenv(name, raising=False)
    assert wanted_traces() is None


def test_the_standard_variables_choose(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://localhost:4318/v1/traces")
    assert wanted_traces() == "otlp"
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    assert wanted_traces() == "console"
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert wanted_traces() is None
    monkeypatch.setenv("OTEL_SDK_DISABLED", "false")
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    assert wanted_traces() is None


def test_what_cannot_be_done_says_what_can(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4317")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    with pytest.raises(SetupError, match="http/protobuf"):
        wanted_traces()
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "zipkin")
    with pytest.raises(SetupError, match="'otlp', 'console' or 'none'"):
        wanted_traces()


def test_a_missing_package_is_named_in_one_line(
    collector: Collector, data_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "turnwire.telemetry.exporting", None)
    with pytest.raises(SetupError, match=r"pip install 'turnwire\[otel\]'"):
        create(read(data_dir=data_dir, agent="tests.server.graphs:stage"))


def test_a_collector_that_is_gone_holds_up_no_turn_and_no_shutdown(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    with Collector() as gone:
        url = gone.url
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    with Process(data_dir) as server:
        assert server.api().chat("say hello").json()["status"] == "complete"
        begun = time.monotonic()
        server.terminate()
        server.process.wait(20)
    assert time.monotonic() - begun < 6
