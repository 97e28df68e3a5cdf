"""A stand-in for `turnwire serve`: the page's files, and turns that go by a script.

A word in the question picks the script (`SCRIPTS`). Speaks HTTP/1.1 with chunked bodies, so that
a cut stream is a real network error for the browser.
"""

import html
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, TypeAlias

WEB: Final = Path(__file__).parents[2] / "src" / "turnwire" / "web"
TYPES: Final = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
# Stricter than the server's own: with Trusted Types, every use of innerHTML is an error.
POLICY: Final = (
    "default-src 'self'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'"
)
# An error throws away what the browser has not handed to the page yet.
CUT_SECONDS: Final = 0.3
PATIENCE_SECONDS = 10.0
ATTACK: Final = '<img src=x onerror="document.title=1"><script>document.title=2</script> **bold**'

Json: TypeAlias = dict[str, Any]
Frame: TypeAlias = tuple[str, Json]

NODES: Final = [
    ("__start__", "start", False),
    ("intake", "node", False),
    ("guardrail_pre", "guardrail", False),
    ("retrieve_context", "retrieval", True),
    ("generate_response", "model", False),
    ("review_response", "review", False),
    ("guardrail_post", "guardrail", False),
    ("closing", "node", False),
    ("__end__", "end", False),
]
EDGES: Final = [
    ("__start__", "intake", False),
    ("intake", "guardrail_pre", False),
    ("guardrail_pre", "retrieve_context", True),
    ("guardrail_pre", "generate_response", True),
    ("retrieve_context", "generate_response", False),
    ("generate_response", "review_response", False),
    ("review_response", "guardrail_post", False),
    ("guardrail_post", "closing", False),
    ("closing", "__end__", False),
]
DRAWN: Final[Json] = {
    "nodes": [{"id": i, "kind": k, "conditional": c} for i, k, c in NODES],
    "edges": [{"source": s, "target": t, "conditional": c} for s, t, c in EDGES],
}
DURATIONS: Final = {"retrieve_context": 38, "generate_response": 1284, "guardrail_pre": 6}
CITATIONS: Final = [
    {
        "marker": 1,
        "id": "psg_1",
        "title": "Fever in adults",
        "document_id": "doc_fever",
        "snippet": "A temperature of 38 °C or more counts as a fever. Drink plenty of fluids, "
        "rest, and keep lightly dressed.",
    },
    {
        "marker": 2,
        "id": "psg_2",
        "title": "When to call a doctor",
        "document_id": "doc_call",
        "snippet": "Call if the fever lasts more than three days, or if breathing is difficult.",
    },
]
ANSWER: Final = (
    "In adults, a temperature of **38 °C or more** counts as a fever [1]. Most fevers pass by "
    "themselves within a few days.\n\nWhat helps:\n\n- drink plenty of water or tea\n"
    "- rest, and keep *lightly* dressed\n- take your temperature twice a day\n\n"
    "Call a doctor if it lasts longer than three days or breathing is difficult [2]. [7] is no "
    "source."
)
DRAFT: Final = (
    "Do not stop a prescribed medicine on your own. Some medicines have to be reduced in steps. "
    "Talk to your doctor or pharmacist first [1]."
)
NO_COST: Final[dict[str, Any]] = {
    "model": "none",
    "tokens_in": 0,
    "tokens_out": 0,
    "llm_latency_ms": 0,
    "usd": 0,
}
REJECTED: Final = "A reviewer held this answer back. Please ask your doctor."


