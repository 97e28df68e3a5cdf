"""Measure every row three times, print the medians and whether each aim is met.

    python -m bench.run            every row, about fourteen minutes
    python -m bench.run --quick    a rough look, about three minutes
    python -m bench.run --only plain

Exit status: 0 when every row was measured, whatever the ratios say; 1 when one could not be.
"""

import argparse
import json
import os
import platform
import sys
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from bench import meter
from bench.aims import aims
from bench.numbers import medians
from bench.places import SCRATCH
from bench.report import report
from bench.rows import ROWS
from bench.serve import stop_on_signals
from bench.session import Session

REPEATS: Final = 3
BUSY_ABOVE: Final = 0.5


def main() -> int:
    """Run the suite; return the exit status."""
    asked = arguments()
    meter.allow_many_files()
    before = surroundings()
    if before["load_before"][0] > BUSY_ABOVE:
        print(f"The machine is busy (load {before['load_before'][0]:.1f}).", file=sys.stderr)
    session = Session(quick=asked.quick, only=asked.only)
    stop_on_signals()
    session.run(1 if asked.quick else REPEATS)
    lines = report(
        session.found,
        admission=session.admission,
        builds=session.builds,
        quick=asked.quick,
        only=asked.only,
    )
    for line in lines:
        print(line)
    for what, why in session.failed.items():
        print(f"NOT MEASURED {what}: {why}")
    _keep(session, asked, before)
    return 1 if session.failed else 0


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        prog="bench.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="once, and shorter")
    parser.add_argument("--only", choices=ROWS, help="measure one row, without ratios")
    return parser.parse_args()


def surroundings() -> dict[str, Any]:
    """Return what the numbers depend on besides the code."""
    packages = ("langgraph", "langchain-core", "fastapi", "starlette", "uvicorn", "uvloop")
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "load_before": os.getloadavg(),
        "packages": {name: version(name) for name in packages},
    }


def _keep(session: Session, asked: argparse.Namespace, before: dict[str, Any]) -> None:
    runs = [
        {"scenario": load, "row": row, "median": medians(list(each.values())), "repeats": each}
        for (load, row), each in session.found.items()
    ]
    whole = {
        "quick": asked.quick,
        "surroundings": before,
        "aims": [] if asked.only else _verdicts(session),
        "measurements": runs,
        "not_measured": session.failed,
    }
    # A partial run does not overwrite a whole one.
    kind = f"only-{asked.only}" if asked.only else "quick" if asked.quick else "latest"
    to: Path = SCRATCH / f"{kind}.json"
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n")


def _verdicts(session: Session) -> list[dict[str, Any]]:
    return [
        asdict(aim) | {"value": aim.value, "verdict": aim.verdict}
        for aim in aims(session.found, admission=session.admission, builds=session.builds)
    ]


if __name__ == "__main__":
    sys.exit(main())
