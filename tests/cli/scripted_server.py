"""A server that says what a test wrote, frame by frame, and remembers what it was asked."""

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

THREAD, TURN = "conv_1", "trn_1"
EVENTS = f"/conversations/{THREAD}/turns/{TURN}/events"


@dataclass(frozen=True)
class Reply:
    """An answer; ``cut`` breaks off in the middle of the body, ``then`` is called at its end."""

    body: bytes
    status: int = 200
    content_type: str = "text/event-stream; charset=utf-8"
    cut: bool = False
    then: Callable[[], object] | None = None


@dataclass(frozen=True)
class Seen:
    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: Any


def frame(number: int, name: str, body: dict[str, Any]) -> bytes:
    return f"id: {TURN}.{number}\nevent: {name}\ndata: {json.dumps(body)}\n\n".encode()


def stream(*frames: bytes, cut: bool = False, then: Callable[[], object] | None = None) -> Reply:
    return Reply(b"".join(frames), cut=cut, then=then)


def as_json(body: object, status: int = 200) -> Reply:
    return Reply(json.dumps(body).encode(), status, "application/json")


def refusal(status: int, code: str, message: str) -> Reply:
    return as_json({"error": {"code": code, "message": message, "retryable": False}}, status)


def topology(number: int = 1) -> bytes:
    return frame(number, "graph_topology", {"thread_id": THREAD, "turn_id": TURN, "agent": "a"})


def token(number: int, text: str) -> bytes:
    return frame(number, "token", {"text": text})


def response(content: str, **more: object) -> dict[str, Any]:
    about = {"thread_id": THREAD, "turn_id": TURN, "status": "complete", "content": content}
    return {**about, "finish_reason": "stop", "citations": [], "guardrail_decisions": [], **more}


def completed(number: int, content: str, **more: object) -> bytes:
    return frame(number, "turn_completed", response(content, **more))


def paused_for_review(number: int, draft: str) -> bytes:
    review = {"review_id": "rev_1", "reasons": ["dosage"], "draft": draft, "citations": []}
    where = {"thread_id": THREAD, "turn_id": TURN, "draft": draft}
    return frame(number, "paused", {**where, "review": review, "pauses": [{"kind": "review"}]})


def paused_for_input(number: int, payload: object) -> bytes:
    pause = {"pause_id": "pse_1", "kind": "input", "payload": payload}
    where = {"thread_id": THREAD, "turn_id": TURN, "draft": ""}
    return frame(number, "paused", {**where, "pauses": [pause]})


@dataclass
class ScriptedServer:
    """Answers each path with its replies in their order; the last one again and again."""

    replies: dict[str, list[Reply]] = field(default_factory=dict[str, list[Reply]])
    seen: list[Seen] = field(default_factory=list[Seen])

    def __post_init__(self) -> None:
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.script = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def say(self, path: str, *replies: Reply) -> None:
        self.replies[path] = list(replies)

    def asked(self, path: str) -> Sequence[Seen]:
        return [each for each in self.seen if each.path == path]

    def __enter__(self) -> "ScriptedServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    script: ScriptedServer
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that leaves is no error."""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _answer(self) -> None:
        assert isinstance(self.server, _Http)
        script = self.server.script
        url = urlsplit(self.path)
        sent = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = json.loads(sent) if sent else None
        script.seen.append(Seen(str(self.command), url.path, url.query, headers, body))
        replies = script.replies.get(url.path, [refusal(404, "not_found", "Nothing here.")])
        self._send(replies.pop(0) if len(replies) > 1 else replies[0])

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        if reply.cut:
            self.send_header("Content-Length", str(len(reply.body) + 1))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)
        self.wfile.flush()
        if reply.then is not None:
            reply.then()
