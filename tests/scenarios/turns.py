"""Turns of any agent: words, tools, reviews, and every way to end."""

from typing import Final

from pydantic import JsonValue

from tests.scenarios.play import (
    EPOCH,
    Answered,
    Cancelled,
    Dropped,
    Failed,
    Restarted,
    Scenario,
    say,
)
from turnwire.errors import UpstreamUnavailable
from turnwire.events import (
    Citation,
    CitationAdded,
    Cost,
    Event,
    Funnel,
    GuardrailDecided,
    GuardrailDecision,
    NodeCompleted,
    NodeStarted,
    Passage,
    Pause,
    PauseKind,
    ReasoningDelta,
    RetrievalCompleted,
    Search,
    TextDelta,
    TextReplaced,
    ToolCompleted,
    ToolStarted,
    Topology,
    TopologyEdge,
    TopologyNode,
    TurnCompleted,
    TurnPaused,
    Usage,
)
from turnwire.ids import PauseId

GUARDED: Final = Topology(
    nodes=(
        TopologyNode(id="guard", kind="guardrail", conditional=False),
        TopologyNode(id="retrieve", kind="retrieval", conditional=True),
        TopologyNode(id="answer", kind="model", conditional=False),
        TopologyNode(id="review", kind="review", conditional=True),
    ),
    edges=(
        TopologyEdge(source="guard", target="retrieve", conditional=True),
        TopologyEdge(source="guard", target="answer", conditional=True),
        TopologyEdge(source="retrieve", target="answer", conditional=False),
        TopologyEdge(source="answer", target="review", conditional=True),
    ),
)
LINE_BREAKS: Final = "alpha\u2028beta\u2029gamma\u0085delta\u000bepsilon\u001cend"


def started(node: str) -> NodeStarted:
    return NodeStarted(node=node)


def ended(node: str, *, ms: int = 5, route: str | None = None) -> NodeCompleted:
    return NodeCompleted(node=node, duration_ms=ms, route=route)


def words(*texts: str) -> list[Event]:
    return [TextDelta(text=each) for each in texts]


def cited(marker: int, *, title: str = "Fever") -> CitationAdded:
    return CitationAdded(
        citation=Citation(
            marker=marker,
            id=f"psg-{marker}",
            title=title,
            document_id="doc-1",
            snippet="Rest for two days.",
        )
    )


def decided(check: str, outcome: str) -> GuardrailDecided:
    decision = {"stage": "pre", "check": check, "outcome": outcome, "duration_ms": 1}
    return GuardrailDecided(decision=GuardrailDecision.model_validate(decision))


def asked(
    pause_id: str,
    *,
    kind: PauseKind = "input",
    payload: JsonValue = None,
    expires_ms: int | None = None,
    requested_ms: int = EPOCH,
) -> Pause:
    return Pause(
        pause_id=PauseId(pause_id),
        kind=kind,
        payload={"question": f"What about {pause_id}?"} if payload is None else payload,
        requested_ms=requested_ms,
        expires_ms=expires_ms,
    )


def completed(content: str, finish_reason: str = "stop") -> TurnCompleted:
    return TurnCompleted(
        finish_reason=finish_reason,
        content=content,
        usage=Usage(prompt_tokens=12, completion_tokens=3, total_tokens=15),
        cost=Cost(model="quoting", tokens_in=12, tokens_out=3, llm_latency_ms=40),
    )


