"""A Redis of one's own: on a free port, in a directory of its own, and killed when one likes."""

import socket
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.needs import redis
from tests.server.running import PATIENCE, eventually


class RedisServer:
    """``redis-server`` as a process; ``stop`` and ``start`` may alternate."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        path = redis()
        assert path is not None, "python -m tests.needs says what to run"
        quiet = ("--save", "", "--appendonly", "no", "--bind", "127.0.0.1")
        self._process = subprocess.Popen(
            [path, "--port", str(self.port), *quiet],
            cwd=self._directory,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        eventually(self._answers)

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)
            self._process = None

    def _answers(self) -> bool:
        try:
            return self.say("PING").startswith("+PONG")
        except OSError:
            return False

    def say(self, *words: str) -> str:
        """Send a command; return the answer as Redis writes it (RESP2)."""
        command = f"*{len(words)}\r\n" + "".join(f"${len(each)}\r\n{each}\r\n" for each in words)
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(command.encode())
            return connection.recv(65_536).decode()
