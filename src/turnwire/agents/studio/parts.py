"""What agents from specs are made of, and what the nodes of one of them share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Final

from langchain_core.language_models import BaseChatModel

from turnwire.agents.guarded.parts import GuardedParts
from turnwire.agents.studio.checking import Known, in_loops
from turnwire.agents.studio.spec import LlmAgent, Memory, RagRetriever, Review, Spec
from turnwire.clock import Now, system_now
from turnwire.models.quoting import Quoting
from turnwire.models.roles import ANSWER, JUDGE, Role
from turnwire.nodes.evidence.retrieve import Retriever
from turnwire.nodes.guardrails.examples import Encoder
from turnwire.nodes.guardrails.policy import Policy, shipped_policy
from turnwire.nodes.tools.executor import Executor
from turnwire.nodes.tools.registry import Registry
from turnwire.nodes.tools.tool import Actions, Tool

LOCALES: Final = ("en", "es")
"""The languages in which people are asked about actions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudioParts:
    """What specs may use; shared by all agents that are made of it."""

    models: Mapping[Role, BaseChatModel]
    """By role; `answer` stands in for one that is missing."""
    model_name: str
    """The answer model's name, for clients."""
    choices: Mapping[str, BaseChatModel] = field(default_factory=dict[str, BaseChatModel])
    """Models that a caller may choose to answer."""
    retrievers: Mapping[str, Retriever] = field(default_factory=dict[str, Retriever])
    """By corpus."""
    encoder: Encoder | None = None
    """Compares messages to examples, where no model routes."""
    tools: Sequence[Tool] = ()
    now: Now = system_now

    def model(self, role: Role) -> BaseChatModel:
        """Return the model of a role."""
        return self.models.get(role) or self.models[ANSWER]

    def known(self) -> Known:
        """Return what a spec may name."""
        return Known(
            tools={each.name: each.risk != "read" for each in self.tools},
            corpora=tuple(self.retrievers),
        )


def is_offline(model: BaseChatModel) -> bool:
    """Whether the model only quotes: it can neither route nor plan nor judge."""
    return isinstance(model, Quoting)


def may(username: str, users: Sequence[str]) -> bool:
    """Whether a user is among those that are named; nobody named: everybody is."""
    return not users or any(fnmatchcase(username, each) for each in users)


def tools_of(spec: Spec, username: str) -> frozenset[str]:
    """Return which of the agent's tools a user may use."""
    named = spec.access.tools
    return frozenset(each for each in spec.tools if may(username, named.get(each, ())))


class Building:
    """What the nodes of one agent share.

    Args:
        spec: the agent's.
        parts: what it is made of.
        allowed: the names of the tools that its users may use.
    """

    def __init__(self, spec: Spec, parts: StudioParts, allowed: frozenset[str]) -> None:
        self.spec = spec
        self.parts = parts
        self.policy: Policy = shipped_policy(spec.policy)
        self.loops = in_loops(spec)
        self.tools = Registry(
            [each for each in parts.tools if each.name in allowed], locales=LOCALES
        )
        self.actions: Actions = Executor(self.tools, rules=self.policy.pii)
        types = {type(each) for each in spec.nodes}
        self.reviews = Review in types
        self.retrieves = RagRetriever in types
        self.remembers = Memory in types
        judge = parts.models.get(JUDGE)
        self.guarded = GuardedParts(
            policy=self.policy,
            model=parts.model(self._speaks()),
            model_name=parts.model_name,
            models=parts.choices,
            encoder=parts.encoder,
            judge=judge,
            hitl=self.reviews,
            slug=spec.slug,
            title=spec.title,
            description=spec.description,
        )

    def of_role(self, role: Role) -> GuardedParts:
        """Return the guarded agent's parts with the model of a role."""
        if role == ANSWER:
            return self.guarded
        return replace(self.guarded, model=self.parts.model(role), models={})

    def _speaks(self) -> Role:
        roles: list[Role] = [each.role for each in self.spec.nodes if isinstance(each, LlmAgent)]
        return ANSWER if ANSWER in roles or not roles else roles[0]
