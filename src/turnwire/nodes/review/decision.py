"""What a reviewer decided; whatever cannot be read is a rejection."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from turnwire.work import EXPIRED

DECISION_SCHEMA: Final[dict[str, Any]] = {
    "title": "ReviewDecision",
    "type": "object",
    "properties": {
        "decision": {"enum": ["approve", "edit", "reject"]},
        "edited_text": {"type": "string", "minLength": 1, "pattern": r"\S"},
    },
    "required": ["decision"],
    "if": {"properties": {"decision": {"const": "edit"}}},
    "then": {"required": ["edited_text"]},
}
"""The JSON Schema of a reviewer's answer."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A reviewer's word on a draft."""

    outcome: Literal["approve", "edit", "reject"]
    text: str = ""
    """The new answer of an edit."""
    reason: str | None = None
    """Why a rejection was read out of something else."""


def read_decision(answer: object) -> Decision:
    """Return the decision in ``answer``, such as ``{"decision": "edit", "edited_text": "…"}``."""
    said: Mapping[str, object] = (
        cast("Mapping[str, object]", answer) if isinstance(answer, Mapping) else {}
    )
    match said.get("decision"), said.get("edited_text"):
        case "approve", _:
            return Decision("approve")
        case "edit", str(text) if text.strip():
            return Decision("edit", text)
        case "reject", _:
            return Decision("reject")
        case "expired", _:
            return Decision("reject", reason=EXPIRED)
        case _:
            return Decision("reject", reason="unreadable_decision")
