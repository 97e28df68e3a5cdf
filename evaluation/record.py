"""The record of a run: what is committed, shown in the docs and compared with."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from evaluation.cases import HALVES, LOCALES, Half, Locale, Sets
from evaluation.figures import FIGURES
from evaluation.scores import Rate, percentile
from evaluation.seen import Seen

BASELINE: Final = Path(__file__).with_name("baseline.json")
SLICES: Final[tuple[tuple[Half, Locale | None], ...]] = tuple(
    (half, locale) for half in HALVES for locale in (None, *LOCALES)
)

Counted = Annotated[tuple[float, int], Field(description="hits, of")]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Measured(_Strict):
    """One figure: hits and cases of each slice, such as ``held.es``, and how far it may fall."""

    margin: int
    """In cases."""
    slices: Mapping[str, Counted]

    def rate(self, half: Half, locale: Locale | None) -> Rate:
        """Return the figure of one slice."""
        return Rate(*self.slices.get(slice_name(half, locale), (0, 0)))


class Latency(_Strict):
    """Milliseconds that the guardrails took for a message, on the machine of the run."""

    p50: float
    p95: float


class Record(_Strict):
    """A run of one configuration."""

    sets: str
    """The digest of the sets."""
    sizes: Mapping[str, Mapping[str, int]]
    guards_ms: Latency
    figures: Mapping[str, Measured]


def slice_name(half: Half, locale: Locale | None) -> str:
    """Return the name of a slice: ``held.en``, or ``held.all``."""
    return f"{half}.{locale or 'all'}"


def record(seen: Seen, sets: Sets) -> Record:
    """Return the record of what was seen; figures that nothing counts towards are left out."""
    figures: dict[str, Measured] = {}
    for figure in FIGURES:
        rates = {slice_name(*each): figure.measure(seen.of(*each)) for each in SLICES}
        counted = {name: (round(r.hits, 4), r.of) for name, r in rates.items() if r.of}
        if counted:
            figures[figure.key] = Measured(margin=figure.margin, slices=counted)
    latencies = seen.latencies()
    return Record(
        sets=sets.digest(),
        sizes=sets.sizes(),
        guards_ms=Latency(
            p50=round(percentile(latencies, 0.5), 2), p95=round(percentile(latencies, 0.95), 2)
        ),
        figures=figures,
    )


def read(path: Path = BASELINE) -> dict[str, Record]:
    """Return the committed records: configuration → record."""
    if not path.exists():
        return {}
    stored = json.loads(path.read_text("utf-8"))
    return {name: Record.model_validate(each) for name, each in stored.items()}


def write(records: Mapping[str, Record], path: Path = BASELINE) -> None:
    """Make ``records`` the committed ones."""
    plain = {name: each.model_dump(mode="json") for name, each in sorted(records.items())}
    path.write_text(json.dumps(plain, indent=1) + "\n", "utf-8")


def worse(fresh: Record, baseline: Record) -> list[str]:
    """Return one sentence for each figure that fell further than its margin."""
    if fresh.sets != baseline.sets:
        return ["the sets are not those of the baseline; run: python -m evaluation.run --write"]
    said: list[str] = []
    for figure in FIGURES:
        before, now = baseline.figures.get(figure.key), fresh.figures.get(figure.key)
        if before is None:
            continue
        for half, locale in SLICES:
            was = before.rate(half, locale)
            is_now = now.rate(half, locale) if now else Rate(0, 0)
            if _fell(was, is_now, before.margin, less_is_better=figure.less_is_better):
                said.append(
                    f"{figure.key} ({slice_name(half, locale)}, {figure.title}): "
                    f"{_shown(is_now)}, was {_shown(was)}, margin {before.margin}"
                )
    return said


def _fell(was: Rate, now: Rate, margin: int, *, less_is_better: bool) -> bool:
    if was.value is None or now.value is None:
        return was.value is not None and not less_is_better
    change = (was.value - now.value) * (-1 if less_is_better else 1)
    return change > margin / was.of + 1e-4


def _shown(rate: Rate) -> str:
    return f"{rate.hits:g} of {rate.of}"
