"""What tools were called, and how that ended."""

from typing import Literal

from pydantic import Field, JsonValue

from turnwire.events.base import BaseEvent


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


class ActionCompleted(BaseEvent):
    """How a confirmed action ended: done, refused by the member, or not happened."""

    type: Literal["action.completed"] = "action.completed"
    confirmation_id: str
    decision: Literal["approve", "reject"]
    status: Literal["ok", "rejected", "error"]
    error: str | None = None
