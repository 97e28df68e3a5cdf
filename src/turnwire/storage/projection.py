"""What a turn's row says, derived from the events that are appended."""

from collections.abc import Callable, Iterable, Sequence

from turnwire.events import (
    RUN_ENDINGS,
    Envelope,
    ReasoningDelta,
    TextDelta,
    TextReplaced,
    TurnCompleted,
    TurnFailed,
    TurnPaused,
)
from turnwire.storage.base import PauseRecord, TurnRecord


def ends_run(envelopes: Sequence[Envelope]) -> bool:
    """Whether the last of these envelopes ends its run."""
    return bool(envelopes) and isinstance(envelopes[-1].event, RUN_ENDINGS)


def retracted(envelopes: Iterable[Envelope]) -> int:
    """Return the number of the last event here by which a guard took words back; 0 for none."""
    last = 0
    for each in envelopes:
        if type(each.event) is TextReplaced and each.event.retracts:
            last = each.seq
    return last


def without_words(envelopes: Sequence[Envelope], before: int) -> list[Envelope]:
    """Return envelopes of one turn; those before the number ``before`` say nothing any more."""
    return [_silent(each) if each.seq < before else each for each in envelopes]


def _silent(envelope: Envelope) -> Envelope:
    event = envelope.event
    if isinstance(event, TextDelta | TextReplaced | ReasoningDelta) and event.text:
        return envelope._replace(event=event.model_copy(update={"text": ""}))
    return envelope


def said(envelopes: Iterable[Envelope]) -> str:
    """Return the answer as it stands after these envelopes of one turn."""
    parts: list[str] = []
    for each in envelopes:
        if isinstance(each.event, TextDelta):
            parts.append(each.event.text)
        elif isinstance(each.event, TextReplaced):
            parts = [each.event.text]
    return "".join(parts)


def changes(
    envelopes: Sequence[Envelope], so_far: Callable[[], Iterable[Envelope]]
) -> dict[str, object]:
    """Return the fields of :class:`TurnRecord` that ``envelopes`` change, by name.

    ``so_far`` returns the whole turn with these envelopes; it is called only if the turn failed.
    """
    last = envelopes[-1]
    changed: dict[str, object] = {
        "last_seq": last.seq,
        "run_id": last.run_id,
        "updated_ms": last.ts_ms,
    }
    match last.event:
        case TurnPaused(draft=draft):
            changed |= {"phase": "paused", "content": draft}
        case TurnCompleted(content=content, finish_reason=reason, citations=citations):
            changed |= {
                "phase": "completed",
                "content": content,
                "finish_reason": reason,
                "citations": citations,
            }
        case TurnFailed(code=code):
            changed |= {"phase": "failed", "content": said(so_far()), "error_code": code}
        case _:
            changed |= {"phase": "running"}
    return changed


def opened(turn: TurnRecord, envelopes: Iterable[Envelope]) -> list[PauseRecord]:
    """Return the pauses that these envelopes announce."""
    return [
        PauseRecord(
            pause=pause,
            turn_id=turn.turn_id,
            conversation_id=turn.conversation_id,
            principal=turn.principal,
            agent=turn.agent,
            phase="open",
            draft=each.event.draft,
        )
        for each in envelopes
        if isinstance(each.event, TurnPaused)
        for pause in each.event.pauses
    ]
