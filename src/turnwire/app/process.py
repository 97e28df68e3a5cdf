"""What a serving process holds and how it hears that it is to end."""

import asyncio
import fcntl
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from turnwire.engine.supervisor import Supervisor
from turnwire.errors import SetupError


@contextmanager
def alone_in(data_dir: Path) -> Generator[None]:
    """Hold the data directory: a second server would end the turns of the first.

    Raises:
        SetupError: another process serves from it.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    with (data_dir / "serving.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SetupError(
                f"another turnwire serves from {data_dir}; stop it, or choose another --data-dir"
            ) from None
        yield


@contextmanager
def drain_on_signal(supervisor: Supervisor) -> Generator[None]:
    """Begin to drain when the process is told to end, before the server closes its streams.

    A server announces the shutdown to the application only when its open streams have ended,
    which they do when their turns have.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before: dict[int, Any] = {}

    def drain_then(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(supervisor.drain_soon)
        earlier: Callable[[int, FrameType | None], Any] | int | None = before[number]
        if callable(earlier):
            earlier(number, frame)

    for number in (signal.SIGTERM, signal.SIGINT):
        before[number] = signal.getsignal(number)
        signal.signal(number, drain_then)
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
