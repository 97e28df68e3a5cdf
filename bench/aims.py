"""What the project wants of the numbers, and whether this run found it.

A ratio is taken within each repeat, of rows measured seconds apart, and the median of the ratios
counts: a slow minute of the machine slows both of its sides. The medians of the table, divided,
may be something else.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, Literal

from bench.admission import WANTED_MS
from bench.agent_builds import Builds
from bench.numbers import medians, number
from bench.rows import Row
from bench.scenarios import Load
from bench.session import Found

CLIENT_FREE_BELOW: Final = 0.9
OTHERS_BELOW: Final = 0.05

_SPEED: Final = "tokens_per_s"
_CPU: Final = "cpu_us_per_token"
_FIRST: Final = "first_token_ms"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """A number of each repeat, what their median should be, and whether it is."""

    text: str
    values: tuple[float, ...]
    wanted: Literal["least", "most"] | None = None
    """None: it is only reported."""
    bound: float = 0.0

    @property
    def value(self) -> float | None:
        """The median."""
        return median(self.values) if self.values else None

    @property
    def verdict(self) -> str:
        """``met``, ``missed``, ``no aim`` or ``not measured``."""
        value = self.value
        if value is None:
            return "not measured"
        if self.wanted is None:
            return "no aim"
        met = value >= self.bound if self.wanted == "least" else value <= self.bound
        return "met" if met else "missed"

    def line(self) -> str:
        """Return the line of the report."""
        value = "-" if self.value is None else f"{self.value:.2f}"
        spread = f"{min(self.values):.2f} to {max(self.values):.2f}" if len(self.values) > 1 else ""
        bound = f"{'≥' if self.wanted == 'least' else '≤'} {self.bound:.3g}" if self.wanted else ""
        return f"{self.verdict:<13}{value:>8}  {spread:<17}{bound:<7} {self.text}"


def aims(found: Found, *, admission: Sequence[float], builds: Sequence[Builds]) -> list[Aim]:
    """Return every aim of the project with what this run found; admission is in milliseconds."""
    return [
        *_busy(found),
        *_one(found),
        *_steady(found),
        *_idle(found),
        *_sockets(found),
        Aim(
            text="admission on SQLite: p50 in ms",
            values=tuple(admission),
            wanted="most",
            bound=WANTED_MS,
        ),
        Aim(
            text="agent from a spec: built when first asked for, p50 in ms",
            values=tuple(each.cold_ms for each in builds),
        ),
        Aim(
            text="agent from a spec: found again, p50 in µs",
            values=tuple(each.warm_us for each in builds),
        ),
        *_fairness(found),
    ]


def _each(found: Found, load: Load, row: Row, path: str) -> dict[int, float]:
    """Return the number of each repeat."""
    numbers = {n: number(result, path) for n, result in found.get((load, row), {}).items()}
    return {repeat: value for repeat, value in numbers.items() if value is not None}


def _values(found: Found, load: Load, row: Row, path: str) -> tuple[float, ...]:
    return tuple(_each(found, load, row, path).values())


def _ratios(found: Found, load: Load, above: Row, below: Row, path: str) -> tuple[float, ...]:
    top, bottom = (_each(found, load, row, path) for row in (above, below))
    return tuple(top[repeat] / bottom[repeat] for repeat in top if bottom.get(repeat))


def _faster(found: Found, row: Row, than: Row, bound: float) -> Iterable[Aim]:
    """Compare tokens a second; by CPU a token as well where somebody else used the core."""
    speeds = _ratios(found, "busy", row, than, _SPEED)
    text = f"50 streams: tokens/s, {row} / {than}"
    yield Aim(text=text, values=speeds, wanted="least", bound=bound)
    stolen = [
        *_values(found, "busy", row, "others_on_server_core"),
        *_values(found, "busy", than, "others_on_server_core"),
    ]
    if max(stolen, default=0.0) > OTHERS_BELOW:
        used = f"others used up to {max(stolen):.0%} of the core"
        text = f"  the same by CPU a token, {than} / {row} ({used})"
        yield Aim(text=text, values=_ratios(found, "busy", than, row, _CPU))


def _cheaper(found: Found, row: Row, than: Row, bound: float | None) -> Aim:
    return Aim(
        text=f"50 streams: CPU a token, {row} / {than}",
        values=_ratios(found, "busy", row, than, _CPU),
        wanted=None if bound is None else "most",
        bound=bound or 0.0,
    )


def _busy(found: Found) -> Iterable[Aim]:
    yield from _faster(found, "speaking", "plain", 2.0)
    yield from _faster(found, "speaking", "limit", 0.3)
    yield from _faster(found, "answer", "speaking", 0.9)
    yield from _faster(found, "chat", "plain", 1.3)
    yield _cheaper(found, "chat", "langgraph-dev", 1 / 3)
    # Only the log differs: LangGraph's checkpoints are in memory on both sides.
    yield _cheaper(found, "durable", "speaking", 1.15)
    yield _cheaper(found, "durable-chat", "chat", 1.15)
    yield _cheaper(found, "everything", "speaking", None)


def _one(found: Found) -> Iterable[Aim]:
    wanted: tuple[Row, ...] = ("speaking", "chat", "durable")
    others: tuple[Row, ...] = ("durable-chat", "everything")
    for row in (*wanted, *others):
        yield Aim(
            text=f"1 stream: first token p50, {row} / plain",
            values=_ratios(found, "one", row, "plain", f"{_FIRST}.p50"),
            wanted="most" if row in wanted else None,
            bound=2.0,
        )


def _sockets(found: Found) -> Iterable[Aim]:
    """Compare with a bare socket, where a turn begins, and with our streams, as it goes on."""
    rows: tuple[Row, ...] = ("socket", "socket-chat")
    for row in rows:
        for rank in ("p50", "p99"):
            yield Aim(
                text=f"1 socket: first token {rank}, {row} / plain-socket",
                values=_ratios(found, "one", row, "plain-socket", f"{_FIRST}.{rank}"),
                wanted="most",
                bound=1.5,
            )
    yield from _faster(found, "socket", "speaking", 0.9)
    yield from _faster(found, "socket-chat", "chat", 0.9)
    yield from _held(found, "sockets", "socket")


def _steady(found: Found) -> Iterable[Aim]:
    rows: tuple[Row, ...] = ("speaking", "chat", "durable")
    for row in rows:
        yield Aim(
            text=f"100 streams: tokens/s, {row} / limit",
            values=_ratios(found, "steady", row, "limit", _SPEED),
            wanted="least",
            bound=0.95,
        )
        yield Aim(
            text=f"100 streams: gap p99, {row} / limit",
            values=_ratios(found, "steady", row, "limit", "gap_ms.p99"),
            wanted="most",
            bound=1.5,
        )
        yield Aim(
            text=f"100 streams: first token p99 in ms, {row}",
            values=_values(found, "steady", row, f"{_FIRST}.p99"),
            wanted="most",
            bound=15.0,
        )


def _idle(found: Found) -> Iterable[Aim]:
    rows: tuple[Row, ...] = ("speaking", "durable")
    for row in rows:
        yield from _held(found, "idle", row)


def _held(found: Found, load: Load, row: Row) -> Iterable[Aim]:
    what = "sockets" if load == "sockets" else "streams"
    asked = _each(found, load, row, "asked")
    held = _each(found, load, row, "still_open")
    # The worst repeat, not the median: one stream lost is one too many.
    worst = min((held[each] / asked[each] for each in held), default=None)
    errors = sum(_values(found, load, row, "errors")) if held else None
    memory = _values(found, load, row, "kib_per_stream")
    yield _single(f"idle: {what} open / asked for, {row}", worst, "least", 1.0)
    yield _single(f"idle: errors of {what}, {row}", errors, "most", 0.0)
    yield Aim(
        text=f"idle: KiB a {what.removesuffix('s')}, {row}",
        values=memory,
        wanted="most",
        bound=100.0,
    )


def _single(text: str, value: float | None, wanted: Literal["least", "most"], bound: float) -> Aim:
    values = () if value is None else (value,)
    return Aim(text=text, values=values, wanted=wanted, bound=bound)


def _fairness(found: Found) -> Iterable[Aim]:
    middle = [medians(list(results.values())) for results in found.values()]

    def most(path: str) -> float | None:
        seen = [number(result, path) for result in middle]
        return max((each for each in seen if each is not None), default=None)

    client, others = most("client_utilisation"), most("others_on_server_core")
    text = "load generator: its highest utilisation"
    yield _single(text, client, "most", CLIENT_FREE_BELOW)
    text = "machine: most that others used of the server's core"
    yield _single(text, others, "most", OTHERS_BELOW)
