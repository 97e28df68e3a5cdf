"""What a node may know about the turn it works on.

The context travels beside the state and is never stored in a checkpoint, so it is the only place
for a secret. LangGraph hands it to a node as ``runtime.context``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """The turn that a node works on."""

    turn_id: str
    conversation_id: str
    principal: str
    """Who asks: an opaque id, never a name or a number."""
    locale: str
    """BCP 47 language of the member, such as ``en`` or ``es``."""
    trace_id: str
    model: str | None = None
    """The model that the caller chose, or none for the agent's own."""
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