@dataclass
class Turn:
    """What the server knows of one turn."""

    turn_id: str
    conversation_id: str
    question: str
    locale: str
    log: list[Frame] = field(default_factory=list[Frame])
    is_signed_in: bool = False
    answers: list[str] = field(default_factory=list[str])
    """The confirmations that were answered."""
    cut_after: int | None = None
    """Break the first connection after so many frames."""
    cancelled: threading.Event = field(default_factory=threading.Event)
    drawn: Json = field(default_factory=lambda: DRAWN)

    def say(self, event: str, **data: Any) -> Frame:  # noqa: ANN401 - any JSON
        self.log.append((event, data))
        return event, data

    def topology(self, *, resumed: bool = False) -> Frame:
        return self.say(
            "graph_topology",
            thread_id=self.conversation_id,
            turn_id=self.turn_id,
            run_id="run_1",
            agent="leaflets",
            model="demo-writer-1",
            locale=self.locale,
            resumed=resumed,
            **self.drawn,
            flags={"rag": True, "hitl": True, "judge": False},
        )

    def start(self, node: str) -> Frame:
        return self.say("node_started", node=node, run_id="run_1", ts_ms=1_700_000_000_000)

    def end(self, node: str, status: str = "executed") -> Frame:
        ms = 0 if status == "skipped" else DURATIONS.get(node, 2)
        return self.say("node_completed", node=node, status=status, duration_ms=ms)

    def pass_through(self, *nodes: str) -> Iterator[Frame]:
        for node in nodes:
            yield self.start(node)
            yield self.end(node)

    def speak(self, text: str) -> Iterator[Frame]:
        for start in range(0, len(text), 7):
            yield self.say("token", text=text[start : start + 7])

    def complete(self, content: str, **changes: Any) -> Frame:  # noqa: ANN401 - any JSON
        cited = [c for c in CITATIONS if f"[{c['marker']}]" in content]
        decisions = [decided("input_validation"), decided("pii"), decided("scope_rules")]
        decisions.append(decided("missing_citation", stage="post"))
        cost = {"model": "demo-writer-1", "tokens_in": 1812, "tokens_out": 143}
        response = {
            "thread_id": self.conversation_id,
            "turn_id": self.turn_id,
            "trace_id": "trc_1",
            "agent": "leaflets",
            "status": "complete",
            "content": content,
            "citations": cited,
            "guardrail_decisions": decisions,
            "cost": {**cost, "llm_latency_ms": 1284, "usd": 0.0021},
            "finish_reason": "stop",
            "locale": self.locale,
        }
        return self.say("turn_completed", **{**response, **changes})

    def finish(self, content: str, **changes: Any) -> Iterator[Frame]:  # noqa: ANN401 - any JSON
        yield from self.pass_through("review_response", "guardrail_post", "closing")
        yield self.complete(content, **changes)


def decided(check: str, outcome: str = "pass", *, stage: str = "pre", reason: str = "") -> Json:
    return {
        "stage": stage,
        "check": check,
        "outcome": outcome,
        "reason": reason or None,
        "duration_ms": 1,
    }


def opened(turn: Turn) -> Iterator[Frame]:
    yield turn.topology()
    yield from turn.pass_through("intake", "guardrail_pre", "retrieve_context")
    yield turn.start("generate_response")


def answered(turn: Turn) -> Iterator[Frame]:
    yield from opened(turn)
    yield from turn.speak(ANSWER)
    yield turn.end("generate_response")
    yield from turn.finish(ANSWER)


def attacked(turn: Turn) -> Iterator[Frame]:
    yield from opened(turn)
    yield from turn.speak(ATTACK)
    yield turn.end("generate_response")
    yield from turn.finish(ATTACK)


def skipped(turn: Turn) -> Iterator[Frame]:
    yield turn.topology()
    yield from turn.pass_through("intake", "guardrail_pre")
    yield turn.end("retrieve_context", "skipped")
    yield from turn.pass_through("generate_response")
    refused = decided("scope_rules", "refuse", reason="off_topic")
    yield from turn.finish(
        "I can only answer questions about the health leaflets.",
        finish_reason="refused",
        guardrail_decisions=[decided("input_validation"), refused],
        cost=NO_COST,
    )


def escalated(turn: Turn) -> Iterator[Frame]:
    yield turn.topology()
    yield from turn.pass_through("intake", "guardrail_pre", "generate_response")
    yield from turn.finish(
        "Call your local emergency number now.",
        finish_reason="escalated",
        guardrail_decisions=[decided("escalation", "escalate", reason="acute_chest_pain")],
        cost=NO_COST,
    )


def reviewed(turn: Turn) -> Iterator[Frame]:
    yield from opened(turn)
    yield from turn.speak(DRAFT)
    yield turn.end("generate_response")
    yield turn.start("review_response")
    yield turn.say(
        "paused",
        thread_id=turn.conversation_id,
        turn_id=turn.turn_id,
        status="paused_for_review",
        review=review_of(turn),
        pauses=[
            {
                "pause_id": "pau_1",
                "kind": "review",
                "payload": {},
                "response_schema": None,
                "expires_at": None,
            }
        ],
        draft=DRAFT,
    )


def review_of(turn: Turn) -> Json:
    return {
        "review_id": f"rev_{turn.turn_id}",
        "thread_id": turn.conversation_id,
        "turn_id": turn.turn_id,
        "reasons": ["medication_change"],
        "question": turn.question,
        "draft": DRAFT,
        "citations": CITATIONS[:1],
        "requested_at": "2026-03-02T09:30:00Z",
        "expires_at": "2026-03-03T09:30:00Z",
    }


