"""What is served: graphs with their models, policies and the index that they search."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import httpx
from langchain_core.language_models import BaseChatModel

from turnwire.agents.guarded.graph import build, manifest
from turnwire.agents.guarded.parts import GuardedParts
from turnwire.agents.member.graph import build as build_member
from turnwire.agents.member.graph import manifest as member_manifest
from turnwire.agents.member.parts import MemberParts, member_policy
from turnwire.agents.member.tools import portal_client, portal_tools
from turnwire.agents.studio.desk import desk_tools
from turnwire.agents.studio.parts import StudioParts
from turnwire.clock import system_now
from turnwire.corpora import for_members, shipped
from turnwire.graph.agent import Graph
from turnwire.graph.load import load
from turnwire.graph.manifest import Manifest
from turnwire.models.budget import Budget
from turnwire.models.calls import Terms
from turnwire.models.catalog import upstream
from turnwire.models.gateway import Gateway
from turnwire.models.quoting import NAME as QUOTING
from turnwire.models.quoting import Quoting
from turnwire.models.roles import ANSWER, EXECUTOR, JUDGE, Chain, Role, link_of
from turnwire.nodes.evidence.retrieve import Retriever as SearchesDocuments
from turnwire.nodes.guardrails.pii_documents import DocumentScreen, document_screen
from turnwire.nodes.guardrails.pii_rules import PiiRules
from turnwire.nodes.guardrails.policy import Policy, find_policy, shipped_policy
from turnwire.nodes.tools.executor import Executor
from turnwire.nodes.tools.mcp import connect
from turnwire.nodes.tools.registry import Registry
from turnwire.nodes.tools.tool import Tool
from turnwire.probe import ProviderHealth
from turnwire.retrieval.encoder import EmbeddedEncoder
from turnwire.retrieval.index import Index
from turnwire.retrieval.reranking import load_reranker
from turnwire.retrieval.search import Found, Retriever
from turnwire.retrieval.selection import RetrievalPolicy
from turnwire.retrieval.splitter import sentences
from turnwire.retrieval.words import content_words
from turnwire.settings import Settings

INDEX: Final = "index.db"
INSURANCE: Final = "insurance"
"""The corpus and the policy of the member agent."""


def corpora(settings: Settings) -> dict[str, Path]:
    """Return what is answered from: the operator's documents, or what ships."""
    return _own(settings) | (for_members() if settings.docs is None else {})


def _own(settings: Settings) -> dict[str, Path]:
    """Return the corpora that each have a guarded agent of their own."""
    return {"docs": settings.docs} if settings.docs is not None else shipped()


@dataclass(frozen=True, slots=True)
class Served:
    """What is served: graphs with their manifests, and the index that they search."""

    graphs: tuple[tuple[Graph, Manifest], ...] = ()
    index: Index | None = None
    pii: PiiRules = field(default_factory=PiiRules)
    """What spans and previews of tool calls keep of a text: by the first agent's policy, or as
    policies do by default."""
    studio: StudioParts | None = None
    """What agents from specs are made of; none: there are none."""
    closing: tuple[Callable[[], Awaitable[None]], ...] = ()
    """What is called at the end."""


class _OneCorpus:
    """Searches one corpus of an index."""

    def __init__(self, retriever: Retriever, corpus: str) -> None:
        self._retriever = retriever
        self._corpus = corpus

    def search(
        self, query: str, *, locale: str | None = None, rerank_hint: bool | None = None
    ) -> Found:
        """Return the passages that may answer ``query``."""
        return self._retriever.search(
            query, locale=locale, corpus=self._corpus, rerank_hint=rerank_hint
        )


def load_served(settings: Settings, health: ProviderHealth) -> Served:
    """Return what the settings serve; ``health`` is told how providers do."""
    if settings.agent is not None:
        return Served((load(settings.agent),))
    encoder = EmbeddedEncoder()
    encoder.encode(["warm"])
    index = Index(settings.data_dir / INDEX)
    reranker = load_reranker(settings.reranker) if settings.reranker is not None else None
    retriever = Retriever(index, encoder, RetrievalPolicy(), reranker=reranker)
    quoting = Quoting(encoder=encoder, sentences=sentences, words=content_words)
    answer = models(settings, quoting, health=health)
    parts = [_parts(settings, corpus, retriever, answer, encoder) for corpus in _own(settings)]
    graphs: list[tuple[Graph, Manifest]] = [(build(each), manifest(each)) for each in parts]
    pii = parts[0].policy.pii
    shelves = {each: _OneCorpus(retriever, each) for each in corpora(settings)}
    studio = StudioParts(
        models=answer.roles,
        model_name=answer.name,
        choices=answer.others,
        retrievers=shelves,
        encoder=encoder,
        now=system_now,
    )
    if settings.docs is not None:
        return Served(tuple(graphs), index, pii)
    if settings.portal_url is None:
        return Served(tuple(graphs), index, pii, studio)
    client = portal_client(settings.portal_url)
    desk = desk_tools(client, service_key=settings.portal_service_key or "")
    studio = replace(studio, tools=desk)
    general = _OneCorpus(retriever, INSURANCE)
    tools = member_tools(settings, client)
    member = member_parts(tools, answer, retriever=general, encoder=encoder)
    graphs.append((build_member(member), member_manifest(member)))
    return Served(tuple(graphs), index, pii, studio, closing=(client.aclose,))


