"""The real product, put together as the server does it, around an index in a scratch directory."""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

import yaml
from langchain_core.language_models import BaseChatModel

from turnwire.agents.guarded import GuardedParts, build
from turnwire.agents.member import MemberParts, member_policy
from turnwire.agents.member.tools import portal_client, portal_tools
from turnwire.corpora import shipped
from turnwire.errors import SetupError
from turnwire.models.catalog import chat_model, model_name
from turnwire.models.quoting import NAME, Quoting
from turnwire.nodes.guardrails.pii import PiiKind
from turnwire.nodes.guardrails.policy import PiiRules, Policy, shipped_policy
from turnwire.nodes.tools.executor import Executor
from turnwire.nodes.tools.registry import Registry
from turnwire.retrieval.encoder import EmbeddedEncoder
from turnwire.retrieval.index import Index
from turnwire.retrieval.ingest import ingest
from turnwire.retrieval.search import Retriever
from turnwire.retrieval.selection import RetrievalPolicy
from turnwire.retrieval.splitter import sentences
from turnwire.retrieval.words import content_words

Configuration: TypeAlias = Literal["offline", "pii", "model"]
CONFIGURATIONS: Final[tuple[Configuration, ...]] = get_args(Configuration)
_OF_A_LANGUAGE_MODEL: Final = ("NAME", "PERSON", "ADDRESS", "LOCATION")


@dataclass(frozen=True, slots=True)
class Model:
    """The model that answers in the configuration ``model``."""

    spec: str
    base_url: str | None = None
    api_key: str | None = None


@dataclass(frozen=True, slots=True)
class Product:
    """What is evaluated."""

    policy: Policy
    retriever: Retriever
    graph: Any
    documents: dict[tuple[str | None, str], str]
    """Locale and title of each leaflet → its name, such as ``en/sore-throat``."""
    quotes: bool
    """Whether answers are quoted word for word."""
    finds_names: bool
    member: MemberParts
    """Of the member agent; its tools are never called."""


@contextmanager
def product(configuration: Configuration, model: Model | None = None) -> Generator[Product]:
    """Build the product with the health leaflets and their policy.

    Raises:
        SetupError: the configuration needs what is not there; the text says what.
    """
    policy = _policy(configuration)
    policy.warm()
    encoder = EmbeddedEncoder()
    quoting = Quoting(encoder=encoder, sentences=sentences, words=content_words)
    answering, name = _model(configuration, model, quoting)
    with (
        tempfile.TemporaryDirectory(prefix="turnwire-evaluation-") as folder,
        Index(Path(folder) / "index.db") as index,
    ):
        ingest(leaflets(), corpus="health", index=index, encoder=encoder)
        retriever = Retriever(index, encoder, RetrievalPolicy())
        graph = build(
            GuardedParts(policy=policy, model=answering, model_name=name, retriever=retriever)
        )
        yield Product(
            policy=policy,
            retriever=retriever,
            graph=graph,
            documents=_documents(),
            quotes=isinstance(answering, Quoting),
            finds_names=configuration == "pii",
            member=_member(answering, name, encoder),
        )


def _member(model: BaseChatModel, name: str, encoder: EmbeddedEncoder) -> MemberParts:
    tools = portal_tools(portal_client("http://portal.invalid"))
    policy = member_policy()
    policy.warm()
    return MemberParts(
        policy=policy,
        model=model,
        model_name=name,
        encoder=encoder,
        actions=Executor(Registry(tools, locales=tuple(policy.texts)), rules=policy.pii),
        tools=tools,
    )


def _policy(configuration: Configuration) -> Policy:
    policy = shipped_policy("health")
    if configuration != "pii":
        return policy
    known: tuple[str, ...] = get_args(PiiKind)
    more = [each for each in _OF_A_LANGUAGE_MODEL if each in known]
    if not more:
        raise SetupError(
            "the configuration 'pii' cannot run: this turnwire looks for no names or addresses."
        )
    kinds = [*policy.pii.kinds, *(each for each in more if each not in policy.pii.kinds)]
    rules = PiiRules.model_validate({**policy.pii.model_dump(), "kinds": kinds})
    return policy.model_copy(update={"pii": rules})


def _model(
    configuration: Configuration, model: Model | None, quoting: Quoting
) -> tuple[BaseChatModel, str]:
    if configuration != "model":
        return quoting, NAME
    if model is None or model.spec == NAME:
        raise SetupError(
            "the configuration 'model' needs a model: set TURNWIRE_MODEL, as in 'openai:gpt-5'."
        )
    made = chat_model(model.spec, base_url=model.base_url, api_key=model.api_key)
    return made, model_name(model.spec)


def leaflets() -> Path:
    """Return the folder of the leaflets: a folder for each language."""
    return shipped()["health"]


def _documents() -> dict[tuple[str | None, str], str]:
    named: dict[tuple[str | None, str], str] = {}
    for path in sorted(leaflets().glob("*/*.md")):
        front = yaml.safe_load(path.read_text("utf-8").split("---")[1])
        named[front["locale"], front["title"]] = f"{path.parent.name}/{path.stem}"
    return named
