"""Run the evaluation and print its figures.

    python -m evaluation.run                           offline, both halves
    python -m evaluation.run --half tuned --misses     with what went wrong in the tuned half
    python -m evaluation.run --configuration model     with the model of TURNWIRE_MODEL
    python -m evaluation.run --write                   and make it the record and the docs' table

Exit status: 0 when it ran, whatever the figures say; 2 when it cannot run.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import cast

from evaluation.cases import HALVES, Half, Sets, load
from evaluation.figures import FIGURES
from evaluation.misses import misses
from evaluation.observe import observe
from evaluation.page import missed
from evaluation.product import CONFIGURATIONS, Configuration, Model, product
from evaluation.record import SLICES, Record, read, record, slice_name, write
from evaluation.scores import Rate
from evaluation.seen import Seen
from tools import reference
from turnwire.errors import TurnwireError
from turnwire.settings import Settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    asked = _arguments(arguments)
    configuration = cast("Configuration", asked.configuration)
    sets = load() if asked.half == "both" else load().of(cast("Half", asked.half))
    try:
        seen = run(configuration, sets)
    except TurnwireError as error:  # what is missing, or what the model's provider did
        print(error, file=sys.stderr)
        return 2
    found = record(seen, sets)
    print(found.model_dump_json(indent=1) if asked.json else "\n".join(_table(found)))
    if asked.misses:
        print(*misses(seen), sep="\n")
    if asked.write:
        _keep(configuration, found)
    return 0


def run(configuration: Configuration, sets: Sets) -> Seen:
    """Return what the product, in this configuration, makes of ``sets``.

    Raises:
        SetupError: the configuration needs what is not there; the text says what.
    """
    with product(configuration, _model() if configuration == "model" else None) as built:
        return observe(built, sets)


def _model() -> Model:
    settings = Settings()
    return Model(settings.model, settings.model_base_url, settings.model_api_key)


def _keep(configuration: Configuration, found: Record) -> None:
    write({**read(), configuration: found})
    reference.write()
    for each in missed(read()):
        print(f"{each} misses its aim; evaluation/reasons.yaml says why", file=sys.stderr)


def _table(found: Record) -> Iterator[str]:
    names = [slice_name(*each) for each in SLICES]
    yield f"{'':<26}" + "".join(f"{each:>22}" for each in names)
    for figure in FIGURES:
        measured = found.figures.get(figure.key)
        if measured is not None:
            cells = (_cell(measured.rate(*each)) for each in SLICES)
            yield f"{figure.key:<26}" + "".join(f"{each:>22}" for each in cells)
    yield f"guardrails, ms a message: p50 {found.guards_ms.p50}, p95 {found.guards_ms.p95}"


def _cell(rate: Rate) -> str:
    if rate.value is None:
        return "-"
    low, high = rate.interval()
    return f"{rate.value:.3f} [{low:.2f}, {high:.2f}]"


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="evaluation.run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--configuration", choices=CONFIGURATIONS, default="offline")
    parser.add_argument("--half", choices=(*HALVES, "both"), default="both")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the record as JSON")
    form.add_argument(
        "--misses", action="store_true", help="print the cases of the tuned half that failed"
    )
    parser.add_argument(
        "--write", action="store_true", help="write evaluation/baseline.json and the docs' table"
    )
    asked = parser.parse_args(arguments)
    if asked.write and asked.half != "both":
        parser.error("--write needs both halves")
    return asked


if __name__ == "__main__":
    sys.exit(main())
