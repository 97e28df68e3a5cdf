"""The answer wire: what members' apps hear of a turn.

For clients that know nothing of graphs; ``docs/reference/wires.md`` is generated from its types.
What was decided about words that are taken back, and about streams of a turn that pauses, stands
in ``docs/decisions``.
"""

from collections.abc import Iterable, Sequence
from typing import Final, assert_never
from urllib.parse import quote

from pydantic import BaseModel

from turnwire.errors import StreamInterrupted
from turnwire.events import (
    ActionCompleted,
    Envelope,
    Pause,
    RetrievalCompleted,
    TextDelta,
    TextReplaced,
    ToolCompleted,
    ToolStarted,
    TurnCompleted,
    TurnFailed,
    TurnPaused,
    TurnStarted,
    Usage,
)
from turnwire.ids import BEGINNING, Seq
from turnwire.wires.answer_account import ANSWER_REPLACED, Evidence, Words
from turnwire.wires.answer_frames import (
    FRAMES,
    ActionCompletedFrame,
    AuthRequired,
    CitationFrame,
    ErrorFrame,
    Frame,
    MessageCompleted,
    MessageStarted,
    TokenDelta,
    ToolCompletedFrame,
    ToolStartedFrame,
    confirmation,
    question,
    sign_in,
)
from turnwire.wires.base import FRAME_BYTES, WireMessage, to_json

SIGN_IN_REQUIRED: Final = "sign_in_required"
"""The code of a tool call that was refused because the member is not signed in."""

_NAMES: Final = {body: name for name, body in FRAMES.items()}


