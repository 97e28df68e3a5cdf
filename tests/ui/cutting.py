"""A proxy that cuts the streams that run through it, each connection as it was told to."""

import socket
import struct
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Self

_PIECE: Final = 4096


@dataclass(frozen=True, slots=True)
class Cut:
    """What becomes of one connection after so many bytes of its answer."""

    after: int
    by: str = "reset"
    """``reset``, ``close``, or ``silence``, which leaves it open and passes nothing on."""


class CuttingProxy:
    """Stands before a server; connections beyond the given cuts are left alone."""

    def __init__(self, target: tuple[str, int], *cuts: Cut) -> None:
        self._target = target
        self._cuts = deque(cuts)
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self.requests: list[str] = []
        """The first line of each request, and its ``Last-Event-ID``."""
        self.done = 0
        """How many connections were cut."""

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._threads:
            each.join(10)
            assert not each.is_alive()

    def _start(self, target: object, *arguments: object) -> None:
        assert callable(target)
        thread = threading.Thread(target=target, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while not self._over.is_set():
                client, _ = self._listener.accept()
                self._start(self._connected, client)

    def _connected(self, client: socket.socket) -> None:
        cut = self._cuts.popleft() if self._cuts else None
        with client, socket.create_connection(self._target) as server:
            self._start(self._requests, client, server)
            with suppress(OSError):
                self._answers(client, server, cut)
            for each in (client, server):
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while got := client.recv(_PIECE):
                self._note(got)
                server.sendall(got)
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)

    def _note(self, got: bytes) -> None:
        head = got.decode("latin-1").split("\r\n")
        if " HTTP/1.1" in head[0]:
            after = [each for each in head if each.lower().startswith("last-event-id:")]
            self.requests.append(" ".join([head[0].removesuffix(" HTTP/1.1"), *after]))

    def _answers(self, client: socket.socket, server: socket.socket, cut: Cut | None) -> None:
        passed = 0
        while got := server.recv(_PIECE):
            if cut is None or passed + len(got) <= cut.after:
                client.sendall(got)
                passed += len(got)
                continue
            client.sendall(got[: cut.after - passed])
            self.done += 1
            if cut.by == "silence":
                self._over.wait(20)
            elif cut.by == "reset":
                linger = struct.pack("ii", 1, 0)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                client.close()
            return
