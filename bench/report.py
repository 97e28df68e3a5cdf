"""From measurements to medians, tables and the ratios with their aims; it measures nothing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final, cast

from bench.scenarios import SCENARIOS, Load, Scenario
from bench.serve import Row

Result = Mapping[str, Any]
Medians = Mapping[tuple[Load, Row], Result]
CLIENT_FREE_BELOW: Final = 0.9
OTHERS_BELOW: Final = 0.05

_BUSY_COLUMNS: Final = (
    ("tokens/s", "tokens_per_s", "{:,.0f}"),
    ("CPU µs/token", "cpu_us_per_token", "{:.1f}"),
    ("first p50 ms", "first_token_ms.p50", "{:.2f}"),
    ("first p99 ms", "first_token_ms.p99", "{:.2f}"),
    ("gap p99 ms", "gap_ms.p99", "{:.2f}"),
    ("server", "server_utilisation", "{:.0%}"),
    ("client", "client_utilisation", "{:.0%}"),
    ("others", "others_on_server_core", "{:.0%}"),
    ("errors", "errors", "{:.0f}"),
)
_IDLE_COLUMNS: Final = (
    ("asked for", "asked", "{:,.0f}"),
    ("opened", "opened", "{:,.0f}"),
    ("still open", "still_open", "{:,.0f}"),
    ("KiB/stream", "kib_per_stream", "{:.1f}"),
    ("opening s", "opening_s", "{:.1f}"),
    ("errors", "errors", "{:.0f}"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """One number, what it should be, and whether it is."""

    text: str
    value: float | None
    bound: float
    at_least: bool

    @property
    def verdict(self) -> str:
        """``met``, ``missed`` or ``not measured``."""
        if self.value is None:
            return "not measured"
        met = self.value >= self.bound if self.at_least else self.value <= self.bound
        return "met" if met else "missed"

    def line(self) -> str:
        """Return the line of the report."""
        value = "-" if self.value is None else f"{self.value:.2f}"
        sign = "≥" if self.at_least else "≤"
        return f"{self.verdict:<13}{value:>9}  {sign} {self.bound:<6g} {self.text}"


def number(result: Result | None, path: str) -> float | None:
    """Return the number at ``a.b`` in a result, or none."""
    value: Any = result
    for part in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = cast("Result", value).get(part)
    return float(value) if isinstance(value, int | float) else None


def medians(results: Sequence[Result]) -> dict[str, Any]:
    """Return one result whose every number is the median; errors are the sum, never hidden."""
    first = results[0]
    out: dict[str, Any] = {}
    for name, value in first.items():
        column = [each[name] for each in results]
        if name == "errors":
            out[name] = sum(column)
        elif name == "error_kinds":
            out[name] = {kind: many for each in column for kind, many in each.items()}
        elif isinstance(value, Mapping):
            out[name] = medians(column)
        else:
            known = [each for each in column if each is not None]
            out[name] = median(known) if known else None
    return out


def table(scenario: Scenario, rows: Sequence[Row], found: Medians) -> Iterable[str]:
    """Yield the lines of one scenario's table."""
    columns = _IDLE_COLUMNS if scenario.idle else _BUSY_COLUMNS
    yield ""
    yield scenario.title
    yield f"  {'row':<15}" + "".join(f"{title:>13}" for title, _, _ in columns)
    for row in rows:
        result = found.get((scenario.name, row))
        if result is None:
            yield f"  {row:<15}{'not measured':>13}"
            continue
        cells = ((number(result, path), form) for _, path, form in columns)
        shown = ("-" if value is None else form.format(value) for value, form in cells)
        yield f"  {row:<15}" + "".join(f"{each:>13}" for each in shown)


def aims(found: Medians) -> list[Aim]:
    """Return every aim of the project with what this run found."""

    def get(load: Load, row: Row, path: str) -> float | None:
        return number(found.get((load, row)), path)

    return [*_busy(get), *_one(get), *_steady(get), *_idle(get), *_fairness(found)]