class Answer:
    """Says a turn on the answer wire.

    One stream tells one message, over as many runs as it hears: its terminator is said by
    :meth:`end` and not where a run ends, for a turn that paused may have gone on.
    """

    def __init__(self, *, replaced_at: Seq = BEGINNING, documents: str | None = None) -> None:
        """Begin to say a turn.

        Args:
            replaced_at: the last replacement of words that is known; words before it are not said.
            documents: the address below which each document stands under its id.
        """
        self._documents = documents
        self._words = Words(replaced_at)
        self._evidence = Evidence()
        self._calls: dict[str, str] = {}
        """Open tool calls and their tools."""
        self._held: dict[str, str] = {}
        """Those that were open when the turn paused, until their node is started anew."""
        self._opened = self._told_to_sign_in = False
        self._ending: WireMessage | None = None
        self._position = ""

    def say(self, envelope: Envelope, /) -> Iterable[WireMessage]:
        """Return the frames that say this event, without the stream's terminator."""
        event, words = envelope.event, self._words
        owes = self._evidence.owed or self._held
        if type(event) is TextDelta and not owes:  # nine of ten events
            if words.taken_back is not None or not words.stand(envelope.seq):
                return ()
            words.add(event.text)
            self._position = f"{envelope.turn_id}.{envelope.seq}"
            return (WireMessage(self._position, "token.delta", _token(event.text)),)
        said = self._frames(envelope)
        if words.taken_back is not None:
            # The client has to begin anew from before it, so nothing may lead it past.
            self._position = f"{envelope.turn_id}.{words.taken_back - 1}"
            return ()
        self._position = f"{envelope.turn_id}.{envelope.seq}"
        # A client that has not got all of an event's frames is told all of them again.
        before = f"{envelope.turn_id}.{envelope.seq - 1}"
        whole = 0 if self._ending is not None else 1
        return [
            _message(self._position if left < whole else before, each)
            for left, each in zip(range(len(said) - 1, -1, -1), said, strict=True)
        ]

    def hear(self, envelope: Envelope, /) -> None:
        """See :class:`turnwire.wires.base.Wire`."""
        event, words = envelope.event, self._words
        match event:
            case TextDelta():
                words.add(event.text)
            case TextReplaced():
                words.show(event.text)
            case _:
                self.say(envelope)
                return
        if words.stand(envelope.seq):
            self._owed()
        self._position = f"{envelope.turn_id}.{envelope.seq}"

    def reopen(self) -> None:
        """Begin a stream of its own with what comes: another request goes on with the message."""
        self._opened = False

    def end(self, *, error_id: str) -> Iterable[WireMessage]:
        """Return the stream's terminator; see :class:`turnwire.wires.base.Wire`."""
        if self._words.taken_back is not None:
            code, message, retryable = ANSWER_REPLACED
            error = ErrorFrame(code=code, message=message, retryable=retryable)
            return (_message(self._position, error),)
        if self._ending is not None:
            return (self._ending,)
        cut = StreamInterrupted
        error = ErrorFrame(
            code=cut.code, message=cut.public, retryable=cut.retryable, error_id=error_id
        )
        return (_message(self._position, error),)

    def _frames(self, envelope: Envelope) -> list[Frame]:
        event = envelope.event
        match event:
            case TurnStarted():
                return self._start(envelope, event)
            case RetrievalCompleted():
                self._evidence.add(event)
                return []
            case ToolStarted() | ToolCompleted():
                return self._tool(event)
            case TextDelta() | TextReplaced():
                return self._speak(event, envelope.seq)
            case ActionCompleted():
                return [ActionCompletedFrame.model_validate(event.model_dump(exclude={"type"}))]
            case TurnPaused() | TurnCompleted() | TurnFailed():
                return self._close(envelope, event)
            case _:
                return []  # what nodes, guardrails and models' thoughts do is not for members

    def _start(self, envelope: Envelope, event: TurnStarted) -> list[Frame]:
        self._ending = None
        if self._opened:
            return []
        self._opened = True
        started = MessageStarted(
            message_id=envelope.turn_id,
            conversation_id=event.conversation_id,
            model=event.model,
        )
        return [started]

    def _speak(self, event: TextDelta | TextReplaced, seq: Seq) -> list[Frame]:
        words = self._words
        if words.taken_back is not None or not words.stand(seq):
            return []
        text = event.text
        if isinstance(event, TextReplaced):
            text = words.replace(text, seq)
        else:
            words.add(text)
        return [*self._owed(), TokenDelta(text=text)] if text else []

    def _owed(self) -> list[Frame]:
        """Return what has to be told before more words, or before the end."""
        held, self._held = self._held, {}
        not_run: list[Frame] = [
            ToolCompletedFrame(
                tool_call_id=call, name=name, status="error", duration_ms=0, error="not run"
            )
            for call, name in held.items()
        ]
        return [*not_run, self._evidence.frame()] if self._evidence.owed else not_run

    def _tool(self, event: ToolStarted | ToolCompleted) -> list[Frame]:
        call = event.tool_call_id
        if isinstance(event, ToolStarted):
            self._calls[call] = event.name
            if self._held.pop(call, None):  # it was said before the pause
                return []
            return [ToolStartedFrame(tool_call_id=call, name=event.name, arguments=event.arguments)]
        self._calls.pop(call, None)
        ok = event.status == "ok"
        ended = ToolCompletedFrame(
            tool_call_id=call,
            name=event.name,
            status=event.status,
            duration_ms=event.duration_ms,
            result=event.result if ok else None,
            error=None if ok else event.error or "the tool failed",
        )
        return [ended, *self._refused(event)]

    def _refused(self, event: ToolCompleted) -> list[Frame]:
        """Return the sign-in card of a tool that was refused for want of a credential."""
        if event.code != SIGN_IN_REQUIRED or self._told_to_sign_in:
            return []
        self._told_to_sign_in = True
        return [AuthRequired(tool=event.name, message=event.error or "")]

    def _close(
        self, envelope: Envelope, event: TurnPaused | TurnCompleted | TurnFailed
    ) -> list[Frame]:
        ending = f"{envelope.turn_id}.{envelope.seq}"
        match event:
            case TurnPaused(pauses=pauses):
                self._ending = _message(ending, _waiting(envelope, pauses))
                cards = [card for each in pauses for card in _cards(each)]
                told = self._owed()
                self._held, self._calls = self._calls, {}
                return [*told, *cards]
            case TurnCompleted():
                self._ending = _message(ending, _completed(envelope, event))
                return [*self._owed(), *self._citations(event)]
            case TurnFailed():
                error = ErrorFrame.model_validate(event.model_dump(exclude={"type"}))
                self._ending = _message(ending, error)
                return self._owed()
            case _:
                assert_never(event)

    def _citations(self, event: TurnCompleted) -> list[Frame]:
        return [
            CitationFrame(
                id=each.id,
                title=each.title,
                document_id=each.document_id,
                snippet=each.snippet,
                url=self._url(each.document_id),
            )
            for each in event.citations
            if self._evidence.has(each.id)
        ]

    def _url(self, document_id: str) -> str | None:
        # Only here: no address of a document is in a prompt, an event or a trace.
        base = self._documents
        return None if base is None else f"{base.rstrip('/')}/{quote(document_id, safe='')}"


def _cards(pause: Pause) -> list[Frame]:
    match pause.kind:
        case "confirmation":
            return [confirmation(pause)]
        case "sign_in":
            return [sign_in(pause)]
        case "review" | "input" | "approval":
            return []  # a draft is for reviewers only; the others are in `message.completed`


def _waiting(envelope: Envelope, pauses: Sequence[Pause]) -> MessageCompleted:
    asked = tuple(question(each) for each in pauses if each.kind in ("input", "approval"))
    return MessageCompleted(
        message_id=envelope.turn_id,
        finish_reason=f"awaiting_{pauses[0].kind}",
        pauses=asked or None,
    )


def _completed(envelope: Envelope, event: TurnCompleted) -> MessageCompleted:
    return MessageCompleted(
        message_id=envelope.turn_id,
        finish_reason=event.finish_reason,
        usage=None if event.usage == Usage() else event.usage,
    )


def _token(text: str) -> str:
    return '{"text":' + to_json(text) + "}"


def _message(id: str, body: Frame) -> WireMessage:
    data = _dumped(body)
    if len(data) > FRAME_BYTES // 4 and len(data.encode()) > FRAME_BYTES:
        data = _dumped(body.shorter())
    return WireMessage(id, _NAMES[type(body)], data)


def _dumped(body: BaseModel) -> str:
    return to_json(body.model_dump(mode="json", exclude_none=True))
