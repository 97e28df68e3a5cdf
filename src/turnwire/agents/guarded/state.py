"""What the guarded graph keeps: plain values only, so that a strict checkpointer stores them."""

from collections.abc import Sequence
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict


class GuardedState(TypedDict, total=False):
    """The state of a conversation; ``messages`` and ``turn`` last, all else is one turn's."""

    messages: Annotated[list[AnyMessage], add_messages]
    turn: int
    """How many turns the conversation has had, this one among them."""
    locale: str
    """The language of the policy's texts that the member gets."""
    trace_id: str
    verdict: dict[str, Any]
    """``outcome``, ``reason``, ``fixed_text`` and ``review_reasons`` of the guardrails."""
    route: str
    """Where ``guardrail_pre`` sent the turn."""
    question: str
    """The member's new messages without private details."""
    query: str
    """What is searched for: the question, after the earlier ones that it leans on."""
    evidence: list[dict[str, Any]]
    """See :func:`turnwire.nodes.evidence.source.to_state`."""
    draft: str
    """The answer as it stands."""
    held: bool
    """Whether the draft, or the end of it, was not said, because a person has to read it first."""
    said: int
    """How many characters of a draft that is held were said."""
    citations: list[dict[str, Any]]
    """:class:`turnwire.events.Citation`, dumped."""
    guardrail_decisions: list[dict[str, Any]]
    """:class:`turnwire.events.GuardrailDecision`, dumped, in order."""
    finish_reason: str
    usage: dict[str, int]
    """:class:`turnwire.events.Usage`, dumped."""
    cost: dict[str, Any]
    """:class:`turnwire.events.Cost`, dumped."""


def split_new(
    messages: Sequence[BaseMessage],
) -> tuple[Sequence[BaseMessage], list[HumanMessage]]:
    """Return the earlier messages, and the member's new ones: all that nobody has answered."""
    answered = next(
        (at for at in range(len(messages), 0, -1) if isinstance(messages[at - 1], AIMessage)), 0
    )
    new = [each for each in messages[answered:] if isinstance(each, HumanMessage)]
    return messages[:answered], new
