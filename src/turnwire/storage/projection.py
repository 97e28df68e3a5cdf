"""What a turn's row says, derived from the events that are appended."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from turnwire.events import (
    Envelope,
    TextDelta,
    TextReplaced,
    TurnCompleted,
    TurnFailed,
    TurnPaused,
    TurnStarted,
)
from turnwire.storage.base import PauseRecord, TurnRecord


def ends_run(envelopes: Sequence[Envelope]) -> bool:
    """Whether the last of these envelopes ends its run."""
    return bool(envelopes) and isinstance(
        envelopes[-1].event, (TurnPaused, TurnCompleted, TurnFailed)
    )


def said(envelopes: Iterable[Envelope]) -> str:
    """Return the answer as it stands after these envelopes of one turn."""
    parts: list[str] = []
    for each in envelopes:
        if isinstance(each.event, TextDelta):
            parts.append(each.event.text)
        elif isinstance(each.event, TextReplaced):
            parts = [each.event.text]
    return "".join(parts)


def project(
    turn: TurnRecord, envelopes: Sequence[Envelope], so_far: Iterable[Envelope]
) -> TurnRecord:
    """Return the row after ``envelopes``; ``so_far`` is the whole turn, read only if it failed."""
    for each in envelopes:
        turn = replace(turn, last_seq=each.seq, updated_ms=each.ts_ms, run_id=each.run_id)
        match each.event:
            case TurnStarted():
                turn = replace(turn, phase="running")
            case TurnPaused():
                turn = replace(turn, phase="paused", content=each.event.draft)
            case TurnCompleted(content=content, finish_reason=reason, citations=citations):
                turn = replace(
                    turn,
                    phase="completed",
                    content=content,
                    finish_reason=reason,
                    citations=citations,
                )
            case TurnFailed(code=code):
                turn = replace(turn, phase="failed", content=said(so_far), error_code=code)
            case _:
                pass
    return turn


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
