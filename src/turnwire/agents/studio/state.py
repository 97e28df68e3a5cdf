"""What an agent from a spec keeps: plain values, each bounded, no secret among them."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from turnwire.agents.guarded.state import GuardedState
from turnwire.graph.plain import VALUE_CHARS, to_json

MOST: Final = 40
"""Entries of a list."""
_SECRETS: Final = ("token", "password", "secret", "authorization", "api_key", "credential")


def bounded(value: object) -> Any:  # noqa: ANN401 - plain JSON
    """Return ``value`` as plain JSON; what is too large is left out, and says so."""
    plain = to_json(value)
    size = len(str(plain))
    if size <= VALUE_CHARS:
        return plain
    if isinstance(plain, str):
        return plain[:VALUE_CHARS]
    return {"truncated": True, "characters": size}


def appended(before: list[Any] | None, new: Sequence[Any] | None) -> list[Any]:
    """Return a list with new entries, the latest :data:`MOST`; none empties it."""
    if new is None:
        return []
    return [*(before or ()), *(bounded(each) for each in new)][-MOST:]


def merged(before: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a map with new members, a none taking one away; none empties it.

    A member that is named like a secret is not kept: state is stored.
    """
    if new is None:
        return {}
    both = {**(before or {}), **{name: bounded(each) for name, each in new.items()}}
    return {name: each for name, each in both.items() if each is not None and not _secret(name)}


def _secret(name: str) -> bool:
    return any(each in name.lower() for each in _SECRETS)


class AgentState(GuardedState, total=False):
    """The state of a conversation; ``messages`` and ``notes`` last, all else is one turn's."""

    context: Annotated[list[Any], appended]
    """What was found for this turn: passages and results of tools, in order."""
    scratchpad: Annotated[list[Any], appended]
    """What the thinker thought, as it reads it again."""
    notes: Annotated[list[Any], appended]
    """What evaluator and architect noted."""
    reasoning_steps: Annotated[list[Any], appended]
    """The thinker's trace: ``step``, ``thought``, ``operation`` and whether it went well."""
    tool_results: Annotated[list[Any], appended]
    extra: Annotated[dict[str, Any], merged]
    """``tool_call``: what ``portal_task`` is to do; ``approval``: the approval that it has."""
    remembered: str
    """What was recalled of earlier conversations; it is kept no longer than its turn."""
    error: str | None
    done: bool
    session_id: str
    username: str
    agent_slug: str
    iteration: int
    """How often nodes of loops have worked in this turn."""
    since_ms: int
    """When this run began."""
    usd: float
    """What the turn's calls have cost so far."""
    told: int
    """How many characters of the draft were said."""
