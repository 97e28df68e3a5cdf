"""The rows: which servers are measured, and how each is started and asked."""

import secrets
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, assert_never, get_args

from bench.errors import NotMeasured
from bench.places import LANGGRAPH_DEV, LANGGRAPH_DEV_VENV, ROOT, environment
from bench.workload import TOKENS

Row = Literal[
    "limit",
    "plain",
    "plain-socket",
    "langgraph-dev",
    "speaking",
    "answer",
    "chat",
    "socket",
    "socket-chat",
    "durable",
    "durable-chat",
    "everything",
]
ROWS: Final[tuple[Row, ...]] = get_args(Row)

_AGENTS: Final[Mapping[Row, str]] = {
    "speaking": "speaking",
    "answer": "speaking",
    "chat": "chat",
    "socket": "speaking",
    "socket-chat": "chat",
    "durable": "speaking",
    "durable-chat": "chat",
    "everything": "speaking",
}

# Both are named, so that the environment of whoever runs the benchmark changes nothing.
_MEMORY: Final = {"TURNWIRE_STORE": "memory", "TURNWIRE_CHECKPOINTER": "memory"}
_LOG_ON_DISK: Final = {"TURNWIRE_STORE": "sqlite", "TURNWIRE_CHECKPOINTER": "memory"}
_SECRET: Final = secrets.token_hex(32)
# A user of the benchmark asks for more turns in a minute than a person may.
_SOCKETS: Final = {
    "TURNWIRE_WS_SECRET": _SECRET,
    "TURNWIRE_STAFF_MESSAGES_PER_MINUTE": "1000000",
}
_ALL_ON_DISK: Final = {"TURNWIRE_STORE": "sqlite", "TURNWIRE_CHECKPOINTER": "sqlite"}
_STORES: Final[Mapping[Row, dict[str, str]]] = {
    "speaking": _MEMORY,
    "answer": _MEMORY,
    "chat": _MEMORY,
    "socket": _MEMORY,
    "socket-chat": _MEMORY,
    "durable": _LOG_ON_DISK,
    "durable-chat": _LOG_ON_DISK,
    "everything": _ALL_ON_DISK,
}


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
    socket: bool = False
    """Whether turns are asked for over sockets; ``path`` is then where these are opened."""
    secret: str = ""
    """What the tokens that open sockets are signed with; empty: none is needed."""


def plan_for(setting: Setting, *, port: int, data: Path) -> Plan:
    """Return how to start the server of a row; it keeps what it writes under ``data``."""
    path = "/idle" if setting.idle else "/chat"
    match setting.row:
        case "limit":
            return Plan(command=_uvicorn("limit", port, "--lifespan", "off"), path=path)
        case "plain":
            return Plan(command=_uvicorn("plain", port), path=path)
        case "plain-socket":
            command = _uvicorn("plain_socket", port, "--ws", "wsproto")
            return _over_sockets(Plan(command=command, path="/ws"))
        case "socket" | "socket-chat":
            served = _turnwire(_AGENTS[setting.row], port, data, _STORES[setting.row] | _SOCKETS)
            return _over_sockets(replace(served, path="/ws", headers=(), secret=_SECRET))
        case "langgraph-dev":
            return _langgraph_dev(port, data)
        case "speaking" | "chat" | "durable" | "durable-chat" | "everything":
            agent = _AGENTS[setting.row]
            return _turnwire("idle" if setting.idle else agent, port, data, _STORES[setting.row])
        case "answer":
            served = _turnwire(_AGENTS["answer"], port, data, _STORES["answer"])
            return replace(
                served, path="/chat/stream", body='{"message":"go"}', marker="event: token.delta"
            )
        case _:
            assert_never(setting.row)


def _over_sockets(plan: Plan) -> Plan:
    body = '{"type":"chat","message":"go"}'
    return replace(plan, socket=True, body=body, marker='"type":"token"')


def _uvicorn(peer: str, port: int, *more: str) -> tuple[str, ...]:
    return (
        *(sys.executable, "-m", "uvicorn", f"bench.peers.{peer}:app"),
        *("--host", "127.0.0.1", "--port", str(port), "--loop", "uvloop", "--http", "httptools"),
        *("--log-level", "warning", "--no-access-log", *more),
    )


def _turnwire(agent: str, port: int, data: Path, store: Mapping[str, str]) -> Plan:
    cli = (sys.executable, "-m", "turnwire")
    where = ("--data-dir", str(data))
    create = (
        *cli,
        "keys",
        "create",
        "--name",
        "bench",
        "--scope",
        "chat",
        "--limit",
        "1000000",
        *where,
    )
    made = subprocess.run(
        create, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )
    if made.returncode or not made.stdout.strip():
        raise NotMeasured(f"no API key: {made.stderr.strip()[-300:] or made.stdout!r}")
    key = made.stdout.split()[-1]
    return Plan(
        command=(*cli, "serve", "--agent", f"bench.agents:{agent}", "--port", str(port), *where),
        path="/chat?tokens=true",
        env=store,
        headers=(f"Authorization: Bearer {key}",),
    )


def _langgraph_dev(port: int, data: Path) -> Plan:
    # A copy: it keeps its checkpoints beside its configuration and reads them at the next start.
    shutil.copytree(LANGGRAPH_DEV, data, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    return Plan(
        # Its best setting: as many jobs as streams, no reloader, no check for blocking calls.
        command=(
            *(str(LANGGRAPH_DEV_VENV / "bin" / "langgraph"), "dev", "--no-browser"),
            *("--no-reload", "--allow-blocking", "--n-jobs-per-worker", "64"),
            *("--server-log-level", "ERROR", "--host", "127.0.0.1", "--port", str(port)),
        ),
        path="/runs/stream",
        ready="/ok",
        cwd=data,
        env={"LANGSMITH_TRACING": "false", "LANGGRAPH_CLI_NO_ANALYTICS": "1"},
        body='{"assistant_id":"chat","stream_mode":"messages-tuple",'
        '"input":{"messages":[{"role":"user","content":"go"}]}}',
        marker="event: messages",
        frames=TOKENS + 1,  # LangChain's empty last chunk is sent like a token
    )
