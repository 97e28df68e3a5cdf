"""A server to talk to: in a thread of the tests for most, a real process where that matters."""

import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self, TypeVar

import httpx
import uvicorn
from fastapi import FastAPI
from typer.testing import CliRunner

from tests.server.reading import Frame, Reader
from turnwire.app import create
from turnwire.cli.main import app as command_line
from turnwire.server.protocol import BoundedProtocol
from turnwire.server.socket_protocol import socket_options
from turnwire.settings import read

T = TypeVar("T")

ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 20.0
_START: Final = 180.0
"""Seconds until a process that does not listen counts as hanging; a busy machine takes many."""


def eventually(look: Callable[[], T | None], *, within: float = PATIENCE) -> T:
    """Return the first true value of ``look``; fail when the deadline has passed."""
    deadline = time.monotonic() + within
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {within} s"
        time.sleep(0.02)


def new_key(data_dir: Path, *scopes: str, limit: int | None = None) -> str:
    """Return a key that ``turnwire keys create`` prints."""
    arguments = ["keys", "create", "--name", "a test", "--data-dir", str(data_dir)]
    arguments += [] if limit is None else ["--limit", str(limit)]
    for each in scopes:
        arguments += ["--scope", each]
    done = CliRunner().invoke(command_line, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout.strip()


def _graph(name: str) -> str:
    return name if ":" in name else f"tests.server.graphs:{name}"


class Api:
    """What one caller says to a server."""

    def __init__(self, url: str, key: str | None) -> None:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self.http = httpx.Client(base_url=url, headers=headers, timeout=PATIENCE)

    def be_member(self) -> "Api":
        """Mint a session and send it from now on."""
        minted = self.http.post("/auth/session").raise_for_status().json()
        self.http.headers["X-Turnwire-Session"] = minted["session_id"]
        return self

    def be(self, other: "Api") -> "Api":
        """Send the session of another caller from now on."""
        self.http.headers["X-Turnwire-Session"] = other.http.headers["X-Turnwire-Session"]
        return self

    def chat(
        self, text: str, *, headers: Mapping[str, str] | None = None, **more: object
    ) -> httpx.Response:
        """Ask for JSON."""
        body = {"messages": [{"role": "user", "content": text}], **more}
        return self.http.post("/chat", json=body, headers=headers)

    @contextmanager
    def stream(
        self, text: str, *, headers: Mapping[str, str] | None = None, **more: object
    ) -> Generator[Reader]:
        """Ask for a stream with tokens."""
        body = {"messages": [{"role": "user", "content": text}], **more}
        with self._streaming("POST", "/chat?tokens=true", json=body, headers=headers) as reader:
            yield reader

    @contextmanager
    def resume_stream(self, **body: object) -> Generator[Reader]:
        """Answer a pause and follow what comes."""
        with self._streaming("POST", "/chat/resume?tokens=true", json=body) as reader:
            yield reader

    @contextmanager
    def ask(
        self, message: str, *, headers: Mapping[str, str] | None = None, **more: object
    ) -> Generator[Reader]:
        """Ask on the answer wire."""
        body = {"message": message, **more}
        with self._streaming("POST", "/chat/stream", json=body, headers=headers) as reader:
            yield reader

    def post(self, path: str, **body: object) -> list[Frame]:
        """Post something that is answered on the answer wire; return the whole stream."""
        with self._streaming("POST", path, json=body) as reader:
            return reader.rest()

    @contextmanager
    def message(
        self, conversation_id: str, turn_id: str, *, after: str | None = None
    ) -> Generator[Reader]:
        """Re-attach to a turn on the answer wire."""
        headers = {} if after is None else {"Last-Event-ID": after}
        url = f"/conversations/{conversation_id}/turns/{turn_id}/events?wire=answer"
        with self._streaming("GET", url, headers=headers) as reader:
            yield reader

    def resume(self, **body: object) -> httpx.Response:
        """Answer a pause, for JSON."""
        return self.http.post("/chat/resume", json=body)

    def events_url(self, thread_id: str, turn_id: str) -> str:
        return f"/conversations/{thread_id}/turns/{turn_id}/events?tokens=true"

    @contextmanager
    def events(
        self, thread_id: str, turn_id: str, *, after: str | None = None
    ) -> Generator[Reader]:
        """Re-attach to a turn."""
        headers = {} if after is None else {"Last-Event-ID": after}
        url = self.events_url(thread_id, turn_id)
        with self._streaming("GET", url, headers=headers) as reader:
            yield reader

    def turn(self, thread_id: str, turn_id: str) -> dict[str, Any]:
        """Return a turn as the history tells it."""
        return self.http.get(f"/conversations/{thread_id}/turns/{turn_id}").json()

    def paused(self, text: str, **more: object) -> dict[str, Any]:
        """Ask something that pauses; return the answer that says so."""
        body = {"messages": [{"role": "user", "content": text}], **more}
        answer = self.http.post("/chat", json=body).json()
        assert answer["status"].startswith("paused_"), answer
        return answer

    @contextmanager
    def _streaming(
        self,
        method: str,
        url: str,
        *,
        json: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Generator[Reader]:
        accept = {"Accept": "text/event-stream", **(headers or {})}
        with self.http.stream(method, url, json=json, headers=accept) as response:
            if response.status_code != 200:
                response.read()
                raise AssertionError(f"{response.status_code}: {response.text}")
            yield Reader(response)


class Server:
    """The base of both: an address, a directory, and callers with keys."""

    url: str

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.closing = ExitStack()
        self._keys: dict[tuple[str, ...], str] = {}

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)

    def key(self, *scopes: str) -> str:
        """Return a key with these scopes, the same one each time."""
        if scopes not in self._keys:
            self._keys[scopes] = new_key(self.data_dir, *scopes)
        return self._keys[scopes]

    def api(self, *scopes: str, key: str | None = None) -> Api:
        """Return a caller: with ``key``, or with a key that has these scopes."""
        return self._caller(key or self.key(*(scopes or ("chat", "review"))))

    def stranger(self, *scopes: str) -> Api:
        """Return a caller with a key of its own."""
        return self._caller(new_key(self.data_dir, *(scopes or ("chat",))))

    def nobody(self) -> Api:
        """Return a caller without a key."""
        return self._caller(None)

    def _caller(self, key: str | None) -> Api:
        api = Api(self.url, key)
        self.closing.callback(api.http.close)
        return api


class InThread(Server):
    """The application in uvicorn, in a thread of this process."""

    def __init__(self, data_dir: Path, agent: str | None = "stage", **settings: object) -> None:
        super().__init__(data_dir)
        chosen: dict[str, object] = {
            "agent": None if agent is None else _graph(agent),
            "data_dir": data_dir,
            "drain_seconds": 0.2,
            **settings,
        }
        self.settings = read(**chosen)

    def application(self) -> FastAPI:
        """Return what is served."""
        return create(self.settings)

    def __enter__(self) -> Self:
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._server = uvicorn.Server(
            uvicorn.Config(
                self.application(),
                http=BoundedProtocol,
                **socket_options(heartbeat_seconds=self.settings.heartbeat_seconds),
                access_log=False,
                proxy_headers=False,
                log_config=None,
                timeout_graceful_shutdown=1,
            )
        )
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))
        self._thread.start()
        eventually(lambda: self._server.started or not self._thread.is_alive())
        assert self._server.started, "the server did not start"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.close()
        self._server.should_exit = True
        self._thread.join(PATIENCE)
        self._socket.close()
        assert not self._thread.is_alive(), "the server did not stop"


