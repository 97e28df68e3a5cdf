"""Numbers out of measurements: one of a result, the medians of several."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, cast

from bench.session import Result


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
