"""What a graph cannot say about itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from turnwire.events import TopologyFlags
from turnwire.graph.memory import Remember


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The small file that travels with a graph."""

    slug: str
    title: str
    description: str = ""
    model: str = "unknown"
    """The answer model's name, for clients."""
    models: tuple[str, ...] = ()
    """Other models that a caller may choose; the graph reads the choice off its context."""
    version: str | None = None
    """Of an agent that is made from a spec, which version of it."""
    answer_node: str | None = None
    """The node whose model calls the member reads; none: every call not tagged ``nostream``."""
    speaks: bool = False
    """Whether the answer node says its words through :func:`turnwire.graph.emit.speaker`; the
    slower callbacks of LangChain are then left off."""
    kinds: Mapping[str, str] = field(default_factory=dict[str, str])
    """What each node is for (``guardrail``, ``retrieval``, ``model``, ``review``), for clients."""
    remember: Remember | None = None
    """What is kept of a turn that has ended; none: all of it, with the states before it."""
    flags: TopologyFlags = field(default_factory=TopologyFlags)