Get = Callable[[Load, Row, str], float | None]


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def _least(text: str, value: float | None, bound: float) -> Aim:
    return Aim(text=text, value=value, bound=bound, at_least=True)


def _most(text: str, value: float | None, bound: float) -> Aim:
    return Aim(text=text, value=value, bound=bound, at_least=False)


def _busy(get: Get) -> Iterable[Aim]:
    def speed(row: Row) -> float | None:
        return get("busy", row, "tokens_per_s")

    def cpu(row: Row) -> float | None:
        return get("busy", row, "cpu_us_per_token")

    ours, chat, plain = speed("speaking"), speed("chat"), speed("plain")
    yield _least("50 streams: tokens/s, speaking / plain", _ratio(ours, plain), 2.0)
    yield _least("50 streams: tokens/s, speaking / limit", _ratio(ours, speed("limit")), 0.3)
    yield _least("50 streams: tokens/s, chat / plain", _ratio(chat, plain), 1.3)
    less = _ratio(cpu("chat"), cpu("langgraph-dev"))
    yield _most("50 streams: CPU a token, chat / langgraph dev", less, 1 / 3)
    durable = _ratio(cpu("durable"), cpu("speaking"))
    yield _most("50 streams: CPU a token, durable / in memory, speaking", durable, 1.15)
    durable = _ratio(cpu("durable-chat"), cpu("chat"))
    yield _most("50 streams: CPU a token, durable / in memory, chat", durable, 1.15)


def _one(get: Get) -> Iterable[Aim]:
    rows: tuple[Row, ...] = ("speaking", "chat", "durable")
    for row in rows:
        first, plain = (get("one", each, "first_token_ms.p50") for each in (row, "plain"))
        yield _most(f"1 stream: first token p50, {row} / plain", _ratio(first, plain), 2.0)


def _steady(get: Get) -> Iterable[Aim]:
    rows: tuple[Row, ...] = ("speaking", "chat", "durable")
    for row in rows:
        speed, limit = (get("steady", each, "tokens_per_s") for each in (row, "limit"))
        yield _least(f"100 streams: tokens/s, {row} / limit", _ratio(speed, limit), 0.95)
        gap, limit = (get("steady", each, "gap_ms.p99") for each in (row, "limit"))
        yield _most(f"100 streams: gap p99, {row} / limit", _ratio(gap, limit), 1.5)
        first = get("steady", row, "first_token_ms.p99")
        yield _most(f"100 streams: first token p99 in ms, {row}", first, 15.0)


def _idle(get: Get) -> Iterable[Aim]:
    rows: tuple[Row, ...] = ("speaking", "durable")
    for row in rows:
        asked, held = (get("idle", row, what) for what in ("asked", "still_open"))
        yield _least(f"idle: streams open / asked for, {row}", _ratio(held, asked), 1.0)
        yield _most(f"idle: errors, {row}", get("idle", row, "errors"), 0)
        yield _most(f"idle: KiB a stream, {row}", get("idle", row, "kib_per_stream"), 100)


def _fairness(found: Medians) -> Iterable[Aim]:
    def most(path: str) -> float | None:
        seen = [number(result, path) for result in found.values()]
        return max((each for each in seen if each is not None), default=None)

    client, others = most("client_utilisation"), most("others_on_server_core")
    yield _most("load generator: its highest utilisation", client, CLIENT_FREE_BELOW)
    yield _most("machine: most that others used of the server's core", others, OTHERS_BELOW)


def report(found: Medians, *, quick: bool, only: Row | None = None) -> Iterable[str]:
    """Yield the lines of the whole report; with ``only``, of that row and without ratios."""
    if quick:
        yield "A quick run: once instead of three times, shorter, and a tenth of the idle streams."
    for scenario in SCENARIOS:
        rows: tuple[Row, ...] = tuple(row for row in scenario.rows if only in (None, row))
        if rows:
            yield from table(scenario, rows, found)
    if only is not None:
        return
    yield ""
    yield "Aims"
    for aim in aims(found):
        yield "  " + aim.line()
