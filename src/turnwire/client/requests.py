"""What a client sends, as plain values."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final
from urllib.parse import quote

from pydantic import JsonValue

EVENT_STREAM: Final = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Sent:
    """A request, kept as it was sent, so that it can be sent again."""

    method: str
    path: str
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What a client would like of one turn; hints, never authority."""

    locale: str | None = None
    timezone: str | None = None
    """A name of the IANA time zone database."""
    rerank: bool | None = None


def ask(
    message: str, *, conversation_id: str | None, agent: str | None, hints: Hints, key: str
) -> Sent:
    """Return the request that begins a turn; sent again under ``key``, it joins that turn."""
    client = _given(asdict(hints))
    about = _given({"conversation_id": conversation_id, "agent": agent, "client": client or None})
    return _post("/chat/stream", {"message": message, **about}, {"idempotency-key": key})


def confirm(
    conversation_id: str, confirmation_id: str, *, approve: bool, feedback: str | None
) -> Sent:
    """Return the request that answers ``action.confirmation_required``."""
    decided = {
        "conversation_id": conversation_id,
        "confirmation_id": confirmation_id,
        "decision": "approve" if approve else "reject",
    }
    return _post("/chat/confirm", decided | _given({"feedback": feedback}))


def resume(conversation_id: str) -> Sent:
    """Return the request that goes on with a turn after a sign-in."""
    return _post("/chat/resume", {"conversation_id": conversation_id})


def answer(conversation_id: str, answers: Mapping[str, JsonValue]) -> Sent:
    """Return the request that answers a graph's own questions."""
    return _post("/chat/resume", {"conversation_id": conversation_id, "answers": answers})


def cancel(conversation_id: str) -> Sent:
    """Return the request that stops what a conversation does."""
    return Sent("POST", f"/conversations/{_quoted(conversation_id)}/cancel")


def attach(conversation_id: str, message_id: str, *, after: str) -> Sent:
    """Return the request that tells a turn after the event ``after``, or all of it."""
    path = f"/conversations/{_quoted(conversation_id)}/turns/{_quoted(message_id)}/events"
    return Sent("GET", f"{path}?wire=answer", headers={"last-event-id": after} if after else {})


def new_session() -> Sent:
    """Return the request that mints a session."""
    return Sent("POST", "/auth/session")


def login(mobile: str) -> Sent:
    """Return the request that has a one-time code sent."""
    return _post("/auth/login", {"mobile": mobile})


def verify(mobile: str, code: str) -> Sent:
    """Return the request that signs in with the code."""
    return _post("/auth/verify", {"mobile": mobile, "code": code})


def logout() -> Sent:
    """Return the request that signs out."""
    return Sent("POST", "/auth/logout")


def signed() -> Sent:
    """Return the request that asks whether the session is signed in."""
    return Sent("GET", "/auth/session")


def _post(path: str, body: Mapping[str, object], headers: Mapping[str, str] | None = None) -> Sent:
    typed = {"content-type": "application/json", **(headers or {})}
    return Sent("POST", path, json.dumps(body).encode(), typed)


def _given(values: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}


def _quoted(name: str) -> str:
    return quote(name, safe="")
