"""A turn as lines in a terminal: the answer on stdout, what is said about it on stderr."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from turnwire.cli.output import STDOUT, literal, note
from turnwire.cli.reattach import Frame

_REWRITTEN: Final[Mapping[str, str]] = {
    "final_message": "the agent replaced what it had said",
    "reviewer_edit": "a reviewer changed the answer",
    "reviewer_reject": "a reviewer declined the answer",
}


class Lines:
    """Writes an answer as it comes, and begins a new line before anything else."""

    def __init__(self) -> None:
        self._in_line = False

    def say(self, text: str) -> None:
        """Write the next words of the answer."""
        if text:
            STDOUT.print(literal(text), end="")
            self._in_line = not text.endswith("\n")

    def break_line(self) -> None:
        """Begin a new line where the answer's has not ended."""
        if self._in_line:
            STDOUT.print()
        self._in_line = False


class Transcript(Lines):
    """Writes one turn, across its runs, frame by frame."""

    def __init__(self, *, nodes: bool) -> None:
        super().__init__()
        self._nodes = nodes
        self._said = ""
        """The answer as it was written so far."""
        self._draft = ""
        """What a reviewer was shown beside it."""

    def show(self, frame: Frame) -> None:
        """Write what the frame says; frames that this client does not know are passed over."""
        body = frame.body
        match frame.name:
            case "token":
                self.say(str(body.get("text", "")))
            case "text_replaced":
                self._replace(str(body.get("text", "")), str(body.get("reason", "")))
            case "node_completed" if self._nodes:
                self._node(body)
            case "turn_completed":
                self._complete(body)
            case "paused":
                self._pause(body)
            case "error":
                self.break_line()
                note(f"turnwire: {body.get('message')} ({_fault(body)})", "red")
            case _:
                pass

    def say(self, text: str) -> None:
        """See :class:`Lines`."""
        super().say(text)
        self._said += text

    def _replace(self, text: str, reason: str) -> None:
        self.break_line()
        if self._said:
            note(f"— {_REWRITTEN.get(reason) or f'replaced ({readable(reason)})'} —")
        self._said = ""
        self.say(text)

    def _node(self, body: Mapping[str, Any]) -> None:
        self.break_line()
        name, status = str(body.get("node")), str(body.get("status"))
        took = status if status in ("skipped", "failed") else f"{body.get('duration_ms')} ms"
        route = f" → {body['route']}" if body.get("route") else ""
        note(f"· {name} {took}{route}", "dim" if status == "skipped" else "")

    def _complete(self, body: Mapping[str, Any]) -> None:
        content = str(body.get("content", ""))
        if content.strip() not in (self._said.strip(), self._draft.strip()):
            self._replace(content, "final_message")
        self.break_line()
        _cite(body.get("citations", ()))
        for each in body.get("guardrail_decisions", ()):
            if each.get("outcome") != "pass":
                reason = f" ({readable(each['reason'])})" if each.get("reason") else ""
                check = readable(each.get("check"))
                note(f"guard {each.get('stage')}/{check}: {each['outcome']}{reason}")
        if body.get("finish_reason") != "stop":
            note(f"finish reason: {readable(body.get('finish_reason'))}")

    def _pause(self, body: Mapping[str, Any]) -> None:
        review: Mapping[str, Any] = body.get("review") or {}
        draft = str(review.get("draft") or body.get("draft") or "")
        if draft.strip() != self._said.strip():
            self.break_line()
            STDOUT.print(literal(draft))
            self._draft = draft
        self.break_line()
        _cite(review.get("citations", ()))
        if review:
            reasons = ", ".join(map(readable, review.get("reasons", ()))) or "none given"
            note(f"This draft waits for a review. Reasons: {reasons}", "bold")
            return
        for each in body.get("pauses", ()):
            note(f"The turn waits ({each.get('kind')}):", "bold")
            note(_payload(each.get("payload")), "")


def _cite(citations: Sequence[Mapping[str, Any]]) -> None:
    for each in citations:
        STDOUT.print(literal(f"[{each.get('marker')}] {each.get('title')}", "dim"))


def readable(code: object) -> str:
    """Return a code of an open set, such as a reason, as people read it."""
    return str(code).replace("_", " ")


def _payload(payload: object) -> str:
    return payload if isinstance(payload, str) else json.dumps(payload, indent=2)


def _fault(body: Mapping[str, Any]) -> str:
    return f"{body.get('code')}, {body.get('error_id')}"
