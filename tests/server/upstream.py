"""A call centre over HTTP that counts what it really did, and answers as it is told to."""

import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class Upstream:
    """Books calls. How it answers is said by the reason's first word.

    ``paced``: after 0.05 s. ``slow``: after 0.5 s. ``500``: nothing is booked. ``500-after``: it is
    booked, and an error is answered. ``silent``: it is booked, and nothing is answered for 3 s.
    ``once-silent``: so at the first time only. A key that is known gets its first answer again
    and books nothing.
    """

    def __init__(self) -> None:
        self.booked: list[str] = []
        """The reasons of all calls that were booked."""
        self.asked: Counter[str] = Counter()
        """Requests by their idempotency key."""
        self._known: dict[str, dict[str, str]] = {}
        self._lock = threading.Lock()
        self.arrived = threading.Event()

    def __enter__(self) -> Self:
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, told = upstream.book(body["reason"], self.headers["Idempotency-Key"])
                data = json.dumps(told).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:  # whoever asked is dead
                    self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def book(self, reason: str, key: str) -> tuple[int, dict[str, str]]:
        """Return the status and the body of one request."""
        how = reason.split()[0]
        with self._lock:
            self.asked[key] += 1
            first = self.asked[key] == 1
            if key not in self._known and how != "500":
                self.booked.append(reason)
                self._known[key] = {"callback_id": f"cb_{len(self.booked)}"}
        self.arrived.set()
        if how == "paced":
            time.sleep(0.05)
        if how == "slow":
            time.sleep(0.5)
        if how == "silent" or (how == "once-silent" and first):
            time.sleep(3)
        if how.startswith("500"):
            return 500, {"error": "CANARY-upstream"}
        return 201, self._known[key]
