"""What was asked of models, and what it took; never a word of it."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from turnwire.events.base import BaseEvent, is_none
from turnwire.events.turn import Usage

CallOutcome = Literal["ok", "timeout", "unavailable", "rate_limited", "cancelled", "error"]


class ModelCalled(BaseEvent):
    """A provider was called once, and this came of it; an answer may take several calls.

    Tokens are estimated where the call was cut before the provider told.
    """

    type: Literal["model.called"] = "model.called"
    provider: str
    """``provider:model``, as the settings name it."""
    outcome: CallOutcome
    duration_ms: int
    first_token_ms: int | None = None
    """Until the first sign of an answer; none where none came."""
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0.0
    node: str | None = Field(default=None, exclude_if=is_none)
    """The node that asked, where a gateway knows it."""


def usage_of(calls: Sequence[ModelCalled]) -> Usage:
    """Return the tokens of all these calls together."""
    read = sum(each.tokens_in for each in calls)
    written = sum(each.tokens_out for each in calls)
    return Usage(prompt_tokens=read, completion_tokens=written, total_tokens=read + written)
