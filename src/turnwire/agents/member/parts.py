"""What the member agent is made of."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from langchain_core.language_models import BaseChatModel

from turnwire.agents.guarded.parts import GuardedParts
from turnwire.agents.member.calling import Asks
from turnwire.agents.member.phrasings import Phrasings, shipped_phrasings
from turnwire.agents.member.routing import Router
from turnwire.agents.member.texts import Texts
from turnwire.clock import Now, system_now
from turnwire.nodes.guardrails.policy import Policy, shipped_policy
from turnwire.nodes.tools.authority import CREDENTIALS
from turnwire.nodes.tools.tool import Actions, Credentials, Tool


@cache
def member_policy() -> Policy:
    """Return the policy ``insurance`` for an agent that reads the member's own claims.

    It may tell what was decided about one, and why; what will be, it still does not.
    """
    return shipped_policy("insurance").without("recorded_decision")


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherLimits:
    """What the model that calls tools may do in one turn."""

    rounds: int = 6
    """Calls of the model."""
    calls: int = 10
    """Tool calls that it proposes."""
    seconds: float = 45.0
    """For one run of the loop; people's waiting does not count."""
    proposed_again: int = 1
    """How often an action that the member rejected may be proposed with other details."""


@dataclass(frozen=True, kw_only=True)
class MemberParts(GuardedParts):
    """What the member agent is made of, beside what the guarded agent is; it has no reviews."""

    actions: Actions
    """Runs the tools."""
    tools: Sequence[Tool]
    """Which tools there are; ``actions`` runs the same."""
    credentials: Credentials | None = None
    """Who is signed in; none: the server that runs knows."""
    executor: BaseChatModel | None = None
    """The model that chooses tools; none: rules and likeness do."""
    phrasings: Phrasings = field(default_factory=shipped_phrasings)
    limits: GatherLimits = GatherLimits()
    now: Now = system_now
    slug: str = "member"
    title: str = "Member assistant"
    description: str = "Answers from policy documents and the member's own file, and acts for them."

    @cached_property
    def texts(self) -> Texts:
        """The agent's own texts."""
        return Texts(self.policy)

    @cached_property
    def router(self) -> Router:
        """Tells what a message is for, where no model does."""
        return Router(self.phrasings, self.tools, self.encoder)

    def tool(self, name: str) -> Tool | None:
        """Return the tool of that name, or none."""
        return next((each for each in self.tools if each.name == name), None)

    def is_read(self, name: str) -> bool:
        """Whether there is such a tool, and it changes nothing."""
        tool = self.tool(name)
        return tool is not None and tool.risk == "read"

    def requests(self, name: str) -> Asks:
        """Return what tells whether a clause asks for a tool by its rules."""
        return lambda clause: name in self.phrasings.rules_for(clause)

    async def is_signed_in(self, principal: str) -> bool:
        """Whether the member has a credential that is still good; a failure is a no."""
        known = self.credentials or CREDENTIALS.get()
        try:
            credential = await known.credential(principal)
        except Exception:  # then nobody is known to be signed in
            return False
        if credential is None:
            return False
        return credential.expires_ms is None or credential.expires_ms > self.now()
