"""Turns as members have them: searches, actions to confirm, sign-ins."""

from typing import Final

from tests.scenarios.play import EPOCH, Answered, Scenario, say
from tests.scenarios.turns import FOUND, asked, cited, completed, ended, started, words
from turnwire.events import (
    ActionCompleted,
    Event,
    Funnel,
    Passage,
    RetrievalCompleted,
    Search,
    TextReplaced,
    ToolCompleted,
    ToolStarted,
    TurnPaused,
)

CALL: Final = ToolStarted(
    tool_call_id="call_2", name="request_callback", arguments={"reason": "my claim is stuck"}
)
CALLED: Final = ToolCompleted(
    tool_call_id="call_2", name="request_callback", status="ok", duration_ms=486, result="booked"
)
CONFIRM: Final = asked(
    "cnf_1",
    kind="confirmation",
    payload={
        "tool_call_id": "call_2",
        "name": "request_callback",
        "summary": "Ask an advisor to call you back about: my claim is stuck",
        "arguments_preview": {"reason": "my claim is stuck"},
        "risk": "send",
    },
    expires_ms=EPOCH + 60_000,
)
SIGN_IN: Final = asked(
    "pse_1",
    kind="sign_in",
    payload={"tool": "get_covered_benefits", "message": "I need you to sign in."},
)
AGAIN: Final = RetrievalCompleted(
    query="rest after fever",
    duration_ms=5,
    documents=(
        FOUND.documents[0],
        Passage(
            index=2,
            id="psg-2",
            title="Fever — After",
            document_id="doc-1",
            document_name="fever.md",
            section="After",
            page=2,
            score=0.4,
            snippet="Take it easy.",
            source="health",
        ),
    ),
    searches=(
        Search(
            tool_call_id="call_1",
            query="rest after fever",
            duration_ms=5,
            funnel=Funnel(
                generation=1,
                returned=3,
                dropped_floor=1,
                kept=2,
                rerank="skipped_by_client",
                rerank_hint=False,
            ),
        ),
    ),
)


def _confirmed(name: str, decision: str, *after: Event, content: str) -> Scenario:
    return Scenario(
        name=name,
        steps=(
            say(started("act"), TurnPaused(pauses=(CONFIRM,))),
            Answered({"cnf_1": decision}),
            say(started("act"), *after, ended("act")),
            say(started("answer"), *words(content), ended("answer"), completed(content)),
        ),
        phase="completed",
        content=content,
        finish_reason="stop",
        pauses={"cnf_1": "answered"},
    )


CONFIRMED: Final = _confirmed(
    "action_confirmed",
    "approve",
    CALL,
    CALLED,
    ActionCompleted(confirmation_id="cnf_1", decision="approve", status="ok"),
    content="They will call you.",
)

REFUSED_BY_MEMBER: Final = _confirmed(
    "action_rejected",
    "reject",
    ActionCompleted(confirmation_id="cnf_1", decision="reject", status="rejected"),
    content="Nobody will call you.",
)

NOT_HAPPENED: Final = _confirmed(
    "action_failed",
    "approve",
    CALL,
    CALLED.model_copy(update={"status": "error", "result": None, "error": "The line is busy."}),
    ActionCompleted(
        confirmation_id="cnf_1", decision="approve", status="error", error="The line is busy."
    ),
    content="That did not work.",
)

TO_CONFIRM: Final = Scenario(
    name="action_waiting",
    steps=(
        # A tool that asks in its own midst: its call is open while people think.
        say(started("act"), CALL, TurnPaused(pauses=(CONFIRM,))),
    ),
    phase="paused",
    content="",
    pauses={"cnf_1": "open"},
)

ASKED_WITHIN: Final = Scenario(
    name="action_confirmed_within_its_call",
    steps=(
        *TO_CONFIRM.steps,
        Answered({"cnf_1": "approve"}),
        say(started("act"), CALL, CALLED, ended("act")),
        say(started("answer"), *words("Done."), ended("answer"), completed("Done.")),
    ),
    phase="completed",
    content="Done.",
    finish_reason="stop",
    pauses={"cnf_1": "answered"},
)

NEVER_RUN: Final = Scenario(
    name="action_rejected_within_its_call",
    steps=(
        *TO_CONFIRM.steps,
        Answered({"cnf_1": "reject"}),
        say(started("act"), ended("act")),
        say(started("answer"), *words("As you wish."), ended("answer"), completed("As you wish.")),
    ),
    phase="completed",
    content="As you wish.",
    finish_reason="stop",
    pauses={"cnf_1": "answered"},
)

