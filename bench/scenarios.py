"""What is measured: five loads, and for each the rows that the ratios need."""

from dataclasses import dataclass
from typing import Final, Literal

from bench.rows import Row, Setting

_SLOW_MORE_S: Final = 4.0

Load = Literal["busy", "one", "steady", "idle", "sockets"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One load and the servers that it is put on."""

    name: Load
    title: str
    rows: tuple[Row, ...]
    """In the order of measuring: rows whose ratio is asked for stand next to each other."""
    streams: int
    seconds: float = 0.0
    quick_seconds: float = 0.0
    warmup: float = 0.0
    spread: float = 0.0
    delay_ms: float = 0.0
    idle: bool = False
    quick_streams: int | None = None

    def setting(self, row: Row) -> Setting:
        """Return how a row's server is started for this load."""
        return Setting(row=row, delay_ms=self.delay_ms, idle=self.idle)

    def load_arguments(self, row: Row, *, quick: bool) -> list[str]:
        """Return the part of the load generator's command line that says how much and how long."""
        # One of its turns takes seconds: it gets the time to come to its stride.
        more = _SLOW_MORE_S if row == "langgraph-dev" else 0.0
        streams = (self.quick_streams or self.streams) if quick else self.streams
        if self.idle:
            return ["--idle", "--streams", str(streams)]
        return [
            *("--streams", str(streams)),
            *("--seconds", str((self.quick_seconds if quick else self.seconds) + more)),
            *("--warmup", str(self.warmup + more)),
            *("--spread", str(self.spread)),
        ]


ONE: Final = Scenario(
    name="one",
    title="1 stream, a model without delay",
    rows=(
        *("durable", "speaking", "limit", "plain", "chat", "durable-chat", "everything"),
        *("socket", "plain-socket", "socket-chat"),
    ),
    streams=1,
    seconds=1.0,
    quick_seconds=0.6,
    warmup=0.3,
)
BUSY: Final = Scenario(
    name="busy",
    title="50 streams, a model without delay",
    rows=(
        *("durable", "socket", "speaking", "answer", "limit", "plain", "plain-socket"),
        *("socket-chat", "chat", "durable-chat", "everything", "langgraph-dev"),
    ),
    streams=50,
    seconds=2.5,
    quick_seconds=1.5,
    warmup=0.8,
    spread=0.2,
)
STEADY: Final = Scenario(
    name="steady",
    title="100 streams, 10 ms a token",
    rows=("durable", "speaking", "limit", "plain", "chat"),
    streams=100,
    seconds=3.0,
    quick_seconds=1.5,
    warmup=0.5,
    spread=2.0,
    delay_ms=10.0,
)
IDLE: Final = Scenario(
    name="idle",
    title="idle streams",
    rows=("limit", "plain", "speaking", "durable"),
    streams=5_000,
    quick_streams=500,
    idle=True,
)
SOCKETS: Final = Scenario(
    name="sockets",
    title="idle sockets",
    rows=("plain-socket", "socket"),
    streams=1_000,
    idle=True,
)
SCENARIOS: Final = (BUSY, ONE, STEADY, IDLE, SOCKETS)
"""In the order of the report."""
GROUPS: Final = ((ONE, BUSY), (STEADY,), (IDLE,), (SOCKETS,))
"""In the order of measuring; the loads of a group share the servers."""
