"""What the guardrails decided; never the text that tripped them."""

from typing import Literal

from turnwire.events.base import BaseEvent, Fact

Stage = Literal["pre", "post", "review"]
Check = Literal[
    "input_validation",
    "pii",
    "escalation",
    "scope_rules",
    "scope_judge",
    "missing_citation",
    "persona_stability",
    "hitl_review",
]
GuardOutcome = Literal["pass", "redact", "flag", "refuse", "escalate", "approve", "edit", "reject"]


class GuardrailDecision(Fact):
    """One check's verdict on one turn."""

    stage: Stage
    check: Check
    outcome: GuardOutcome
    reason: str | None = None
    """A reason code such as ``too_long`` or ``acute_symptom``; never the member's words."""
    duration_ms: int = 0


class GuardrailDecided(BaseEvent):
    """A check looked at the turn and decided."""

    type: Literal["guardrail.decided"] = "guardrail.decided"
    decision: GuardrailDecision
