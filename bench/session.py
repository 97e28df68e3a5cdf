"""The order of measuring: repeat by repeat, so that what a ratio divides was measured together.

All servers of a group are started first and wait, which costs the core nothing. Then the loads go
from one to the next without a pause: rows of one ratio are seconds apart.
"""

import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any, Final

from bench import admission, agent_builds, meter
from bench.agent_builds import Builds
from bench.errors import NotMeasured
from bench.install import install
from bench.rows import ROWS, Row
from bench.scenarios import GROUPS, Load, Scenario
from bench.serve import Running, running

MEASURED_WITHIN_S: Final = 120.0
LAST_START_S: Final = {False: 860.0, True: 210.0}
"""No measurement begins later than this after the first; by ``quick``."""
DISTURBED_ABOVE: Final = 0.10
"""Of the server's core, used by others: such a measurement is made once more."""
MOST_AGAIN: Final = 8

Result = Mapping[str, Any]
Key = tuple[Load, Row]
Found = dict[Key, dict[int, Result]]
"""Every measurement, by the number of its repeat."""


class Session:
    """One run of the suite: what was found, what failed, and how much time is left."""

    def __init__(self, *, quick: bool, only: Row | None) -> None:
        self.found: Found = defaultdict(dict)
        self.failed: dict[str, str] = {}
        """Why a row was not measured."""
        self.admission: list[float] = []
        """What admission took at the median in each repeat, in milliseconds."""
        self.builds: list[Builds] = []
        """What agents from specs took in each repeat."""
        self._quick = quick
        self._only = only
        self._broken: set[Row] = set()
        """Rows that cannot be installed."""
        self._again = 0
        self._began = time.monotonic()

    def run(self, repeats: int) -> None:
        """Install what is missing, start the clock, and measure every row so many times."""
        for row in ROWS:
            if self._wanted(row):
                self._install(row)
        self._began = time.monotonic()
        for repeat in range(repeats):
            if self._only is None:
                self._without_server(repeat)
            for group in GROUPS:
                if group[0].idle:
                    self._one_by_one(group[0], repeat)
                else:
                    self._side_by_side(group, repeat)

    def _without_server(self, repeat: int) -> None:
        self._say(f"{repeat + 1}: admission, agents from specs")
        with meter.on_core(meter.SERVER_CORE):
            self.admission.append(admission.middle_ms())
            self.builds.append(agent_builds.builds())

    def _install(self, row: Row) -> None:
        try:
            install(row)
        except NotMeasured as reason:
            self._broken.add(row)
            self._fail(row, str(reason))

    def _wanted(self, row: Row) -> bool:
        return row not in self._broken and self._only in (None, row)

    def _rows(self, scenario: Scenario) -> Iterable[Row]:
        return (row for row in scenario.rows if self._wanted(row))

    def _one_by_one(self, scenario: Scenario, repeat: int) -> None:
        """Start one server at a time: what counts is its memory, not its speed."""
        for row in self._rows(scenario):
            self._alone(scenario, row, repeat)

    def _alone(self, scenario: Scenario, row: Row, repeat: int) -> None:
        try:
            self._require_time()
            with running(scenario.setting(row)) as server:
                self._visit(server, scenario, row, repeat)
        except NotMeasured as reason:
            self._fail(f"{row}, {scenario.name}", str(reason))

    def _side_by_side(self, group: tuple[Scenario, ...], repeat: int) -> None:
        with ExitStack() as stack:
            servers: dict[Row, Running] = {}
            for row in ROWS:
                # langgraph-dev is never quite idle: it is there only while it is measured.
                if row != "langgraph-dev" and any(row in self._rows(load) for load in group):
                    self._start(stack, servers, row, group[0])
            for scenario in group:
                for row in self._rows(scenario):
                    if row == "langgraph-dev":
                        self._alone(scenario, row, repeat)
                    elif row in servers:
                        self._visit_safely(servers[row], scenario, row, repeat)

    def _start(
        self, stack: ExitStack, servers: dict[Row, Running], row: Row, scenario: Scenario
    ) -> None:
        try:
            self._require_time()
            servers[row] = stack.enter_context(running(scenario.setting(row)))
        except NotMeasured as reason:
            self._fail(f"{row}, {scenario.name}", str(reason))

    def _visit_safely(self, server: Running, scenario: Scenario, row: Row, repeat: int) -> None:
        try:
            self._require_time()
            self._visit(server, scenario, row, repeat)
        except NotMeasured as reason:
            self._fail(f"{row}, {scenario.name}", str(reason))

    def _visit(self, server: Running, scenario: Scenario, row: Row, repeat: int) -> None:
        self._say(f"{repeat + 1}: {scenario.name:<7}{row}")
        result = self._load(server, scenario, row)
        if _others(result) > DISTURBED_ABOVE and self._again < MOST_AGAIN:
            self._again += 1
            self._say(f"   others used {_others(result):.0%} of its core: once more")
            result = min(result, self._load(server, scenario, row), key=_others)
        self.found[scenario.name, row][repeat] = result

    def _load(self, server: Running, scenario: Scenario, row: Row) -> Result:
        command = (
            *(sys.executable, "-m", "bench.load"),
            *server.load_arguments(),
            *scenario.load_arguments(row, quick=self._quick),
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

    def _require_time(self) -> None:
        if time.monotonic() - self._began > LAST_START_S[self._quick]:
            raise NotMeasured("no time left")

    def _fail(self, what: str, why: str) -> None:
        self.failed[what] = why
        self._say(f"not measured: {what}: {why}")

    def _say(self, what: str) -> None:
        print(f"{time.monotonic() - self._began:5.0f} s  {what}", file=sys.stderr, flush=True)


def _others(result: Result) -> float:
    return float(result.get("others_on_server_core", 0.0))