class Process(Server):
    """``turnwire serve`` as a process of its own."""

    def __init__(
        self,
        data_dir: Path,
        agent: str | None = "stage",
        *arguments: str,
        file_bytes: int | None = None,
        variables: Mapping[str, str] | None = None,
        **settings: object,
    ) -> None:
        """Take settings by their names; ``file_bytes`` is how large a file may grow."""
        super().__init__(data_dir)
        self._file_bytes = file_bytes
        self._command = [sys.executable, "-m", "turnwire", "serve", "--port", "0"]
        self._command += ["--data-dir", str(data_dir), *arguments]
        if agent is not None:
            self._command += ["--agent", _graph(agent)]
        named = {f"TURNWIRE_{k.upper()}": str(v) for k, v in settings.items()}
        self._variables = {**named, **(variables or {})}
        self.err: list[str] = []
        self.out: list[str] = []

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            self._command,
            cwd=ROOT,
            env=environment(self._variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=self._limit if self._file_bytes else None,
        )
        self._readers = [
            threading.Thread(target=self._collect, args=(self.process.stdout, self.out)),
            threading.Thread(target=self._collect, args=(self.process.stderr, self.err)),
        ]
        for each in self._readers:
            each.start()
        try:
            self.url = eventually(self._told, within=_START)
            eventually(lambda: httpx.get(f"{self.url}/readyz").status_code == 200)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        for each in self._readers:
            each.join(PATIENCE)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    @property
    def log(self) -> str:
        """Everything that the process wrote."""
        return "".join((*self.out, *self.err))

    def kill(self) -> None:
        """End the process at once, as a crash would."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def terminate(self) -> None:
        """Ask the process to end, as a deploy would."""
        self.process.send_signal(signal.SIGTERM)

    def _limit(self) -> None:
        size = self._file_bytes or resource.RLIM_INFINITY
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def _collect(self, pipe: IO[str], lines: list[str]) -> None:
        lines.extend(iter(pipe.readline, ""))

    def _told(self) -> str | None:
        assert self.process.poll() is None, self.log
        said = re.search(r"listens on (http://\S+)", "".join(self.err))
        return said[1] if said else None


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for a child process that finds turnwire and the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TURNWIRE_")}  # noqa: TID251
    return {**kept, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", **more}
