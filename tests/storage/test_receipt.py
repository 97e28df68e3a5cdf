"""What a turn comes to, reduced from its events."""

import random

from turnwire.events import (
    Cost,
    Envelope,
    Event,
    GuardrailDecided,
    GuardrailDecision,
    ModelCalled,
    NodeCompleted,
    NodeStarted,
    Passage,
    Pause,
    RetrievalCompleted,
    TextDelta,
    TextReplaced,
    Topology,
    TurnCompleted,
    TurnPaused,
    TurnStarted,
    Usage,
)
from turnwire.ids import ConversationId, PauseId, RunId, Seq, TurnId
from turnwire.storage.receipt import Evidence, NodeTime, Tally, receipt_of


def log(*at: tuple[int, Event]) -> list[Envelope]:
    return [
        Envelope(Seq(seq), TurnId("trn_1"), RunId("run_1"), ms, event)
        for seq, (ms, event) in enumerate(at, start=1)
    ]


def started(*, resumed: bool = False) -> TurnStarted:
    return TurnStarted(
        conversation_id=ConversationId("conv_1"),
        agent="helper",
        model="m",
        locale="en",
        trace_id="0" * 32,
        resumed=resumed,
        topology=Topology(),
    )


def called(read: int, written: int, *, usd: float = 0.0, ok: bool = True) -> ModelCalled:
    return ModelCalled(
        provider="fake:one",
        outcome="ok" if ok else "timeout",
        duration_ms=9,
        tokens_in=read,
        tokens_out=written,
        usd=usd,
    )


DECIDED = GuardrailDecision(stage="pre", check="pii", outcome="pass", reason="none", duration_ms=2)
PASSAGE = Passage(
    index=1,
    id="p1",
    title="Sleep",
    document_id="doc_1",
    document_name="Sleep",
    score=0.9,
    snippet="SNIPPET",
    source="health",
    digest="abc",
)
PAUSED = TurnPaused(
    pauses=(Pause(pause_id=PauseId("rev_1"), kind="review", payload="PAYLOAD", requested_ms=1),),
    draft="DRAFT",
)
ENDED = TurnCompleted(
    finish_reason="stop",
    content="CONTENT",
    usage=Usage(prompt_tokens=30, completion_tokens=5, total_tokens=35),
    cost=Cost(model="m", usd=0.5),
)
WHOLE = log(
    (1000, started()),
    (1001, NodeStarted(node="find")),
    (1005, GuardrailDecided(decision=DECIDED)),
    (1010, RetrievalCompleted(query="QUERY", duration_ms=4, documents=(PASSAGE,))),
    (1012, NodeCompleted(node="find", duration_ms=11)),
    (1020, called(30, 0, ok=False)),
    (1040, TextDelta(text="WORDS")),
    (1050, TextDelta(text="WORDS")),
    (1060, called(30, 5, usd=0.7)),
    (1070, PAUSED),
    (9070, started(resumed=True)),
    (9080, TextReplaced(text="EDITED", reason="edit")),
    (9090, NodeCompleted(node="rerank", status="skipped")),
    (9100, ENDED),
)


def test_a_receipt_tells_what_was_taken_when_and_by_whom():
    receipt = receipt_of(WHOLE)
    assert receipt.usage == Usage(prompt_tokens=60, completion_tokens=5, total_tokens=65)
    assert receipt.usd == 0.7
    assert [each.outcome for each in receipt.attempts] == ["timeout", "ok"]
    assert receipt.latency.total_ms == 8100
    assert receipt.latency.first_token_ms == 40
    assert receipt.latency.human_wait_ms == 8000
    assert receipt.latency.nodes == (NodeTime(node="find", status="executed", duration_ms=11),)
    assert receipt.evidence == (Evidence(id="p1", document_id="doc_1", digest="abc"),)
    assert receipt.guardrails == (DECIDED,)
    assert (receipt.runs, receipt.model) == (2, "m")


def test_nobodys_words_are_in_a_receipt():
    told = receipt_of(WHOLE).model_dump_json()
    assert not [
        each
        for each in ("WORDS", "EDITED", "DRAFT", "CONTENT", "PAYLOAD", "SNIPPET", "QUERY")
        if each in told
    ]


def test_what_the_ending_tells_counts_where_it_is_more_than_the_calls():
    receipt = receipt_of(log((1, started()), (2, called(3, 1)), (3, ENDED)))
    assert (receipt.usage, receipt.usd) == (ENDED.usage, 0.5)


def test_first_words_that_replace_others_are_first_words():
    replaced = TextReplaced(text="x", reason="r")
    assert receipt_of(log((5, started()), (8, replaced))).latency.first_token_ms == 3


def test_counting_along_gives_what_reading_it_all_gives():
    for seed in range(50):
        chance, tally, rest = random.Random(seed), Tally(), WHOLE
        while rest:
            size = chance.randrange(1, 4)
            tally.hear(rest[:size])
            rest = rest[size:]
        assert tally.receipt() == receipt_of(WHOLE)
