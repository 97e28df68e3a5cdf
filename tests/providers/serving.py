"""The demo provider on this machine, in a thread: real HTTP, with every fault of a stream."""

import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, Self

import uvicorn

from turnwire.models.demo.dialects import OpenAI
from turnwire.models.demo.faults import CUT, HANG, Ask, Reply, Step
from turnwire.models.demo.server import MODEL, DemoProvider, Script

__all__ = ["CUT", "DONE", "HANG", "Provider", "answer", "delta", "stopped"]

DONE: Final = b"data: [DONE]\n\n"
_OPENAI: Final = OpenAI()


def delta(text: str) -> bytes:
    """Return one chunk of a chat completion, its characters raw."""
    return b"".join(_OPENAI.words([text]))


def stopped(reason: str = "stop") -> bytes:
    """Return the chunk that ends an answer, and the usage that follows it."""
    return b"".join(_OPENAI.ending(reason, 3)[:-1])


def answer(*texts: str) -> bytes:
    """Return a whole answer as the bytes of its stream."""
    return b"".join((*map(delta, texts), stopped(), DONE))


class Provider:
    """Plays ``steps``, or the next of ``faults``; a model ``demo-FAULT`` has that fault."""

    def __init__(self) -> None:
        self.app = DemoProvider(self._reply)
        self.url = ""
        """With OpenAI's ``/v1``."""
        self.reset()

    def reset(self) -> None:
        """Answer well again, and forget what was."""
        self.steps: Sequence[Step] = (answer("hello"),)
        self.status = 200
        self.content_type = "text/event-stream"
        self.headers: Mapping[str, str] = {}
        self.faults: list[str] = []
        """What the next requests get; the last one stays."""
        self.requests.clear()
        self.app.left = 0
        self.app.reply = self._reply

    @property
    def requests(self) -> list[dict[str, Any]]:
        return self.app.requests

    @property
    def open(self) -> int:
        return self.app.open

    @property
    def left(self) -> int:
        return self.app.left

    def _reply(self, ask: Ask) -> Reply:
        # A client's idle connection would outlive the event loop of the test that opened it.
        closing = {"connection": "close"}
        if self.faults or ask.model.startswith(MODEL):
            reply = Script(self._next_faults())(ask)
            return replace(reply, headers={**reply.headers, **closing})
        headers = {"content-type": self.content_type, **self.headers, **closing}
        return Reply(self.steps, self.status, headers)

    def _next_faults(self) -> list[str]:
        return [self.faults.pop(0)] if len(self.faults) > 1 else [*self.faults, "ok"][:1]

    def __enter__(self) -> Self:
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        host, port = self._socket.getsockname()
        self.url = f"http://{host}:{port}/v1"
        config = uvicorn.Config(self.app, lifespan="off", log_config=None, log_level="critical")
        config.timeout_graceful_shutdown = 1
        self._socket.listen()
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        self._socket.close()
        assert not self._thread.is_alive(), "the provider did not stop"
