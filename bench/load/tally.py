"""What was seen in the window of a measurement."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Tally:
    """What all streams of a run saw together."""

    tokens: int = 0
    turns: int = 0
    together: int = 0
    """Tokens that came in one read with the token before them: a gap of nothing."""
    gaps: list[float] = field(default_factory=list[float])
    first: list[float] = field(default_factory=list[float])
    errors: Counter[str] = field(default_factory=Counter[str])


def percentiles(seconds: list[float], *, zeros: int = 0) -> dict[str, float | int | None]:
    """Return p50 and p99 in milliseconds (nearest rank) of the values and as many zeros."""
    count = len(seconds) + zeros
    if not count:
        return {"p50": None, "p99": None, "max": None, "count": 0}
    ordered = sorted(seconds)

    def rank(share: float) -> float:
        index = min(count - 1, int(share * count)) - zeros
        return round(ordered[index] * 1000, 3) if index >= 0 else 0.0

    most = round(ordered[-1] * 1000, 3) if ordered else 0.0
    return {"p50": rank(0.5), "p99": rank(0.99), "max": most, "count": count}
