"""Measurements as Prometheus reads them; one registry an application, no global state."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import choose_encoder

from turnwire.engine.observer import Earlier
from turnwire.events import CallOutcome, Envelope
from turnwire.probe import BreakerState
from turnwire.telemetry.catalog import (
    BREAKER,
    METRICS,
    PAUSES_OPEN,
    PROVIDER_CALLS,
    PROVIDER_SECONDS,
    REDIS_FAILURES,
    REQUEST_ERRORS,
    STORE_FAILURES,
    Metric,
)
from turnwire.telemetry.measures import Account, Measurement
from turnwire.work import Work

_STATES: Final = get_args(BreakerState)


class Metrics:
    """Hears what happens and counts it.

    Also a :class:`turnwire.probe.ProviderHealth`, for whoever calls model providers.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._account = Account()
        self._made = {each.name: _made(each, self.registry) for each in METRICS}
        ProcessCollector(registry=self.registry)

    def heard(self, envelopes: Sequence[Envelope], *, earlier: Earlier | None = None) -> None:
        """See :class:`turnwire.engine.observer.Observer`."""
        for envelope in envelopes:
            for each in self._account.hear(envelope, earlier):
                self.take(each)

    @contextmanager
    def running(self, work: Work, /) -> Generator[None]:
        """See :class:`turnwire.engine.observer.Observer`."""
        try:
            yield
        finally:
            self._account.forget(work.turn_id, work.run_id)

    def unstored(self) -> None:
        """See :class:`turnwire.engine.observer.Observer`."""
        self.take(Measurement(STORE_FAILURES, ()))

    def erred(self, code: str) -> None:
        """Count a request that was answered with this error."""
        self.take(Measurement(REQUEST_ERRORS, (code,)))

    def counted_alone(self) -> None:
        """Count a count that Redis should have made."""
        self.take(Measurement(REDIS_FAILURES, ()))

    def called(self, provider: str, outcome: CallOutcome, *, seconds: float) -> None:
        """See :class:`turnwire.probe.ProviderHealth`."""
        self.take(Measurement(PROVIDER_CALLS, (provider, outcome)))
        self.take(Measurement(PROVIDER_SECONDS, (provider,), seconds))

    def breaker(self, provider: str, state: BreakerState) -> None:
        """See :class:`turnwire.probe.ProviderHealth`."""
        for each in _STATES:
            self._gauge(BREAKER).labels(provider, each).set(1 if each == state else 0)

    def pauses_open(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Set how many questions wait, by agent and kind."""
        gauge = self._gauge(PAUSES_OPEN)
        gauge.clear()
        for labels, count in counts.items():
            gauge.labels(*labels).set(count)

    def watch(self, metric: Metric, read: Callable[[], float]) -> None:
        """Ask ``read`` for the gauge's value whenever the metrics are read."""
        self._gauge(metric).set_function(read)

    def take(self, measurement: Measurement) -> None:
        """Count one measurement."""
        made = self._made[measurement.metric.name]
        chosen = made.labels(*measurement.labels) if measurement.labels else made
        if isinstance(chosen, Histogram):
            chosen.observe(measurement.value)
        else:
            chosen.inc(measurement.value)

    def text(self, accept: str) -> tuple[bytes, str]:
        """Return all metrics and their content type, in the newest format that is accepted."""
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type

    def _gauge(self, metric: Metric) -> Gauge:
        made = self._made[metric.name]
        if not isinstance(made, Gauge):
            raise TypeError(f"{metric.name} is no gauge")
        return made


def _made(metric: Metric, registry: CollectorRegistry) -> Counter | Gauge | Histogram:
    about = (metric.name, metric.help, metric.labels)
    match metric.kind:
        case "counter":
            return Counter(*about, registry=registry)
        case "gauge":
            return Gauge(*about, registry=registry)
        case "histogram":
            return Histogram(*about, registry=registry, buckets=metric.buckets)
