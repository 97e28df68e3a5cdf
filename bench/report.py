"""The report: a table for each load, then the aims."""

from collections.abc import Iterable, Sequence
from typing import Final

from bench.agent_builds import Builds
from bench.aims import aims
from bench.numbers import medians, number
from bench.rows import ROWS, Row
from bench.scenarios import SCENARIOS, Scenario
from bench.session import Found

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


def report(
    found: Found,
    *,
    admission: Sequence[float],
    builds: Sequence[Builds],
    quick: bool,
    only: Row | None = None,
) -> Iterable[str]:
    """Yield the lines of the whole report; with ``only``, of that row and without ratios."""
    if quick:
        yield "A quick run: once instead of three times, shorter, and a tenth of the idle streams."
    for scenario in SCENARIOS:
        rows: list[Row] = [row for row in ROWS if row in scenario.rows and only in (None, row)]
        if rows:
            yield from _table(scenario, rows, found)
    if only is not None:
        return
    yield ""
    yield "Aims: the median of each repeat's ratio, and the least and the greatest of them"
    for aim in aims(found, admission=admission, builds=builds):
        yield "  " + aim.line()


def _table(scenario: Scenario, rows: Sequence[Row], found: Found) -> Iterable[str]:
    columns = _IDLE_COLUMNS if scenario.idle else _BUSY_COLUMNS
    yield ""
    yield scenario.title
    yield f"  {'row':<15}" + "".join(f"{title:>13}" for title, _, _ in columns)
    for row in rows:
        results = list(found.get((scenario.name, row), {}).values())
        if not results:
            yield f"  {row:<15}{'not measured':>13}"
            continue
        middle = medians(results)
        cells = ((number(middle, path), form) for _, path, form in columns)
        shown = ("-" if value is None else form.format(value) for value, form in cells)
        yield f"  {row:<15}" + "".join(f"{each:>13}" for each in shown)
