"""Ask a chain of demo models, over the providers' own client libraries."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from langchain_core.messages import BaseMessage, HumanMessage

from tests.providers.serving import Provider
from turnwire.models.calls import Terms
from turnwire.models.catalog import upstream
from turnwire.models.gateway import Gateway
from turnwire.models.roles import Link, Price
from turnwire.nodes.answer.completion import Completion, complete

TEXT: Final = "The demo provider answers everybody the same."
PROMPT: Final[Sequence[BaseMessage]] = [HumanMessage("When is leave asked for?")]


@dataclass
class Told:
    """What came of one question."""

    said: list[str] = field(default_factory=list[str])
    thought: list[str] = field(default_factory=list[str])
    completion: Completion | None = None
    error: Exception | None = None
    calls: list[str] = field(default_factory=list[str])
    """The models that were called, in order."""

    @property
    def text(self) -> str:
        return "".join(self.said)


def chain(
    provider: Provider, protocol: str, *models: str, timeout: float = 10, terms: Terms | None = None
) -> Gateway:
    """Return a gateway over demo models of one protocol, or of ``protocol:model`` each."""
    links = [_link(provider, protocol, each, timeout) for each in models]
    return Gateway(
        upstreams=[upstream(each, api_key="any") for each in links], terms=terms or Terms()
    )


def _link(provider: Provider, protocol: str, model: str, timeout: float) -> Link:
    named, _, model = model.rpartition(":")
    protocol = named or protocol
    url = provider.url if protocol == "openai" else provider.url.removesuffix("/v1")
    price = Price(input=1_000, output=10_000)
    return Link(provider=protocol, model=model, base_url=url, timeout=timeout, price=price)


def asked(provider: Provider, gateway: Gateway) -> Told:
    """Ask once, as the guarded agent does."""
    told, before = Told(), len(provider.requests)

    async def ask() -> None:
        told.completion = await complete(
            gateway, PROMPT, say=told.said.append, think=told.thought.append
        )

    try:
        asyncio.run(ask())
    except Exception as error:
        told.error = error
    told.calls = [each["model"] for each in provider.requests[before:]]
    return told
