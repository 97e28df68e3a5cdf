"""What a member said to a confirmation; whatever can't be read is a rejection."""

from dataclasses import dataclass

from pydantic import JsonValue

from turnwire.graph.pause import is_expired


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A member's word on one confirmation."""

    confirmation_id: str
    approves: bool = False
    is_late: bool = False
    """Nobody said anything in time."""
    feedback: str | None = None


def read_decision(answer: JsonValue) -> Decision:
    """Return what was decided; see :meth:`turnwire.nodes.tools.tool.Actions.decided`."""
    said = answer if isinstance(answer, dict) else {}
    named, feedback = said.get("confirmation_id"), said.get("feedback")
    confirmation_id = named if isinstance(named, str) else ""
    return Decision(
        confirmation_id=confirmation_id,
        approves=said.get("decision") == "approve" and confirmation_id != "",
        is_late=is_expired(answer),
        feedback=feedback if isinstance(feedback, str) else None,
    )