def asked_for_input(turn: Turn) -> Iterator[Frame]:
    yield from opened(turn)
    pause = {
        "pause_id": "pau_in",
        "kind": "input",
        "payload": {"question": "How old is the patient?", "unit": "years"},
        "response_schema": {"type": "integer"},
        "expires_at": None,
    }
    yield turn.say(
        "paused",
        thread_id=turn.conversation_id,
        turn_id=turn.turn_id,
        status="paused_for_input",
        pauses=[pause],
        draft="",
    )


def signed_in_first(turn: Turn) -> Iterator[Frame]:
    yield from opened(turn)
    yield from turn.speak("Please sign in.")
    yield waiting(turn, "sign_in", pause("pse_1", "sign_in", message="Please sign in."))


def sign_in_lacked(turn: Turn) -> Iterator[Frame]:
    if turn.is_signed_in:
        yield from answered(turn)
        return
    yield from opened(turn)
    yield from turn.finish("Only for members.", finish_reason="sign_in_required", cost=NO_COST)


def confirmed(turn: Turn) -> Iterator[Frame]:
    """Two actions at once."""
    yield from opened(turn)
    yield waiting(turn, "confirmation", *ACTIONS)


def waiting(turn: Turn, kind: str, *pauses: Json) -> Frame:
    return turn.say(
        "paused",
        thread_id=turn.conversation_id,
        turn_id=turn.turn_id,
        status=f"paused_for_{kind}",
        pauses=list(pauses),
        draft="",
    )


def pause(pause_id: str, kind: str, **payload: Any) -> Json:  # noqa: ANN401 - any JSON
    asked = {"requested_at": "2026-03-02T09:30:00Z", "expires_at": "2026-03-02T09:40:00Z"}
    return {"pause_id": pause_id, "kind": kind, "payload": payload, **asked}


ACTIONS: Final = [
    pause(
        "cnf_1",
        "confirmation",
        name="request_callback",
        summary="Ask an adviser to call you back",
        arguments_preview={"reason": ATTACK, "preferred_time": "tomorrow"},
        risk="send",
    ),
    pause(
        "cnf_2",
        "confirmation",
        name="change_address",
        summary="Change your address",
        arguments_preview={"line1": "12 High Street", "flat": 3},
        risk="write",
    ),
]


def held(turn: Turn) -> Iterator[Frame]:
    yield from opened(turn)
    yield from turn.speak("This takes a while")
    turn.cancelled.wait(timeout=20)
    yield turn.complete(
        "This takes a while", finish_reason="cancelled", cost=NO_COST, guardrail_decisions=[]
    )


def failed(turn: Turn) -> Iterator[Frame]:
    yield from opened(turn)
    yield turn.say(
        "error",
        code="upstream_timeout",
        message="The model did not answer in time.",
        retryable=True,
        error_id="err_42",
    )


def rewritten(turn: Turn) -> Iterator[Frame]:
    yield from opened(turn)
    yield from turn.speak("The first words")
    yield turn.end("generate_response")
    yield turn.say("text_replaced", text="The better words", reason="persona_stability")
    yield from turn.finish("The better words")


SCRIPTS: Final = {
    "markup": attacked,
    "football": skipped,
    "chest": escalated,
    "medicine": reviewed,
    "medicamento": reviewed,
    "age": asked_for_input,
    "slow": held,
    "timeout": failed,
    "rewrite": rewritten,
    "allowance": signed_in_first,
    "member only": sign_in_lacked,
    "call me": confirmed,
}
CODE: Final = "123456"


class FakeServer(ThreadingHTTPServer):
    """Listens on a free port of 127.0.0.1; `requests` has every API call that came in."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answerer)
        self.turns: dict[str, Turn] = {}
        self.keys: dict[str, Turn] = {}
        self.requests: list[tuple[str, str, dict[str, str], Json]] = []
        self.agents = [{"slug": "guarded", "title": "Health information", "description": ""}]
        self.is_signed_in = True
        self.sessions: dict[str, bool] = {}
        """Whether each is signed in."""
        self.facts = "{}"
        self.drawn = DRAWN
        """Nodes and edges of the agent's graph."""
        self.are_events_open = True
        self.may_attach = threading.Event()
        """Until then, who attaches again waits."""
        self.may_attach.set()
        self.numbers = itertools.count(1)
        self.queue: list[Json] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def of_conversation(self, conversation_id: str) -> list[Turn]:
        return [t for t in self.turns.values() if t.conversation_id == conversation_id]


