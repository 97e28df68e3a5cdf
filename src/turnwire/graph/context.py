"""What a node may know about the turn it works on.

The context travels beside the state and is never stored in a checkpoint, so it is the only place
for a secret. LangGraph hands it to a node as ``runtime.context``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import cast

from langgraph.runtime import get_runtime

from turnwire.work import Channel


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
    rerank: bool | None = None
    """Whether the client would have searches reranked; none: it said nothing."""
    timezone: str | None = None
    """The member's time zone as the client names it; look it up before you rely on it."""
    channel: Channel = "app"
    """Where the member reads; a run that goes on after a pause is told ``app``."""
    can_sign_in: bool = False
    """Whether a sign-in can be attached to whoever asks: a member with a session."""
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


def rerank_hint() -> bool | None:
    """Return whether the client of the running node would have searches reranked.

    None where it said nothing, outside a run, and in a graph with a context of its own that has
    no ``rerank``.
    """
    hint = _told("rerank")
    return hint if isinstance(hint, bool) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Whose turn it is that a node works on."""

    principal: str
    conversation_id: str
    turn_id: str
    locale: str


def asker() -> Asker | None:
    """Return whose turn the running node works on.

    None outside a run, and in a graph with a context of its own that lacks one of the fields.
    """
    names = [each.name for each in fields(Asker)]
    told = {name: each for name in names if isinstance(each := _told(name), str)}
    return Asker(**told) if len(told) == len(names) else None


def _told(name: str) -> object:
    """Return a field of the running node's context, whatever shape that has; or none."""
    try:
        context = getattr(get_runtime(), "context", None)
    except RuntimeError:
        return None
    if isinstance(context, Mapping):
        return cast("Mapping[str, object]", context).get(name)
    return getattr(context, name, None)
