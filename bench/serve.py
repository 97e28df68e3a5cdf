"""Start one of the measured servers on its own core, wait until it is ready, and stop it again.

By hand, to look at one server (Ctrl-C stops it):

    python -m bench.serve plain
"""

import argparse
import http.client
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, assert_never, get_args

from bench import meter
from bench.workload import DELAY_VARIABLE, TOKENS

ROOT: Final = Path(__file__).resolve().parent.parent
SCRATCH: Final = ROOT / ".turnwire" / "bench"
LANGGRAPH_DEV: Final = ROOT / "bench" / "peers" / "langgraph_dev"
READY_WITHIN_S: Final = 60.0
STOP_WITHIN_S: Final = 5.0

Row = Literal["limit", "plain", "langgraph-dev", "speaking", "chat", "durable", "durable-chat"]
ROWS: Final[tuple[Row, ...]] = get_args(Row)


class NotMeasured(Exception):
    """A row could not be measured; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One way to start a server."""

    row: Row
    delay_ms: float = 0.0
    idle: bool = False
    """Whether it is asked for streams that say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a server is started and what it is asked."""

    command: tuple[str, ...]
    path: str
    ready: str = "/readyz"
    cwd: Path = ROOT
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: tuple[str, ...] = ()
    body: str = '{"messages":[{"role":"user","content":"go"}]}'
    marker: str = "event: token"
    frames: int = TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A server that answers."""

    pid: int
    port: int
    plan: Plan

    def load_arguments(self) -> list[str]:
        """Return the part of the load generator's command line that says whom to ask what."""
        headers = [part for header in self.plan.headers for part in ("--header", header)]
        return [
            *("--url", f"http://127.0.0.1:{self.port}{self.plan.path}"),
            *("--body", self.plan.body),
            *("--marker", self.plan.marker),
            *("--frames", str(self.plan.frames)),
            *("--pid", str(self.pid)),
            *headers,
        ]


def plan_for(setting: Setting, *, port: int, data: Path) -> Plan:
    """Return how to start the server of a row."""
    path = "/idle" if setting.idle else "/chat"
    match setting.row:
        case "limit":
            return Plan(command=_uvicorn("limit", port, "--lifespan", "off"), path=path)
        case "plain":
            return Plan(command=_uvicorn("plain", port), path=path)
        case "langgraph-dev":
            return _langgraph_dev(port)
        case "speaking" | "durable":
            agent = "idle" if setting.idle else "speaking"
            return _turnwire(agent, port, data, durable=setting.row == "durable")
        case "chat" | "durable-chat":
            return _turnwire("chat", port, data, durable=setting.row == "durable-chat")
        case _:
            assert_never(setting.row)


def _uvicorn(peer: str, port: int, *more: str) -> tuple[str, ...]:
    return (
        *(sys.executable, "-m", "uvicorn", f"bench.peers.{peer}:app"),
        *("--host", "127.0.0.1", "--port", str(port), "--loop", "uvloop", "--http", "httptools"),
        *("--log-level", "warning", "--no-access-log", *more),
    )


def _turnwire(agent: str, port: int, data: Path, *, durable: bool) -> Plan:
    cli = (sys.executable, "-m", "turnwire")
    where = ("--data-dir", str(data))
    create = (*cli, "keys", "create", "--name", "bench", "--scope", "chat", *where)
    made = subprocess.run(
        create, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )
    if made.returncode or not made.stdout.strip():
        raise NotMeasured(f"no API key: {made.stderr.strip()[-300:] or made.stdout!r}")
    key = made.stdout.split()[-1]
    return Plan(
        command=(*cli, "serve", "--agent", f"bench.agents:{agent}", "--port", str(port), *where),
        path="/chat?tokens=true",
        env={} if durable else {"TURNWIRE_STORE": "memory"},
        headers=(f"Authorization: Bearer {key}",),
    )


def _langgraph_dev(port: int) -> Plan:
    home = SCRATCH / "langgraph-dev"
    _install(home, LANGGRAPH_DEV / "requirements.txt")
    return Plan(
        # Its best setting: as many jobs as streams, no reloader, no check for blocking calls.
        command=(
            *(str(home / "bin" / "langgraph"), "dev", "--no-browser", "--no-reload"),
            *("--allow-blocking", "--n-jobs-per-worker", "64", "--server-log-level", "ERROR"),
            *("--host", "127.0.0.1", "--port", str(port)),
        ),
        path="/runs/stream",
        ready="/ok",
        cwd=LANGGRAPH_DEV,
        env={"LANGSMITH_TRACING": "false", "LANGGRAPH_CLI_NO_ANALYTICS": "1"},
        body='{"assistant_id":"chat","stream_mode":"messages-tuple",'
        '"input":{"messages":[{"role":"user","content":"go"}]}}',
        marker="event: messages",
        frames=TOKENS + 1,  # LangChain's empty last chunk is sent like a token
    )


def _install(home: Path, requirements: Path) -> None:
    done = home / "installed.txt"
    wanted = requirements.read_text()
    if done.is_file() and done.read_text() == wanted:
        return
    shutil.rmtree(home, ignore_errors=True)
    steps = (
        (sys.executable, "-m", "venv", str(home)),
        (str(home / "bin" / "python"), "-m", "pip", "install", "-q", "-r", str(requirements)),
    )
    for step in steps:
        made = subprocess.run(step, capture_output=True, text=True, check=False)
        if made.returncode:
            raise NotMeasured(f"could not install {requirements}: {made.stderr.strip()[-300:]}")
    done.write_text(wanted)


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return our environment with ``bench`` and ``turnwire`` on the Python path."""
    ours = dict(os.environ)  # noqa: TID251 - handed on to children, not read
    path = (ours.get("PYTHONPATH", ""), str(ROOT), str(ROOT / "src"))
    return ours | {"PYTHONPATH": os.pathsep.join(filter(None, path))} | dict(more or {})


def free_port() -> int:
    """Return a loopback port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(setting: Setting) -> Generator[Running, None, None]:
    """Run the server while the block does; :class:`NotMeasured` if it does not become ready."""
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=SCRATCH, prefix="data-") as scratch:
        port = free_port()
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
    """Run one server until Ctrl-C, and print how to load it."""
    parser = argparse.ArgumentParser(prog="bench.serve", description=__doc__)
    parser.add_argument("row", choices=ROWS)
    parser.add_argument("--delay-ms", type=float, default=0.0)
    parser.add_argument("--idle", action="store_true")
    asked = parser.parse_args()
    meter.allow_many_files()
    setting = Setting(row=asked.row, delay_ms=asked.delay_ms, idle=asked.idle)
    with running(setting) as server:
        arguments = " ".join(f"'{each}'" for each in server.load_arguments())
        print(f"python -m bench.load {arguments}", flush=True)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