class Answerer(BaseHTTPRequestHandler):
    """One request; GET and POST as the contract has them."""

    protocol_version = "HTTP/1.1"

    @property
    def fake(self) -> FakeServer:
        assert isinstance(self.server, FakeServer)
        return self.server

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the tests look at `requests`."""

    def do_GET(self) -> None:
        path, _, _ = self.path.partition("?")
        name = "index.html" if path == "/" else path.removeprefix("/")
        if (WEB / name).is_file():
            return self._file(WEB / name)
        return self._api(path, {})

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        path, _, _ = self.path.partition("?")
        return self._api(path, body)

    def _api(self, path: str, body: Json) -> None:
        self.fake.requests.append((self.command, self.path, dict(self.headers), body))
        if not self.fake.is_signed_in:
            return self._refuse(401, "session_required", "Sign in first.")
        parts = path.strip("/").split("/")
        if parts[0] == "auth":
            return self._auth(path, body)
        if parts[0] == "chat":
            return self._turn(parts[1:], body)
        match [self.command, *path.strip("/").split("/")]:
            case ["GET", "agents"]:
                return self._json(200, {"agents": self.fake.agents})
            case ["GET", "reviews"]:
                return self._json(200, {"reviews": self.fake.queue})
            case _:
                return self._conversation(path)

    def _turn(self, named: list[str], body: Json) -> None:
        if named == ["confirm"]:
            return self._answered(body, lambda turn: decided_on(turn, body))
        if "conversation_id" in body:
            return self._answered(body, lambda turn: went_on(turn, "You have 5 left."))
        return self._resume(body) if named else self._chat(body)

    def _auth(self, path: str, body: Json) -> None:
        session = self.headers.get("X-Turnwire-Session")
        if (self.command, path) == ("POST", "/auth/session"):
            session = f"ses_{len(self.fake.sessions) + 1}"
            self.fake.sessions[session] = False
            return self._json(200, {"session_id": session})
        if session not in self.fake.sessions:
            return self._refuse(401, "session_required", "A session is needed.")
        if path == "/auth/login":
            if "+" not in body["mobile"]:
                return self._refuse(422, "validation_error", "The request is not valid.")
            return self._json(202, {"expires_in": 300.0})
        if path == "/auth/verify" and body["code"] != CODE:
            return self._refuse(401, "invalid_code", "The code is not valid.")
        if path != "/auth/session":
            self.fake.sessions[session] = path == "/auth/verify"
        return self._json(200, {"signed_in": self.fake.sessions[session]})

    def _answered(self, body: Json, going_on: Callable[[Turn], Iterator[Frame]]) -> None:
        """Go on with a turn; it is told where the page attaches to it."""
        turn = self.fake.of_conversation(str(body["conversation_id"]))[-1]
        if not self.fake.sessions.get(self.headers.get("X-Turnwire-Session") or ""):
            return self._refuse(403, "resume_unavailable", "This cannot be gone on with.")
        list(going_on(turn))
        return self._stream(turn, iter(()), len(turn.log))

    def _conversation(self, path: str) -> None:
        match [self.command, *path.strip("/").split("/")]:
            case ["GET", "conversations", conversation_id]:
                return self._history(conversation_id)
            case ["POST", "conversations", conversation_id, "cancel"]:
                for turn in self.fake.of_conversation(conversation_id):
                    turn.cancelled.set()
                return self._json(202, {})
            case ["GET", "conversations", _, "turns", turn_id, "events"]:
                if not self.fake.are_events_open:
                    return self._refuse(404, "not_found", "There is no such turn.")
                self.fake.may_attach.wait(PATIENCE_SECONDS)
                turn = self.fake.turns[turn_id]
                after = int((self.headers.get("Last-Event-ID") or ".0").rpartition(".")[2])
                return self._stream(turn, iter(turn.log[after:]), after)
            case _:
                return self._refuse(404, "not_found", "There is no such thing.")

    def _chat(self, body: Json) -> None:
        question = str(body["messages"][-1]["content"])
        if "forbidden" in question:
            return self._refuse(422, "validation_error", "The message is not allowed.")
        key = self.headers["Idempotency-Key"]
        if key in self.fake.keys:
            turn = self.fake.keys[key]
            return self._stream(turn, iter(turn.log), 0)
        number = next(self.fake.numbers)
        turn = self.fake.keys[key] = Turn(
            turn_id=f"trn_{number}",
            conversation_id=str(body.get("thread_id") or f"conv_{number}"),
            question=question,
            locale=str(body["locale"]),
            is_signed_in=self.fake.sessions[self.headers["X-Turnwire-Session"]],
            drawn=self.fake.drawn,
        )
        self.fake.turns[turn.turn_id] = turn
        script = next((s for word, s in SCRIPTS.items() if word in question), answered)
        if script is reviewed:
            self.fake.queue.append(review_of(turn))
        frames: Iterator[Frame] = script(turn)
        if "break" in question:
            frames = iter(list(frames))
            turn.cut_after = 1 if "at once" in question else 12
        return self._stream(turn, frames, 0)

    def _resume(self, body: Json) -> None:
        turn = self.fake.of_conversation(str(body["thread_id"]))[-1]
        self.fake.queue = [
            review for review in self.fake.queue if review["thread_id"] != turn.conversation_id
        ]
        return self._stream(turn, resumed(turn, body), len(turn.log))

    def _history(self, conversation_id: str) -> None:
        turns = self.fake.of_conversation(conversation_id)
        if not turns:
            return self._refuse(404, "not_found", "There is no such conversation.")
        told = [
            {
                "turn_id": turn.turn_id,
                "question": turn.question,
                "content": turn.log[-1][1].get("content", ""),
                "finish_reason": turn.log[-1][1].get("finish_reason"),
                "status": "completed",
                "citations": turn.log[-1][1].get("citations", []),
            }
            for turn in turns
        ]
        body = {"conversation_id": conversation_id, "agent": "leaflets", "turns": told}
        return self._json(200, body)

    def _stream(self, turn: Turn, frames: Iterator[Frame], after: int) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Cache-Control", "no-cache, no-transform")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._chunk(": keep-alive\n\n")
        for number, (event, data) in enumerate(frames, after + 1):
            if turn.cut_after == number - after:
                turn.cut_after = None
                time.sleep(CUT_SECONDS)
                self.close_connection = True
                return
            text = json.dumps(data, ensure_ascii=False)
            self._chunk(f"id: {turn.turn_id}.{number}\nevent: {event}\ndata: {text}\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, text: str) -> None:
        body = text.encode()
        self.wfile.write(f"{len(body):x}\r\n".encode() + body + b"\r\n")
        self.wfile.flush()

    def _refuse(self, status: int, code: str, message: str) -> None:
        error = {"code": code, "message": message, "retryable": False, "request_id": "req_1"}
        self._json(status, {"error": error})

    def _json(self, status: int, value: Json) -> None:
        self._send(status, "application/json", json.dumps(value).encode())

    def _file(self, path: Path) -> None:
        kind = TYPES.get(path.suffix, "image/svg+xml")
        facts = f'<meta name="turnwire" content="{html.escape(self.fake.facts)}">'
        content = path.read_bytes().replace(b'<meta name="turnwire" content="{}">', facts.encode())
        self._send(200, f"{kind}; charset=utf-8", content)

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)


def went_on(turn: Turn, content: str) -> Iterator[Frame]:
    yield turn.topology(resumed=True)
    yield from turn.speak(content)
    yield turn.complete(content)


def decided_on(turn: Turn, body: Json) -> Iterator[Frame]:
    turn.answers.append(body["confirmation_id"])
    left = [each for each in ACTIONS if each["pause_id"] not in turn.answers]
    if not left:
        yield from went_on(turn, "Both were decided.")
        return
    yield turn.topology(resumed=True)
    yield waiting(turn, "confirmation", *left)


def resumed(turn: Turn, body: Json) -> Iterator[Frame]:
    yield turn.topology(resumed=True)
    if "answers" in body:
        yield from turn.pass_through("generate_response")
        yield from turn.finish(f"Noted: {json.dumps(body['answers'])}")
        return
    decision = str(body["decision"])
    content = {"approve": DRAFT, "edit": str(body.get("edited_text")), "reject": REJECTED}[decision]
    yield turn.start("review_response")
    if decision != "approve":
        yield turn.say("text_replaced", text=content, reason=f"reviewer_{decision}")
    yield turn.end("review_response")
    yield from turn.pass_through("guardrail_post", "closing")
    verdict = decided("hitl_review", decision, stage="review", reason="medication_change")
    yield turn.complete(
        content,
        guardrail_decisions=[verdict],
        human_wait_ms=95_000,
        finish_reason="refused" if decision == "reject" else "stop",
    )
