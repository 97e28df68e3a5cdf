"""What is measured: four loads, and for each the rows that the ratios need."""

from dataclasses import dataclass
from typing import Final, Literal

from bench.serve import Row, Setting

SLOW_MORE_S: Final = 4.0

Load = Literal["busy", "one", "steady", "idle"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One load and the servers that it is put on."""

    name: Load
    title: str
    rows: tuple[Row, ...]
    streams: int
    seconds: float
    quick_seconds: float
    warmup: float
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
        more = SLOW_MORE_S if row == "langgraph-dev" else 0.0
        streams = (self.quick_streams or self.streams) if quick else self.streams
        if self.idle:
            return ["--idle", "--streams", str(streams)]
        return [
            *("--streams", str(streams)),
            *("--seconds", str((self.quick_seconds if quick else self.seconds) + more)),
            *("--warmup", str(self.warmup + more)),
            *("--spread", str(self.spread)),
        ]


BUSY: Final = Scenario(
    name="busy",
    title="50 streams, a model without delay",
    rows=("limit", "plain", "langgraph-dev", "speaking", "chat", "durable", "durable-chat"),
    streams=50,
    seconds=4.0,
    quick_seconds=2.0,
    warmup=1.0,
    spread=0.2,
)
ONE: Final = Scenario(
    name="one",
    title="1 stream, a model without delay",
    rows=("limit", "plain", "speaking", "chat", "durable"),
    streams=1,
    seconds=1.5,
    quick_seconds=0.7,
    warmup=0.3,
)
STEADY: Final = Scenario(
    name="steady",
    title="100 streams, 10 ms a token",
    rows=("limit", "plain", "speaking", "chat", "durable"),
    streams=100,
    seconds=4.0,
    quick_seconds=2.0,
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
    seconds=0.0,
    quick_seconds=0.0,
    warmup=0.0,
    idle=True,
)
SCENARIOS: Final = (BUSY, ONE, STEADY, IDLE)
