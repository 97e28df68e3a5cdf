"""Reducing the events gives the stored conversation: for every scenario, on every store."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.scenarios.every import SCENARIOS
from tests.scenarios.play import Scenario, envelopes, play
from tests.storage.stores import KINDS, Kind, opened
from turnwire.events import (
    Citation,
    CitationAdded,
    Envelope,
    Pause,
    TextDelta,
    TextReplaced,
    TurnCompleted,
    TurnFailed,
    TurnPaused,
    TurnStarted,
)
from turnwire.ids import BEGINNING, Seq

pytestmark = pytest.mark.anyio


class Reduced:
    """A client's view: what one can know who has heard the events and nothing else."""

    def __init__(self, log: Sequence[Envelope]) -> None:
        self.text = ""
        self.phase = "new"
        self.finish_reason: str | None = None
        self.error_code: str | None = None
        self.citations: list[Citation] = []
        self.asked: dict[str, Pause] = {}
        self.open: set[str] = set()
        for each in log:
            self.take(each)
        self.last = log[-1]

    def take(self, envelope: Envelope) -> None:
        match envelope.event:
            case TextDelta(text=text):
                self.text += text
            case TextReplaced(text=text):
                self.text, self.citations = text, []
            case CitationAdded(citation=citation):
                self.citations.append(citation)
            case TurnStarted():
                self.phase, self.open = "running", set()
            case TurnPaused() | TurnCompleted() | TurnFailed():
                self.end(envelope.event)
            case _:
                pass

    def end(self, event: TurnPaused | TurnCompleted | TurnFailed) -> None:
        match event:
            case TurnPaused(pauses=pauses, draft=draft):
                self.phase = "paused"
                self.text = draft or self.text
                self.asked |= {each.pause_id: each for each in pauses}
                self.open = {each.pause_id for each in pauses}
            case TurnCompleted(finish_reason=reason):
                self.phase, self.finish_reason = "completed", reason
            case TurnFailed(code=code):
                self.phase, self.error_code = "failed", code


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
async def test_reducing_the_events_gives_the_stored_conversation(
    scenario: Scenario, kind: Kind, tmp_path: Path
):
    async with opened(kind, tmp_path) as store:
        await play(scenario, store)
        heard = [
            each
            async for batch in store.follow(scenario.turn_id, after=BEGINNING, patience=5)
            for each in batch
        ]
        turn = await store.turn(scenario.turn_id)
        pauses = await store.pauses(scenario.conversation_id)

    reduced = Reduced(heard)
    assert heard == envelopes(scenario)
    assert turn is not None
    assert turn.phase == reduced.phase == scenario.phase
    assert turn.content == reduced.text == scenario.content
    assert turn.finish_reason == reduced.finish_reason == scenario.finish_reason
    assert turn.error_code == reduced.error_code == scenario.error_code
    assert [each.marker for each in turn.citations] == list(scenario.markers)
    if turn.phase == "completed":
        assert list(turn.citations) == reduced.citations
    assert (turn.last_seq, turn.run_id, turn.updated_ms) == (
        reduced.last.seq,
        reduced.last.run_id,
        reduced.last.ts_ms,
    )
    assert {each.pause.pause_id: each.phase for each in pauses} == scenario.pauses
    assert {each.pause.pause_id: each.pause for each in pauses} == reduced.asked
    still_open = {each.pause.pause_id for each in pauses if each.phase == "open"}
    assert still_open == (reduced.open if reduced.phase == "paused" else set())


@pytest.mark.parametrize("kind", KINDS)
async def test_from_any_number_on_the_rest_is_heard(kind: Kind, tmp_path: Path):
    for number, scenario in enumerate(SCENARIOS):
        folder = tmp_path / str(number)
        async with opened(kind, folder) as store:
            await play(scenario, store)
            log = envelopes(scenario)
            for after in range(len(log) + 1):
                following = store.follow(scenario.turn_id, after=Seq(after), patience=5)
                rest = [each async for batch in following for each in batch]
                assert rest == log[after:]
