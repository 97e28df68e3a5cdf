"""What a turn amounts to so far, for a client that shows it."""

from turnwire.client.endings import Completed, Failed, Paused
from turnwire.client.events import Event, Unknown
from turnwire.wires.answer_frames import (
    AuthRequired,
    CitationFrame,
    ConfirmationRequired,
    Document,
    ErrorFrame,
    MessageCompleted,
    MessageStarted,
    RetrievalCompletedFrame,
    TokenDelta,
)

_PAUSE = "awaiting_"


class Account:
    """The words of a turn, what they stand on, and what it asks of people."""

    def __init__(self, *, conversation_id: str = "", message_id: str = "") -> None:
        self.conversation_id = conversation_id
        self.message_id = message_id
        self.model = ""
        self.forget()

    def forget(self) -> None:
        """Show nothing; the turn is told anew."""
        self._words: list[str] = []
        self.documents: tuple[Document, ...] = ()
        self.citations: list[CitationFrame] = []
        self._asks: list[ConfirmationRequired | AuthRequired] = []

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(self._words)

    def take(self, event: Event) -> None:
        """Note what the event says."""
        match event:
            case ConfirmationRequired() | AuthRequired():
                self._asks.append(event)
                return
            case Unknown():
                return
            case MessageStarted():
                self.conversation_id = event.conversation_id
                self.message_id, self.model = event.message_id, event.model
            case TokenDelta():
                self._words.append(event.text)
            case RetrievalCompletedFrame():
                self.documents = event.documents
            case CitationFrame():
                self.citations.append(event)
            case _:
                pass
        self._asks.clear()  # a pause asks last of all: whoever says more has been answered

    def ended(self, event: MessageCompleted | ErrorFrame) -> Completed | Paused | Failed:
        """Return how the turn stands after the stream's last frame."""
        if isinstance(event, ErrorFrame):
            return Failed(event.code, event.message, event.retryable, event.error_id)
        if not event.finish_reason.startswith(_PAUSE):
            return Completed(event.finish_reason, event.usage)
        return Paused(
            kind=event.finish_reason.removeprefix(_PAUSE),
            confirmations=tuple(
                each for each in self._asks if isinstance(each, ConfirmationRequired)
            ),
            sign_in=next((each for each in self._asks if isinstance(each, AuthRequired)), None),
            questions=event.pauses or (),
        )