FOUND: Final = RetrievalCompleted(
    query="rest",
    duration_ms=7,
    documents=(
        Passage(
            index=1,
            id="psg-1",
            title="Fever",
            document_id="doc-1",
            document_name="fever.md",
            score=0.5,
            snippet="Rest for two days.",
            source="health",
        ),
    ),
    searches=(Search(query="rest", funnel=Funnel(generation=1, returned=1, kept=1)),),
)
REVIEW: Final = asked(
    "rev_1",
    kind="review",
    payload={
        "reasons": ["dosage"],
        "question": "How long do I rest?",
        "draft": "Rest for two days. [1]",
        "citations": [cited(1).citation.model_dump(mode="json")],
    },
    expires_ms=EPOCH + 60_000,
)
_DRAFTED: Final = (
    say(started("guard"), decided("scope_rules", "pass"), ended("guard", route="ok")),
    say(started("retrieve"), FOUND, ended("retrieve")),
    say(started("answer"), *words("Rest for ", "two days. [1]"), cited(1), ended("answer")),
    say(started("review"), TurnPaused(pauses=(REVIEW,), draft="Rest for two days. [1]")),
)

PLAIN: Final = Scenario(
    name="plain",
    steps=(
        say(started("answer")),
        say(ReasoningDelta(node="answer", text="They ask about rest.")),
        say(*words("Rest ", "for ", "two days.")),
        say(ended("answer"), completed("Rest for two days.")),
    ),
    phase="completed",
    content="Rest for two days.",
    finish_reason="stop",
)

REFUSED: Final = Scenario(
    name="refused",
    topology=GUARDED,
    steps=(
        say(started("guard"), decided("escalation", "refuse"), ended("guard", route="refused")),
        say(started("answer"), *words("I can't help with that."), ended("answer")),
        say(completed("I can't help with that.", "refused")),
    ),
    phase="completed",
    content="I can't help with that.",
    finish_reason="refused",
)

APPROVED: Final = Scenario(
    name="review_approved",
    topology=GUARDED,
    steps=(
        *_DRAFTED,
        Answered({"rev_1": "approve"}),
        say(started("review"), decided("hitl_review", "approve"), ended("review")),
        say(completed("Rest for two days. [1]")),
    ),
    phase="completed",
    content="Rest for two days. [1]",
    finish_reason="stop",
    markers=(1,),
    pauses={"rev_1": "answered"},
)

EDITED: Final = Scenario(
    name="review_edited",
    topology=GUARDED,
    steps=(
        *_DRAFTED,
        Answered({"rev_1": "edit"}),
        say(started("review"), TextReplaced(text="Rest for three days. [1]", reason="edited")),
        say(cited(1), decided("hitl_review", "edit"), ended("review")),
        say(completed("Rest for three days. [1]")),
    ),
    phase="completed",
    content="Rest for three days. [1]",
    finish_reason="stop",
    markers=(1,),
    pauses={"rev_1": "answered"},
)

REJECTED: Final = Scenario(
    name="review_rejected",
    topology=GUARDED,
    steps=(
        *_DRAFTED,
        Answered({"rev_1": "reject"}),
        say(started("review"), TextReplaced(text="Please ask your doctor.", reason="rejected")),
        say(decided("hitl_review", "reject"), ended("review")),
        say(completed("Please ask your doctor.", "escalated")),
    ),
    phase="completed",
    content="Please ask your doctor.",
    finish_reason="escalated",
    pauses={"rev_1": "answered"},
)

WAITING: Final = Scenario(
    name="review_waiting",
    topology=GUARDED,
    steps=_DRAFTED,
    phase="paused",
    content="Rest for two days. [1]",
    pauses={"rev_1": "open"},
)

INPUT: Final = Scenario(
    name="input_answered",
    steps=(
        say(started("ask"), TurnPaused(pauses=(asked("pse_1"),))),
        Answered({"pse_1": "answered"}),
        say(started("ask"), ended("ask"), completed("Thank you, Ada.")),
    ),
    phase="completed",
    content="Thank you, Ada.",
    finish_reason="stop",
    pauses={"pse_1": "answered"},
)

TWO_PAUSES: Final = Scenario(
    name="two_pauses_one_at_a_time",
    steps=(
        say(started("left"), started("right")),
        say(TurnPaused(pauses=(asked("pse_1"), asked("pse_2")))),
        Answered({"pse_2": "answered"}),
        # The graph asks the other one again, as if it were new: it stays as first asked.
        say(started("left"), started("right"), ended("right")),
        say(TurnPaused(pauses=(asked("pse_1", requested_ms=EPOCH + 999),))),
        Answered({"pse_1": "answered"}),
        say(started("left"), ended("left"), completed("Both are known.")),
    ),
    phase="completed",
    content="Both are known.",
    finish_reason="stop",
    pauses={"pse_1": "answered", "pse_2": "answered"},
)

