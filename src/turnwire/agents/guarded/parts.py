"""What the guarded agent is made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from langchain_core.language_models import BaseChatModel

from turnwire.events import Usage
from turnwire.nodes.evidence.retrieve import Retriever
from turnwire.nodes.guardrails.examples import Encoder
from turnwire.nodes.guardrails.policy import Policy


class Price(Protocol):
    """What a call costs."""

    def __call__(self, model: str, usage: Usage, /) -> float:
        """Return US dollars."""
        ...


def free(_model: str, _usage: Usage, /) -> float:
    """Return nothing: the price of a model that runs here."""
    return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedParts:
    """What the guarded agent is made of; any part may be shared with other agents."""

    policy: Policy
    model: BaseChatModel
    """The answer model."""
    model_name: str
    """Its name, for clients and for the price."""
    models: Mapping[str, BaseChatModel] = field(default_factory=dict[str, BaseChatModel])
    """Models that a caller may choose by name; any other choice is ignored."""
    retriever: Retriever | None = None
    """Finds the evidence; without it the model answers on its own and nothing is cited."""
    encoder: Encoder | None = None
    """Compares questions to the policy's examples of what is in scope, if it has any."""
    judge: BaseChatModel | None = None
    """Says whether a question is in scope where neither a rule nor an example does."""
    hitl: bool = False
    """Whether a person reads the drafts that the policy names."""
    review_expires_in: float | None = None
    """Seconds until nobody waits for the reviewer any more."""
    history: int = 12
    """How many earlier messages the model reads."""
    price: Price = free
    slug: str = "guarded"
    title: str = "Guarded assistant"
    description: str = "Answers from your documents, behind guardrails, with citations."

    def chosen(self, name: str | None) -> tuple[str, BaseChatModel]:
        """Return the answer model and its name: the caller's choice where there is such one."""
        if name is not None and name in self.models:
            return name, self.models[name]
        return self.model_name, self.model