SIGNED_OUT: Final = Scenario(
    name="sign_in_waiting",
    steps=(
        say(started("plan"), *words("I need you to sign in."), ended("plan")),
        say(started("gate"), TurnPaused(pauses=(SIGN_IN,))),
    ),
    phase="paused",
    content="I need you to sign in.",
    pauses={"pse_1": "open"},
)

SIGNED_IN: Final = Scenario(
    name="sign_in_resumed",
    steps=(
        say(started("general"), FOUND, *words("In general, two days. "), ended("general")),
        say(started("gate"), TurnPaused(pauses=(SIGN_IN,))),
        Answered({"pse_1": "signed_in"}),
        say(started("gate"), ended("gate"), started("answer"), AGAIN),
        say(*words("You have ten days. [2]"), cited(2), ended("answer")),
        say(completed("In general, two days. You have ten days. [2]")),
    ),
    phase="completed",
    content="In general, two days. You have ten days. [2]",
    finish_reason="stop",
    markers=(2,),
    pauses={"pse_1": "answered"},
)

SENT_TO_SIGN_IN: Final = Scenario(
    name="sign_in_required_by_a_tool",
    steps=(
        say(
            started("tools"),
            ToolStarted(tool_call_id="call_1", name="get_plan_details"),
            ToolCompleted(
                tool_call_id="call_1",
                name="get_plan_details",
                status="error",
                error="The member is not signed in.",
                code="sign_in_required",
            ),
            ended("tools"),
        ),
        say(started("answer"), *words("Please sign in."), ended("answer")),
        say(completed("Please sign in.", "sign_in_required")),
    ),
    phase="completed",
    content="Please sign in.",
    finish_reason="sign_in_required",
)

SEARCH_FAILED: Final = Scenario(
    name="search_failed",
    steps=(
        say(
            started("retrieve"),
            RetrievalCompleted(
                query="rest", duration_ms=0, searches=(Search(query="rest", status="error"),)
            ),
            ended("retrieve"),
        ),
        say(started("answer"), *words("I found nothing."), ended("answer")),
        say(completed("I found nothing.", "no_match")),
    ),
    phase="completed",
    content="I found nothing.",
    finish_reason="no_match",
)

TWO_SEARCHES: Final = Scenario(
    name="two_searches",
    steps=(
        say(started("answer"), FOUND, ToolStarted(tool_call_id="call_1", name="search"), AGAIN),
        say(ToolCompleted(tool_call_id="call_1", name="search", status="ok", duration_ms=5)),
        say(*words("Two days [1], "), cited(1), *words("then easy [2]."), cited(2), cited(3)),
        say(ended("answer"), completed("Two days [1], then easy [2].")),
    ),
    phase="completed",
    content="Two days [1], then easy [2].",
    finish_reason="stop",
    markers=(1, 2, 3),
)

TOOL_REFUSED: Final = Scenario(
    name="tool_refused",
    steps=(
        say(
            started("tools"),
            ToolStarted(tool_call_id="call_1", name="delete_everything"),
            ToolCompleted(
                tool_call_id="call_1",
                name="delete_everything",
                status="error",
                error="This tool is not available.",
                code="not_allowed",
            ),
            ended("tools"),
        ),
        say(started("answer"), *words("I can't do that."), ended("answer")),
        say(completed("I can't do that.")),
    ),
    phase="completed",
    content="I can't do that.",
    finish_reason="stop",
)

TAKEN_BACK: Final = Scenario(
    name="words_taken_back",
    steps=(
        say(started("answer"), FOUND, *words("Take ", "ten pills.")),
        say(TextReplaced(text="I can't help ", reason="persona_stability"), *words("with that.")),
        say(ended("answer"), completed("I can't help with that.", "refused")),
    ),
    phase="completed",
    content="I can't help with that.",
    finish_reason="refused",
)

LENGTHENED: Final = Scenario(
    name="words_lengthened",
    steps=(
        say(started("answer"), *words("Rest for "), TextReplaced(text="Rest for two", reason="x")),
        say(*words(" days."), ended("answer"), completed("Rest for two days.")),
    ),
    phase="completed",
    content="Rest for two days.",
    finish_reason="stop",
)

SCENARIOS: Final = (
    CONFIRMED,
    REFUSED_BY_MEMBER,
    NOT_HAPPENED,
    TO_CONFIRM,
    ASKED_WITHIN,
    NEVER_RUN,
    SIGNED_OUT,
    SIGNED_IN,
    SENT_TO_SIGN_IN,
    SEARCH_FAILED,
    TWO_SEARCHES,
    TOOL_REFUSED,
    TAKEN_BACK,
    LENGTHENED,
)
