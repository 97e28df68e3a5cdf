"""What the answer wire says: one type a frame, and what they are made of.

``docs/reference/wires.md`` and ``/schemas/answer.json`` are generated from these types.
"""

from collections.abc import Mapping
from typing import Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from turnwire.events import Funnel, Pause, Usage
from turnwire.wires.base import iso, shown_payload

_CUT: Final[dict[str, JsonValue]] = {"truncated": True}
_FEW: Final = 40
_SHORT: Final = 120


class Frame(BaseModel):
    """The base of what a frame carries."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def shorter(self) -> Self:
        """Return the same with less in it, for a frame that outgrows a client's buffer."""
        return self


class MessageStarted(Frame):
    """``message.started``: opens the stream and names the message."""

    message_id: str
    """The turn's id; a turn that pauses goes on as the same message."""
    conversation_id: str
    model: str
    """The answer model: the one whose tokens the member reads."""


class Document(Frame):
    """A passage that was selected as evidence for this answer."""

    index: int
    """Its number in the text: the marker ``[1]`` points at index 1."""
    id: str
    title: str
    document_name: str
    section: str | None = None
    page: int | None = None
    score: float
    snippet: str
    source: str


class KnowledgeSearch(Frame):
    """One search of the turn; a failed one has no funnel."""

    tool_call_id: str | None = None
    query: str
    status: Literal["ok", "error"]
    duration_ms: int
    funnel: Funnel | None = None


class RetrievalCompletedFrame(Frame):
    """``retrieval.completed``: what the answer stands on, before its first words.

    It is said once. Where a turn searches again after words, it is said again before the next
    words, and the later one tells all of the turn.
    """

    query: str
    """What was searched for; several searches are joined by ``|``."""
    duration_ms: int
    """The turn's time in searches, in all."""
    documents: tuple[Document, ...]
    """None where nothing came back."""
    searches: tuple[KnowledgeSearch, ...]

    def shorter(self) -> Self:
        """See :meth:`Frame.shorter`."""
        brief = tuple(
            each.model_copy(update={"snippet": each.snippet[:_SHORT], "title": each.title[:_SHORT]})
            for each in self.documents[:_FEW]
        )
        update = {
            "query": self.query[: _FEW * _SHORT],
            "documents": brief,
            "searches": self.searches[:_FEW],
        }
        return self.model_copy(update=update)


class ToolStartedFrame(Frame):
    """``tool.started``: a tool was called; the arguments are a redacted preview."""

    tool_call_id: str
    name: str
    arguments: dict[str, JsonValue]

    def shorter(self) -> Self:
        """See :meth:`Frame.shorter`."""
        return self.model_copy(update={"arguments": _CUT})


class ToolCompletedFrame(Frame):
    """``tool.completed``: the call ended; a failure has an ``error`` and no ``result``."""

    tool_call_id: str
    name: str
    status: Literal["ok", "error"]
    duration_ms: int
    result: JsonValue = None
    error: str | None = None

    def shorter(self) -> Self:
        """See :meth:`Frame.shorter`."""
        error = self.error and self.error[: _FEW * _SHORT]
        return self.model_copy(update={"result": self.result and _CUT, "error": error})


class ConfirmationRequired(Frame):
    """``action.confirmation_required``: an action was proposed, and nothing of it has happened.

    ``POST /chat/confirm`` answers it.
    """

    confirmation_id: str
    tool_call_id: str | None = None
    name: str
    summary: str
    arguments_preview: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """A redacted copy, not what will run."""
    risk: str
    expires_at: str | None = None

    def shorter(self) -> Self:
        """See :meth:`Frame.shorter`."""
        summary = self.summary[: _FEW * _SHORT]
        return self.model_copy(update={"arguments_preview": _CUT, "summary": summary})


class ActionCompletedFrame(Frame):
    """``action.completed``: how a confirmed action ended; the status is a closed set."""

    confirmation_id: str
    status: Literal["ok", "rejected", "error"]
    """Done, refused by the member, or not happened; then ``error`` says why."""
    decision: Literal["approve", "reject"]
    error: str | None = None


