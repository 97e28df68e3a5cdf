"""What the member graph keeps: plain values only, bounded, and no credential of anybody."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Final

from pydantic import TypeAdapter

from turnwire.agents.guarded.state import GuardedState
from turnwire.events import Usage
from turnwire.nodes.tools.tool import Call, Outcome, Proposal

MOST: Final = 24
"""Outcomes that one turn keeps."""

Plain = dict[str, Any]


def gathered(before: Sequence[Plain], new: Sequence[Plain] | None) -> list[Plain]:
    """Return the outcomes with new ones; none forgets them all."""
    return [] if new is None else [*before, *new][:MOST]


class MemberState(GuardedState, total=False):
    """The state of a conversation; ``open`` lasts too, all else is one turn's."""

    channel: str
    """Where the member reads: ``app`` or ``text``."""
    open: Plain
    """What the member was asked for in the turn before: ``tool``, ``arguments``, ``asked``."""
    plan: list[Plain]
    """Calls that are to be made: reads, and actions that are to be proposed."""
    one_of: str
    """The tool whose list is read because one of its items was asked about, and not which."""
    queries: list[str]
    """What is to be searched for."""
    found: list[Plain]
    """What the model's own searches brought: ``tool_call_id``, ``evidence`` and ``search``."""
    proposals: list[Plain]
    """Actions that wait for the member's word."""
    outcomes: Annotated[list[Plain], gathered]
    """How each call ended."""
    steps: list[list[Plain]]
    """The calls of each of the model's rounds; its words are not kept."""
    asking: str
    """The fixed text that asks for a missing detail."""
    waiting: bool
    """Whether the turn waits for a sign-in once the answer's first part is said."""
    resumed: bool
    """Whether it has waited, and goes on."""


FORGOTTEN: Final[Mapping[str, Any]] = {
    "plan": [],
    "one_of": "",
    "queries": [],
    "found": [],
    "proposals": [],
    "outcomes": None,
    "steps": [],
    "asking": "",
    "waiting": False,
    "resumed": False,
}
"""What a new turn forgets of the one before."""


_CALL: Final = TypeAdapter(Call)
_OUTCOME: Final = TypeAdapter(Outcome)
_PROPOSAL: Final = TypeAdapter(Proposal)


def to_plain(value: Call | Outcome | Proposal) -> Plain:
    """Return it as plain values."""
    return asdict(value)


def call_of(stored: Mapping[str, Any]) -> Call:
    """Return what :func:`to_plain` made plain."""
    return _CALL.validate_python(stored)


def proposal_of(stored: Mapping[str, Any]) -> Proposal:
    """Return what :func:`to_plain` made plain."""
    return _PROPOSAL.validate_python(stored)


def outcomes_of(state: MemberState) -> list[Outcome]:
    """Return how the turn's calls ended, in order."""
    return [_OUTCOME.validate_python(each) for each in state.get("outcomes", [])]


def feedback_of(outcome: Outcome) -> str:
    """Return what the member said to a rejected action."""
    said = outcome.result.get("feedback") if isinstance(outcome.result, dict) else None
    return said if isinstance(said, str) and outcome.code == "rejected" else ""


def added(one: Usage, other: Usage) -> Usage:
    """Return the tokens of two accounts together."""
    return Usage(
        prompt_tokens=one.prompt_tokens + other.prompt_tokens,
        completion_tokens=one.completion_tokens + other.completion_tokens,
        total_tokens=one.total_tokens + other.total_tokens,
    )
