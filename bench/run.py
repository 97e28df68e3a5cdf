"""Measure every row three times, print the medians and whether each aim is met.

    python -m bench.run            every row, about nine minutes
    python -m bench.run --quick    a rough look, under two minutes
    python -m bench.run --only plain

Exit status: 0 when every row was measured, whatever the ratios say; 1 when one could not be.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, get_args

from bench import meter
from bench.report import aims, medians, report
from bench.scenarios import BUSY, ONE, SCENARIOS, Load, Scenario
from bench.serve import ROWS, SCRATCH, NotMeasured, Row, Running, running

REPEATS: Final = 3
MEASURED_WITHIN_S: Final = 120.0
LAST_START_S: Final = {False: 660.0, True: 105.0}
"""No measurement begins later than this after the run's start; by ``quick``."""

Found = dict[tuple[Load, Row], list[dict[str, Any]]]


class Session:
    """One run of the suite: what was found, what failed, and how much time is left."""

    def __init__(self, *, quick: bool) -> None:
        self.quick = quick
        self.found: Found = defaultdict(list)
        self.failed: dict[str, str] = {}
        self._began = time.monotonic()

    def visit(self, row: Row, scenarios: tuple[Scenario, ...]) -> None:
        """Start a row's server once and put each load on it."""
        what = f"{row}, {', '.join(each.name for each in scenarios)}"
        elapsed = time.monotonic() - self._began
        if elapsed > LAST_START_S[self.quick]:
            self._fail(what, "no time left")
            return
        print(f"{elapsed:5.0f} s  {what}", file=sys.stderr, flush=True)
        try:
            with running(scenarios[0].setting(row)) as server:
                for scenario in scenarios:
                    self.found[scenario.name, row].append(self._load(server, row, scenario))
        except NotMeasured as reason:
            self._fail(what, str(reason))

    def _fail(self, what: str, why: str) -> None:
        self.failed[what] = why
        print(f"         not measured: {what}: {why}", file=sys.stderr, flush=True)

    def _load(self, server: Running, row: Row, scenario: Scenario) -> dict[str, Any]:
        command = (
            *(sys.executable, "-m", "bench.load"),
            *server.load_arguments(),
            *scenario.load_arguments(row, quick=self.quick),
        )
        with meter.on_core(meter.CLIENT_CORE):
            try:
                client = subprocess.run(
                    command, capture_output=True, text=True, timeout=MEASURED_WITHIN_S, check=False
                )
            except subprocess.TimeoutExpired as late:
                raise NotMeasured("the load generator did not end") from late
        if client.returncode:
            raise NotMeasured(f"the load generator failed: {client.stderr.strip()[-600:]}")
        result: dict[str, Any] = json.loads(client.stdout)
        if not result.get("tokens", result.get("opened")):
            raise NotMeasured(f"nothing came back: {result['error_kinds'] or 'no answer'}")
        return result


def visits(only: Row | None) -> Iterator[tuple[Row, tuple[Scenario, ...]]]:
    """Yield each start of a server with its loads: one stream and fifty share a start."""
    shared = [(ONE, BUSY)]
    alone = [(scenario,) for scenario in SCENARIOS if scenario not in (ONE, BUSY)]
    for group in (*shared, *alone):
        for row in ROWS:
            asked = tuple(scenario for scenario in group if row in scenario.rows)
            if asked and only in (None, row):
                yield row, asked


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


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        prog="bench.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="once, and shorter")
    parser.add_argument("--only", choices=get_args(Row), help="measure one row, without ratios")
    return parser.parse_args()


def main() -> int:
    """Run the suite; return the exit status."""
    asked = arguments()
    meter.allow_many_files()
    before = surroundings()
    if before["load_before"][0] > 0.5:
        print(f"The machine is busy (load {before['load_before'][0]:.1f}).", file=sys.stderr)
    session = Session(quick=asked.quick)
    plan = list(visits(asked.only))
    for _ in range(1 if asked.quick else REPEATS):
        for row, scenarios in plan:
            session.visit(row, scenarios)
    found = {key: medians(results) for key, results in session.found.items()}
    for line in report(found, quick=asked.quick, only=asked.only):
        print(line)
    for what, why in session.failed.items():
        print(f"NOT MEASURED {what}: {why}")
    # A partial run does not overwrite a whole one.
    kind = f"only-{asked.only}" if asked.only else "quick" if asked.quick else "latest"
    verdicts = [asdict(aim) | {"verdict": aim.verdict} for aim in aims(found)]
    _keep(SCRATCH / f"{kind}.json", session, before, [] if asked.only else verdicts)
    return 1 if session.failed else 0


def _keep(
    to: Path, session: Session, before: dict[str, Any], verdicts: list[dict[str, Any]]
) -> None:
    runs = [
        {"scenario": load, "row": row, "median": medians(results), "runs": results}
        for (load, row), results in session.found.items()
    ]
    whole = {
        "quick": session.quick,
        "surroundings": before,
        "aims": verdicts,
        "measurements": runs,
        "not_measured": session.failed,
    }
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main())
