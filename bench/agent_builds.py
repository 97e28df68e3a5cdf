"""What a turn waits for its agent that is made of a spec: built when first asked for, then found.

    python -m bench.agent_builds       # a few seconds, no server

The spec is ``support-triage``, which ships. It was read and checked before, when the server began
or staff put it: what is measured is ``get_or_build``, once on a new factory and then again on it.
"""

import asyncio
import time
from dataclasses import dataclass
from statistics import median
from typing import Final

from langgraph.checkpoint.memory import InMemorySaver

from turnwire.agents.studio.factory import Factory, shipped
from turnwire.agents.studio.parts import StudioParts
from turnwire.clock import system_now
from turnwire.graph.agent import Graph, GraphAgent
from turnwire.graph.manifest import Manifest
from turnwire.graph.serializer import StrictSerializer
from turnwire.models.quoting import Quoting
from turnwire.nodes.evidence.retrieve import Found
from turnwire.nodes.guardrails.examples import Encoder
from turnwire.retrieval.encoder import EmbeddedEncoder
from turnwire.storage.memory import MemoryStore

SLUG: Final = "support-triage"
_WARM: Final = 3
"""Builds before the first that counts: they load modules, which a server's first build does too,
but once in its life."""
_COLD: Final = 20
_HITS: Final = 2000


@dataclass(frozen=True, slots=True)
class Builds:
    """Medians of one measurement."""

    cold_ms: float
    warm_us: float


class _Unasked:
    """Is never asked: the graph is built and not run."""

    def search(
        self, query: str, *, locale: str | None = None, rerank_hint: bool | None = None
    ) -> Found:
        raise NotImplementedError


async def measure() -> Builds:
    """Return what building takes, and what finding takes."""
    encoder = EmbeddedEncoder()
    encoder.encode(["warm"])
    factories = [await _factory(encoder) for _ in range(_WARM + _COLD)]
    cold = [await _ask(each) for each in factories]
    warm = [await _ask(factories[0]) for _ in range(_HITS)]
    return Builds(median(cold[_WARM:]) * 1e3, median(warm) * 1e6)


async def _ask(factory: Factory) -> float:
    began = time.perf_counter()
    found = await factory.get_or_build(SLUG, "bench")
    took = time.perf_counter() - began
    assert found is not None
    return took


async def _factory(encoder: Encoder) -> Factory:
    parts = StudioParts(
        models={"answer": Quoting(encoder=encoder)},
        model_name="quoting",
        retrievers={"turnwire": _Unasked()},
        encoder=encoder,
    )
    saver = InMemorySaver(serde=StrictSerializer())

    def make(graph: Graph, manifest: Manifest) -> GraphAgent:
        return GraphAgent(graph, manifest, saver=saver, now=system_now)

    made = Factory(parts, MemoryStore(), make, specs={SLUG: shipped()[SLUG]})
    await made.open()
    return made


def builds() -> Builds:
    """Return a new measurement."""
    return asyncio.run(measure())


def main() -> None:
    """Measure and print."""
    found = builds()
    print(f"{SLUG}: built in {found.cold_ms:.1f} ms, found in {found.warm_us:.1f} µs")


if __name__ == "__main__":
    main()
