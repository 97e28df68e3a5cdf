"""Start one of the measured servers on its own core, wait until it is ready, and stop it again.

By hand, to look at one server (Ctrl-C or SIGTERM stops it):

    python -m bench.serve plain
"""

import argparse
import http.client
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench import meter
from bench.errors import NotMeasured
from bench.install import install
from bench.places import SCRATCH, environment
from bench.rows import ROWS, Plan, Setting, plan_for
from bench.workload import DELAY_VARIABLE

READY_WITHIN_S: Final = 60.0
STOP_WITHIN_S: Final = 2.0
"""What it keeps is thrown away: it need not end its turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A server that answers."""

    pid: int
    port: int
    plan: Plan

    def load_arguments(self) -> list[str]:
        """Return the part of the load generator's command line that says whom to ask what."""
        sockets = ["--socket", "--secret", self.plan.secret] if self.plan.socket else []
        headers = [part for header in self.plan.headers for part in ("--header", header)]
        return [
            *("--url", f"http://127.0.0.1:{self.port}{self.plan.path}"),
            *("--body", self.plan.body),
            *("--marker", self.plan.marker),
            *("--frames", str(self.plan.frames)),
            *("--pid", str(self.pid)),
            *headers,
            *sockets,
        ]


@contextmanager
def running(setting: Setting) -> Generator[Running]:
    """Run the server while the block does; :class:`NotMeasured` if it does not become ready."""
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        dir=SCRATCH, prefix="data-", ignore_cleanup_errors=True
    ) as scratch:
        port = _free_port()
        plan = plan_for(setting, port=port, data=Path(scratch) / "data")
        log = Path(scratch) / "server.log"
        env = environment({**plan.env, DELAY_VARIABLE: str(setting.delay_ms)})
        with log.open("wb") as sink, meter.on_core(meter.SERVER_CORE):
            server = subprocess.Popen(plan.command, cwd=plan.cwd, env=env, stdout=sink, stderr=sink)
        try:
            _wait(server, f"http://127.0.0.1:{port}{plan.ready}", log)
            yield Running(pid=server.pid, port=port, plan=plan)
        finally:
            _stop(server)


def stop_on_signals() -> None:
    """Let Ctrl-C and SIGTERM unwind the stack, so that no server outlives us."""
    # By name, because a shell starts its background jobs with Ctrl-C ignored.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.default_int_handler)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                if answer.status == http.client.OK:
                    return
        except (OSError, urllib.error.URLError, http.client.HTTPException):
            pass
        time.sleep(0.1)
    said = log.read_text(errors="replace").strip()[-600:]
    raise NotMeasured(f"not ready at {url} (exit status {server.poll()}): {said}")


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def main() -> None:
    """Run one server until it is stopped, and print how to load it."""
    parser = argparse.ArgumentParser(
        prog="bench.serve",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("row", choices=ROWS)
    parser.add_argument("--delay-ms", type=float, default=0.0)
    parser.add_argument("--idle", action="store_true")
    asked = parser.parse_args()
    meter.allow_many_files()
    stop_on_signals()
    setting = Setting(row=asked.row, delay_ms=asked.delay_ms, idle=asked.idle)
    try:
        install(setting.row)
        with running(setting) as server:
            arguments = " ".join(f"'{each}'" for each in server.load_arguments())
            print(f"python -m bench.load {arguments}", flush=True)
            while True:
                time.sleep(3600)
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
