"""What there is to measure. A name that is here never changes: dashboards know it.

No label holds an id or anybody's words, and each has few values.
"""

from dataclasses import dataclass
from typing import Final, Literal

_FAST: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SLOW: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric as it is offered to Prometheus; durations are in seconds."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    help: str
    buckets: tuple[float, ...] = ()


TURNS: Final = Metric(
    "turnwire_turns_total",
    "counter",
    ("agent", "outcome"),
    "Turns that ended, by finish reason, or by error code where they failed.",
)
TURN_SECONDS: Final = Metric(
    "turnwire_turn_seconds",
    "histogram",
    ("agent",),
    "How long turns took from start to end, without the time that people were waited for.",
    _SLOW,
)
FIRST_TOKEN: Final = Metric(
    "turnwire_first_token_seconds",
    "histogram",
    ("agent",),
    "From a turn's start to the first words of its answer; not of answers given after a pause.",
    _FAST,
)
NODE_SECONDS: Final = Metric(
    "turnwire_node_seconds",
    "histogram",
    ("agent", "node", "status"),
    "How long nodes took; status is executed or failed.",
    _FAST,
)
TOKENS: Final = Metric(
    "turnwire_tokens_total",
    "counter",
    ("model", "direction"),
    "Tokens of completed turns as the providers reported them; direction is input or output.",
)
COST: Final = Metric(
    "turnwire_cost_usd_total", "counter", ("model",), "What completed turns cost, in US dollars."
)
GUARD_VERDICTS: Final = Metric(
    "turnwire_guard_verdicts_total",
    "counter",
    ("check", "outcome"),
    "What guardrail checks decided.",
)
PAUSES_OPEN: Final = Metric(
    "turnwire_pauses_open",
    "gauge",
    ("agent", "kind"),
    "Questions that wait for a person now and can still be answered, as the store has them.",
)
TURNS_RUNNING: Final = Metric(
    "turnwire_turns_running", "gauge", (), "Turns that run in this process now."
)
STREAMS_OPEN: Final = Metric(
    "turnwire_streams_open", "gauge", (), "Event streams that are being written now."
)
SOCKETS_OPEN: Final = Metric("turnwire_sockets_open", "gauge", (), "Sockets that are open now.")
REDIS_FAILURES: Final = Metric(
    "turnwire_redis_failures_total",
    "counter",
    (),
    "Counts that this worker made alone because Redis did not answer.",
)
REQUEST_ERRORS: Final = Metric(
    "turnwire_request_errors_total",
    "counter",
    ("code",),
    "Requests that were answered with an error before a turn began, by the error's code.",
)
STORE_FAILURES: Final = Metric(
    "turnwire_store_failures_total",
    "counter",
    (),
    "Times that the store could not keep a turn's events, or not be read for the metrics.",
)
PROVIDER_CALLS: Final = Metric(
    "turnwire_provider_calls_total",
    "counter",
    ("provider", "outcome"),
    "Calls to model providers that ended.",
)
PROVIDER_SECONDS: Final = Metric(
    "turnwire_provider_seconds",
    "histogram",
    ("provider",),
    "How long calls to model providers took.",
    _SLOW,
)
BREAKER: Final = Metric(
    "turnwire_provider_breaker",
    "gauge",
    ("provider", "state"),
    "1 for the state that the provider's circuit breaker is in: closed, half_open or open.",
)

FAILOVERS: Final = Metric(
    "turnwire_failovers_total",
    "counter",
    ("agent", "outcome"),
    "Nodes of which a model failed; outcome is answered (another model did) or failed.",
)

METRICS: Final = (
    TURNS,
    TURN_SECONDS,
    FIRST_TOKEN,
    NODE_SECONDS,
    TOKENS,
    COST,
    GUARD_VERDICTS,
    PAUSES_OPEN,
    TURNS_RUNNING,
    STREAMS_OPEN,
    SOCKETS_OPEN,
    REDIS_FAILURES,
    REQUEST_ERRORS,
    STORE_FAILURES,
    PROVIDER_CALLS,
    PROVIDER_SECONDS,
    BREAKER,
    FAILOVERS,
)
