"""What is wrong with an answer, whatever was asked."""

import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from tests.faults.generating.application import Answered, Sent

_WITHOUT_ENVELOPE = (499,)
"""Nobody reads the answer to a request whose client has left."""


def wrong(sent: Sent, answered: Answered, document: Mapping[str, Any]) -> Iterator[str]:
    """Yield everything that no answer may be."""
    status = answered.status
    if status >= 500 or status < 200:
        yield f"status {status}"
    if status >= 400 and status not in _WITHOUT_ENVELOPE and sent.method != "HEAD":
        yield from _no_envelope(answered)
    route = route_of(sent, document)
    known: Mapping[str, Any] = document["paths"].get(route, {}).get(sent.method.lower(), {})
    if route is None:
        if status in (200, 204) and not _is_pages(sent):
            yield "a route that is not described answers"
    elif str(status) not in known["responses"] and status not in _WITHOUT_ENVELOPE:
        yield f"status {status} is not described"
    if answered.headers.get("content-type", "").startswith("text/event-stream"):
        yield from _no_ending(sent, answered)


def refused(answered: Answered) -> bool:
    """Whether nothing may have been stored: a turn that failed after it was admitted is named."""
    return answered.status >= 400 and b'"turn_id"' not in answered.body


def _no_envelope(answered: Answered) -> Iterator[str]:
    try:
        error = answered.json()["error"]
        told = (error["code"], error["message"], error["retryable"], error["request_id"])
    except (ValueError, KeyError, TypeError):
        yield f"{answered.status} is not in the envelope"
        return
    if not all(
        isinstance(each, kind) and each != "" for each, kind in zip(told, _KINDS, strict=True)
    ):
        yield f"the envelope of {answered.status} lacks something"
    if error["request_id"] != answered.headers.get("x-request-id"):
        yield "the envelope names another request"
    if answered.status == 429 and "retry-after" not in answered.headers:
        yield "429 without Retry-After"


_KINDS = (str, str, bool, str)


def _no_ending(sent: Sent, answered: Answered) -> Iterator[str]:
    """Yield what is wrong where a run does not end, or where anything but another run follows."""
    names = re.findall(r"^event: (\S+)$", answered.body.decode(), re.M)
    for name, following in zip_longest(names, names[1:]):
        may_end = following is None or following == "graph_topology"
        if (name in _ENDINGS) is not may_end:
            yield f"{name} is followed by {following}"
    heard = b"after=" in sent.target or b"last-event-id" in {k.lower() for k, _ in sent.headers}
    if not names and not heard:  # who has heard a turn's last event is told nothing more
        yield "a stream of nothing"
    if "error" in names and b"answer_replaced" not in answered.body:
        yield "a stream that failed"


_ENDINGS = ("message.completed", "turn_completed", "paused", "error")


def route_of(sent: Sent, document: Mapping[str, Any]) -> str | None:
    """Return the described path that is called, or none."""
    path, method = sent.target.partition(b"?")[0].decode(), sent.method.lower()
    if path in document["paths"]:
        return path if method in document["paths"][path] else None
    for template, methods in document["paths"].items():
        form = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
        if method in methods and re.fullmatch(form, path):
            return template
    return None


def _is_pages(sent: Sent) -> bool:
    path = sent.target.partition(b"?")[0]
    return path in (b"/", b"/openapi.json") or re.fullmatch(rb"/[\w.-]+\.\w+", path) is not None
