"""What members say about calls, and what comes of it.

It is kept beside the calls, in the ``response_metadata`` of the model's message, as plain values:
so it is stored before any of them runs.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, Literal, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from langgraph.errors import GraphBubbleUp
from typing_extensions import TypedDict

from turnwire.events import ActionCompleted
from turnwire.graph.emit import speaker
from turnwire.graph.pause import is_expired
from turnwire.nodes.guardrails.tool_messages import Result, change_messages

CONFIRMED_AT: Final = "turnwire_confirmed"
"""Where in the model's message stands what was said, by SHA-256 of the call."""
REJECTED: Final = "This call was not made: the member did not confirm it."
LATE: Final = "This call was not made: the time to confirm it has passed."
_FEEDBACK: Final = " What the member said about it: {feedback}"


class Word(TypedDict):
    """What a member said about one call."""

    decision: Literal["approve", "reject", "expired"]
    """Where nobody answered in time it is ``expired``."""
    feedback: str | None
    confirmation_id: str


def read_word(call: ToolCall, answer: object) -> Word:
    """Return what a member said; whatever cannot be read is a rejection.

    An answer that does not name its confirmation is known by the call's id.
    """
    said: Mapping[str, object] = (
        cast("Mapping[str, object]", answer) if isinstance(answer, Mapping) else {}
    )
    feedback, asked = said.get("feedback"), said.get("confirmation_id")
    decision: Literal["approve", "reject", "expired"] = "reject"
    if is_expired(said):
        decision = "expired"
    elif said.get("decision") == "approve":
        decision = "approve"
    return Word(
        decision=decision,
        feedback=feedback if isinstance(feedback, str) else None,
        confirmation_id=asked if isinstance(asked, str) else call["id"] or "",
    )


def with_words(message: AIMessage, words: Iterable[tuple[ToolCall, Word]]) -> AIMessage:
    """Return the message with what was said about its calls.

    Of two calls that are the same, down to the id, both are rejected if one is.
    """
    kept: dict[str, Word] = {}
    for call, word in words:
        earlier = kept.get(_fingerprint(call))
        kept[_fingerprint(call)] = earlier if earlier and is_no(earlier) else word
    metadata = {**cast("Mapping[str, Any]", message.response_metadata), CONFIRMED_AT: kept}
    return message.model_copy(update={"response_metadata": metadata})


def word_on(call: ToolCall, messages: Sequence[BaseMessage]) -> Word | None:
    """Return what was said about exactly this call of the model's last message."""
    message = next((each for each in reversed(messages) if isinstance(each, AIMessage)), None)
    if message is None:
        return None
    metadata = cast("Mapping[str, Any]", message.response_metadata)
    return cast("Mapping[str, Word]", metadata.get(CONFIRMED_AT, {})).get(_fingerprint(call))


def rejection(call: ToolCall, word: Word) -> ToolMessage:
    """Tell the client and the model that the call was not made."""
    if word["decision"] == "expired":
        _say(word, "error", LATE)
        return _unmade(call, LATE)
    _say(word, "rejected")
    feedback = _FEEDBACK.format(feedback=word["feedback"]) if word["feedback"] else ""
    return _unmade(call, REJECTED + feedback)


def _unmade(call: ToolCall, content: str) -> ToolMessage:
    return ToolMessage(
        content=content,
        name=call["name"],
        tool_call_id=call["id"] or "",
        status="error",
    )


class Ending:
    """Says how an approved call ended; nothing of one that nobody was asked about.

    Nothing either of a tool that waits for a person itself: it runs again, and ends then.
    """

    def __init__(self, word: Word | None) -> None:
        self._word = word
        self.result: Result | None = None
        """What the call returned."""

    def __enter__(self) -> "Ending":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._word is None:
            return
        if self.result is not None and not _has_failed(self.result):
            _say(self._word, "ok")
        elif kind is None or not issubclass(kind, GraphBubbleUp):
            _say(self._word, "error", "the tool failed")


def is_no(word: Word) -> bool:
    """Whether the call is not to be made."""
    return word["decision"] != "approve"


def _has_failed(result: Result) -> bool:
    found: list[str] = []

    def look(message: ToolMessage) -> ToolMessage:
        found.append(message.status)
        return message

    change_messages(result, look)
    return "error" in found


def _say(word: Word, status: Literal["ok", "rejected", "error"], error: str | None = None) -> None:
    ended = ActionCompleted(
        confirmation_id=word["confirmation_id"],
        decision="reject" if is_no(word) else "approve",
        status=status,
        error=error,
    )
    speaker().emit(ended)


def _fingerprint(call: ToolCall) -> str:
    asked = json.dumps([call["id"], call["name"], call["args"]], sort_keys=True, default=str)
    return sha256(asked.encode(errors="surrogatepass")).hexdigest()
