"""A turn of the answer wire as lines in a terminal."""

from turnwire.cli.output import STDOUT, literal, note
from turnwire.cli.transcript import Lines, readable
from turnwire.client import (
    ActionCompletedFrame,
    AnswerReplaced,
    AuthRequired,
    CitationFrame,
    ErrorFrame,
    Event,
    MessageCompleted,
    RetrievalCompletedFrame,
    TokenDelta,
    ToolCompletedFrame,
    Turn,
)


class AnswerTranscript(Lines):
    """Writes one turn, event by event: the answer on stdout, what is said about it on stderr."""

    def __init__(self, turn: Turn) -> None:
        super().__init__()
        self._turn = turn

    def show(self, event: Event) -> None:
        """Write what the event says; events that a terminal has no use for are passed over."""
        if isinstance(event, TokenDelta):
            self.say(event.text)
            return
        said = self._said_of(event)
        if said or isinstance(event, CitationFrame | MessageCompleted):
            self.break_line()
        if isinstance(event, CitationFrame):
            STDOUT.print(literal(f"[{self._marker(event)}] {event.title}", "dim"))
        if said:
            note(said, "red" if isinstance(event, ErrorFrame) else "dim")

    def _said_of(self, event: Event) -> str:
        match event:
            case RetrievalCompletedFrame():
                return f"· searched: {len(event.documents)} passages, {event.duration_ms} ms"
            case ToolCompletedFrame():
                took = f"{event.status} {event.duration_ms} ms"
                return f"· {event.name} {took}{_why(event.error)}"
            case ActionCompletedFrame():
                return f"· the action: {event.status}{_why(event.error)}"
            case AuthRequired(resumable=None):
                return f"· {event.tool}: {event.message}"
            case AnswerReplaced():
                return "— the answer was replaced —"
            case ErrorFrame():
                return f"turnwire: {event.message} ({event.code}, {event.error_id})"
            case MessageCompleted() if not _is_usual(event.finish_reason):
                return f"finish reason: {readable(event.finish_reason)}"
            case _:
                return ""

    def _marker(self, cited: CitationFrame) -> int | str:
        """Return the number that the text calls a source by."""
        found = (each.index for each in self._turn.documents if each.id == cited.id)
        return next(found, "-")


def _why(error: str | None) -> str:
    return f" ({error})" if error else ""


def _is_usual(finish_reason: str) -> bool:
    return finish_reason == "stop" or finish_reason.startswith("awaiting_")