CANCELLED: Final = Scenario(
    name="cancelled_in_mid_text",
    topology=GUARDED,
    steps=(
        say(started("answer"), *words("Rest for ", "two d")),
        Cancelled(),
    ),
    phase="completed",
    content="Rest for two d",
    finish_reason="cancelled",
)

FAILED: Final = Scenario(
    name="failed_in_mid_stream",
    steps=(
        say(started("answer"), *words("Rest for ")),
        say(ToolStarted(tool_call_id="call_1", name="clock")),
        Failed(UpstreamUnavailable()),
    ),
    phase="failed",
    content="Rest for ",
    error_code="upstream_unavailable",
)

TOOLS: Final = Scenario(
    name="tool_pair",
    steps=(
        say(
            started("tools"),
            ToolStarted(tool_call_id="call_1", name="clock", arguments={"zone": "UTC"}),
            ToolStarted(tool_call_id="call_2", name="clock", arguments={"zone": "Asia/Tokyo"}),
        ),
        say(
            ToolCompleted(tool_call_id="call_2", name="clock", status="ok", result="21:00"),
            ToolCompleted(tool_call_id="call_1", name="clock", status="error", error="no clock"),
            ended("tools"),
        ),
        say(started("answer"), *words("It is 21:00 in Tokyo."), ended("answer")),
        say(completed("It is 21:00 in Tokyo.")),
    ),
    phase="completed",
    content="It is 21:00 in Tokyo.",
    finish_reason="stop",
)

DROPPED: Final = Scenario(
    name="pause_dropped",
    topology=GUARDED,
    steps=(*_DRAFTED, Dropped()),
    phase="completed",
    content="Rest for two days. [1]",
    finish_reason="cancelled",
    markers=(1,),
    pauses={"rev_1": "dropped"},
)

RESTARTED: Final = Scenario(
    name="resumed_after_restart",
    topology=GUARDED,
    steps=(
        *_DRAFTED,
        Restarted(),
        Answered({"rev_1": "approve"}),
        say(started("review"), ended("review"), completed("Rest for two days. [1]")),
    ),
    phase="completed",
    content="Rest for two days. [1]",
    finish_reason="stop",
    markers=(1,),
    pauses={"rev_1": "answered"},
)

LOST: Final = Scenario(
    name="lost_in_mid_text",
    steps=(say(started("answer"), *words("Rest for ")), Restarted()),
    phase="failed",
    content="Rest for ",
    error_code="stream_interrupted",
)

REWRITTEN: Final = Scenario(
    name="rewritten_at_the_end",
    steps=(
        say(started("answer"), *words("Rest for 2 days. [1]"), cited(1), ended("answer")),
        say(completed("Rest for two days. [1]")),
    ),
    phase="completed",
    content="Rest for two days. [1]",
    finish_reason="stop",
    markers=(1,),
)

BREAKS: Final = Scenario(
    name="unicode_line_breaks",
    steps=(
        say(started("answer"), *words(LINE_BREAKS), cited(1, title=LINE_BREAKS), ended("answer")),
        say(completed(LINE_BREAKS)),
    ),
    phase="completed",
    content=LINE_BREAKS,
    finish_reason="stop",
    markers=(1,),
)

SCENARIOS: Final = (
    PLAIN,
    REFUSED,
    APPROVED,
    EDITED,
    REJECTED,
    WAITING,
    INPUT,
    TWO_PAUSES,
    CANCELLED,
    FAILED,
    TOOLS,
    DROPPED,
    RESTARTED,
    LOST,
    REWRITTEN,
    BREAKS,
)