class AuthRequired(Frame):
    """``auth.required``: the member has to sign in.

    With ``resumable`` the turn waits, and ``POST /chat/resume`` goes on with it. Without, it
    ends, and the question is asked again after the sign-in.
    """

    reason: Literal["sign_in_required"] = "sign_in_required"
    tool: str
    message: str
    resumable: Literal[True] | None = None
    resume_id: str | None = None


class TokenDelta(Frame):
    """``token.delta``: the next words of the answer."""

    text: str


class CitationFrame(Frame):
    """``citation``: a source that the answer rests on; all of them come after the last words.

    One without evidence of this turn is dropped. Who loses the connection among them hears all
    of them again.
    """

    id: str
    """The document's of ``retrieval.completed``."""
    title: str
    document_id: str
    snippet: str
    url: str | None = None
    """Where the document can be read: only where the server was given an address for documents."""


class OpenQuestion(Frame):
    """A question of a graph's own, which ``POST /chat/resume`` answers by ``pause_id``."""

    pause_id: str
    kind: str
    """``input`` or ``approval``."""
    payload: JsonValue
    response_schema: dict[str, JsonValue] | None = None
    expires_at: str | None = None


class MessageCompleted(Frame):
    """``message.completed``: closes the stream; ``awaiting_…`` is a pause, all else an end."""

    message_id: str
    finish_reason: str
    """An open set."""
    usage: Usage | None = None
    """Where the provider reported it."""
    pauses: tuple[OpenQuestion, ...] | None = None
    """What ``awaiting_input`` and ``awaiting_approval`` wait for."""

    def shorter(self) -> Self:
        """See :meth:`Frame.shorter`."""
        cut = {"payload": _CUT, "response_schema": None}
        asked = tuple(each.model_copy(update=cut) for each in self.pauses or ())
        return self.model_copy(update={"pauses": asked or None})


class ErrorFrame(Frame):
    """``error``: the turn failed after its first byte; closes the stream.

    With ``answer_replaced`` nothing failed: words that this stream has said were taken back.
    Attach again without ``Last-Event-ID`` and show what is told instead.
    """

    code: str
    message: str
    retryable: bool
    error_id: str | None = None
    """By which the operators find the cause."""


FRAMES: Final[Mapping[str, type[BaseModel]]] = {
    "message.started": MessageStarted,
    "retrieval.completed": RetrievalCompletedFrame,
    "tool.started": ToolStartedFrame,
    "tool.completed": ToolCompletedFrame,
    "action.confirmation_required": ConfirmationRequired,
    "action.completed": ActionCompletedFrame,
    "auth.required": AuthRequired,
    "token.delta": TokenDelta,
    "citation": CitationFrame,
    "message.completed": MessageCompleted,
    "error": ErrorFrame,
}


def confirmation(pause: Pause) -> ConfirmationRequired:
    """Return what a member is shown of a pause of kind ``confirmation``."""
    asked = _payload(pause)
    preview = asked.get("arguments_preview")
    return ConfirmationRequired(
        confirmation_id=pause.pause_id,
        tool_call_id=_text(asked, "tool_call_id") or None,
        name=_text(asked, "name"),
        summary=_text(asked, "summary"),
        arguments_preview=preview if isinstance(preview, dict) else {},
        risk=_text(asked, "risk") or "write",
        expires_at=_expiry(pause),
    )


def sign_in(pause: Pause) -> AuthRequired:
    """Return the sign-in card of a pause of kind ``sign_in``."""
    asked = _payload(pause)
    return AuthRequired(
        tool=_text(asked, "tool"),
        message=_text(asked, "message"),
        resumable=True,
        resume_id=pause.pause_id,
    )


def question(pause: Pause) -> OpenQuestion:
    """Return what a member is shown of a question of a graph's own."""
    return OpenQuestion(
        pause_id=pause.pause_id,
        kind=pause.kind,
        payload=shown_payload(pause),
        response_schema=pause.response_schema,
        expires_at=_expiry(pause),
    )


def _payload(pause: Pause) -> Mapping[str, JsonValue]:
    return pause.payload if isinstance(pause.payload, dict) else {}


def _text(asked: Mapping[str, JsonValue], name: str) -> str:
    value = asked.get(name)
    return value if isinstance(value, str) else ""


def _expiry(pause: Pause) -> str | None:
    return None if pause.expires_ms is None else iso(pause.expires_ms)
