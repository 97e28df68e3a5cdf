"""What a model that chooses tools has brought, and what of it goes into the state."""

from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage

from turnwire.agents.member.acting import kept
from turnwire.agents.member.parts import MemberParts
from turnwire.agents.member.specs import ASK, SEARCH
from turnwire.agents.member.state import MemberState, Plain, added, to_plain
from turnwire.events import Cost, Usage
from turnwire.graph.heard import BILL
from turnwire.nodes.tools.tool import Call, Outcome, Proposal


@dataclass
class Gathered:
    """What one run of the loop has brought so far."""

    steps: list[list[Plain]]
    outcomes: list[Outcome]
    found: list[Plain]
    queries: list[str]
    made: list[Outcome | Proposal] = field(default_factory=list[Outcome | Proposal])
    planned: list[Call] = field(default_factory=list[Call])
    asking: MemberState = field(default_factory=lambda: MemberState())
    used: Usage = field(default_factory=Usage)
    usd: float = 0.0
    is_over: bool = False

    @property
    def count(self) -> int:
        """How many calls the model has proposed in the turn."""
        return sum(map(len, self.steps))

    def charge(self, parts: MemberParts, answer: AIMessage) -> None:
        """Count what a call of the model took."""
        said = answer.usage_metadata
        if said is None:
            return
        used = Usage(
            prompt_tokens=said["input_tokens"],
            completion_tokens=said["output_tokens"],
            total_tokens=said["total_tokens"],
        )
        bill: dict[str, Any] = answer.response_metadata.get(BILL) or {}
        name = str(bill.get("model") or parts.model_name)
        self.used = added(self.used, used)
        self.usd += float(bill.get("usd") or parts.price(name, used))

    def changed(self, parts: MemberParts, state: MemberState) -> MemberState:
        """Return what the loop changes in the state."""
        kinds = {name for step in self.steps for name in (str(c["name"]) for c in step)}
        queries = list(dict.fromkeys(self.queries))
        chosen = self.outcomes or self.made or self.planned or self.asking
        if not (queries or chosen):
            queries = [state.get("query", "")]  # nothing was chosen: documents have to answer
        usage = added(Usage.model_validate(state.get("usage", {})), self.used)
        cost = Cost.model_validate(state.get("cost") or {"model": "none"})
        paid = cost.model_copy(
            update={
                "tokens_in": usage.prompt_tokens,
                "tokens_out": usage.completion_tokens,
                "usd": cost.usd + self.usd,
            }
        )
        return {
            **kept(self.made),
            "steps": self.steps,
            "found": self.found,
            "queries": queries,
            "plan": [to_plain(each) for each in self.planned],
            "route": self._route(parts, kinds - {SEARCH, ASK}, bool(queries)),
            "usage": usage.model_dump(),
            "cost": paid.model_dump(),
            "open": {},
            **self.asking,
        }

    def _route(self, parts: MemberParts, names: set[str], searches: bool) -> str:
        tools = [parts.tool(each) for each in names]
        if self.asking or any(each and each.risk != "read" for each in tools):
            return "action"
        if not names:
            return "knowledge"
        return "mixed" if searches else "member"
