"""What the guarded agent asks about scope, and about the passages that it found."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, cast

from turnwire.agents.guarded.parts import GuardedParts
from turnwire.agents.guarded.state import GuardedState
from turnwire.errors import SetupError
from turnwire.events import GuardrailDecided, GuardrailDecision
from turnwire.graph.emit import speaker
from turnwire.nodes.evidence.retrieve import Retriever, look_up, tell
from turnwire.nodes.guardrails.evidence import Screen
from turnwire.nodes.guardrails.examples import Examples
from turnwire.nodes.guardrails.judge import Judge
from turnwire.nodes.guardrails.scope import Scope

Search: TypeAlias = Callable[[GuardedState], Awaitable[GuardedState]]


def scope_of(parts: GuardedParts) -> Scope:
    """Return what is asked about a question that no rule refused.

    Raises:
        SetupError: the policy has examples, and the parts have nothing to compare them with.
    """
    rules = parts.policy.scope
    if rules.examples and parts.encoder is None:
        raise SetupError(
            f"The policy '{parts.policy.name}' has scope.examples, which need an encoder: give the "
            "agent one, or take them out."
        )
    examples = Examples(rules, parts.encoder) if rules.examples and parts.encoder else None
    if examples is not None:
        examples.warm()
    return Scope(
        policy=parts.policy,
        examples=examples,
        judge=Judge(parts.judge, parts.policy) if parts.judge else None,
    )


def search(parts: GuardedParts, retriever: Retriever) -> Search:
    """Return the node that searches and looks at what it found: passages may hold instructions.

    They are noted, and shown to the model as data or left out, as the policy says; of what is left
    out no client hears.
    """

    screen = Screen(parts.policy)

    async def retrieve_context(state: GuardedState) -> GuardedState:
        evidence, account = await look_up(retriever, cast("Any", state))
        shown = [f"{each.passage.title}\n{each.text}" for each in evidence]
        screening = await asyncio.to_thread(screen.look, shown)
        if screening is not None and parts.policy.evidence.injection == "drop":
            pairs = zip(evidence, screening.trips, strict=True)
            evidence = [each for each, trips in pairs if not trips]
        found = cast("GuardedState", tell(evidence, account))
        if screening is None:
            return found
        return {**found, "guardrail_decisions": noted(state, (screening.decision,))}

    return retrieve_context


def noted(state: GuardedState, decisions: Sequence[GuardrailDecision]) -> list[dict[str, Any]]:
    """Say the decisions, and return all of the turn's so far."""
    said = speaker()
    for each in decisions:
        said.emit(GuardrailDecided(decision=each))
    return [
        *state.get("guardrail_decisions", []),
        *(each.model_dump(mode="json") for each in decisions),
    ]
