"""What tools were called, and how that ended."""

from typing import Literal

from pydantic import Field, JsonValue

from turnwire.events.base import BaseEvent


def _is_absent(code: object) -> bool:
    return code is None


class ToolStarted(BaseEvent):
    """A tool was called; the arguments are a redacted preview."""

    type: Literal["tool.started"] = "tool.started"
    tool_call_id: str
    name: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])


class ToolCompleted(BaseEvent):
    """A tool call ended; a refusal completes at once with no duration."""

    type: Literal["tool.completed"] = "tool.completed"
    tool_call_id: str
    name: str
    status: Literal["ok", "error"]
    duration_ms: int = 0
    result: JsonValue = None
    error: str | None = None
    """What a person may read of the failure."""
    code: str | None = Field(default=None, exclude_if=_is_absent)
    """What went wrong, for the graph and for wires: ``sign_in_required``, for one."""


class ActionCompleted(BaseEvent):
    """How a confirmed action ended: done, refused by the member, or not happened."""

    type: Literal["action.completed"] = "action.completed"
    confirmation_id: str
    decision: Literal["approve", "reject"]
    status: Literal["ok", "rejected", "error"]
    error: str | None = None