def member_tools(settings: Settings, client: httpx.AsyncClient) -> list[Tool]:
    """Return the portal's tools, and those of the MCP servers of the settings that answer.

    Raises:
        SetupError: the package for MCP servers is not installed.
    """
    return [*portal_tools(client), *connect(settings.mcp_servers)]


def member_parts(
    tools: Sequence[Tool],
    models: "Models",
    *,
    retriever: SearchesDocuments,
    encoder: EmbeddedEncoder,
) -> MemberParts:
    """Return what the member agent is made of.

    The role ``executor`` chooses its tools; without that role, the answer's model does, unless it
    only quotes: then rules do.
    """
    policy = member_policy()
    policy.warm()
    answer = models.roles[ANSWER]
    chooses = models.roles.get(EXECUTOR) or (None if isinstance(answer, Quoting) else answer)
    return MemberParts(
        policy=policy,
        model=answer,
        model_name=models.name,
        models=models.others,
        retriever=retriever,
        encoder=encoder,
        judge=models.roles.get(JUDGE),
        actions=Executor(Registry(tools, locales=tuple(policy.texts)), rules=policy.pii),
        tools=tools,
        executor=chooses,
    )


@dataclass(frozen=True, slots=True)
class Models:
    """The models that answer, under the names that clients read."""

    name: str
    """What clients call the answer model."""
    roles: Mapping[Role, BaseChatModel]
    others: Mapping[str, BaseChatModel]
    """Those that a caller may choose to answer."""


def models(settings: Settings, quoting: Quoting, *, health: ProviderHealth | None = None) -> Models:
    """Return the models that answer, each behind a gateway; breakers and budgets are shared.

    Raises:
        SetupError: a package or a key is missing, or a name is not one.
    """
    terms = Terms(
        budget=Budget(tokens=settings.turn_tokens, usd=settings.turn_usd),
        patience=settings.model_patience_seconds,
        health=health,
        live_reasoning=True,  # it goes to the staff's wires; the answer's message is made by us
    )

    def model(chain: Chain) -> BaseChatModel:
        if chain == (link_of(QUOTING),):
            return quoting
        return Gateway(
            upstreams=[
                upstream(each, api_key=settings.key_of(each), quoting=quoting) for each in chain
            ],
            terms=terms,
        )

    chains = settings.chains
    others = {each.name: model((each,)) for each in map(link_of, settings.extra_models)}
    roles: dict[Role, BaseChatModel] = {role: model(chain) for role, chain in chains.items()}
    return Models(chains[ANSWER][0].name, roles, others)


def _parts(
    settings: Settings,
    corpus: str,
    retriever: Retriever,
    models: Models,
    encoder: EmbeddedEncoder,
) -> GuardedParts:
    slug, title, about = _ABOUT[corpus]
    policy = _policy(settings, corpus)
    policy.warm()
    return GuardedParts(
        policy=policy,
        model=models.roles[ANSWER],
        model_name=models.name,
        models=models.others,
        retriever=_OneCorpus(retriever, corpus),
        encoder=encoder,
        judge=models.roles.get(JUDGE),
        hitl=settings.hitl,
        review_expires_in=settings.review_expires_seconds,
        slug=slug,
        title=title,
        description=about,
    )


_ABOUT: Final = {
    "health": (
        "guarded",
        "Health information",
        "Answers from synthetic health leaflets in English and Spanish; not medical advice.",
    ),
    "turnwire": ("turnwire-docs", "turnwire's docs", "Answers from turnwire's own documentation."),
    "docs": ("guarded", "Your documents", "Answers from the documents that you gave."),
}


def _policy(settings: Settings, corpus: str) -> Policy:
    if settings.policy is not None:
        return find_policy(settings.policy)
    return shipped_policy(corpus if corpus in ("health", INSURANCE) else "docs")


def screen_of(settings: Settings, corpus: str) -> DocumentScreen | None:
    """Return what keeps private details out of a corpus's index, or none where nothing does."""
    policy = _policy(settings, corpus)
    return document_screen(policy.pii, policy.default_locale)
