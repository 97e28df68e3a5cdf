"""A spec as a LangGraph graph: intake → the spec's nodes, with gates and limits → closing.

A gate stands in front of each node of `interrupt_before`. Wherever a way leads on within a loop,
the limits are looked at first.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, assert_never, cast

from langgraph.graph import END as LANGGRAPH_END
from langgraph.graph import START as LANGGRAPH_START
from langgraph.graph import StateGraph
from langgraph.runtime import Runtime

from turnwire.agents.guarded.memory import remembering
from turnwire.agents.studio.checking import APPROVE
from turnwire.agents.studio.limits import exceeded, limit_reached
from turnwire.agents.studio.parts import Building, StudioParts
from turnwire.agents.studio.primitives.architect import architect
from turnwire.agents.studio.primitives.common import Work
from turnwire.agents.studio.primitives.evaluator import evaluator
from turnwire.agents.studio.primitives.gates import APPROVED, REJECTED, gate
from turnwire.agents.studio.primitives.guards import (
    closing,
    guardrail_input,
    guardrail_output,
    intake,
    review,
)
from turnwire.agents.studio.primitives.llm_agent import llm_agent
from turnwire.agents.studio.primitives.memory import memory
from turnwire.agents.studio.primitives.portal_task import portal_task
from turnwire.agents.studio.primitives.retriever import rag_retriever
from turnwire.agents.studio.primitives.router import router
from turnwire.agents.studio.primitives.talking import message
from turnwire.agents.studio.primitives.thinker import thinker
from turnwire.agents.studio.spec import (
    END,
    START,
    AnyNode,
    Architect,
    Evaluator,
    GuardrailInput,
    GuardrailOutput,
    LlmAgent,
    Memory,
    Message,
    PortalTask,
    RagRetriever,
    Review,
    Router,
    Spec,
    Thinker,
)
from turnwire.agents.studio.state import AgentState
from turnwire.events import TopologyFlags
from turnwire.graph.agent import Graph
from turnwire.graph.context import TurnContext
from turnwire.graph.manifest import Manifest

LIMIT: Final = "limit_reached"
KINDS: Final[Mapping[type[Any], str]] = {
    GuardrailInput: "guardrail",
    GuardrailOutput: "guardrail",
    Review: "review",
    Router: "router",
    RagRetriever: "retrieval",
    LlmAgent: "model",
    Thinker: "thinker",
    PortalTask: "tool",
    Evaluator: "evaluator",
    Message: "node",
    Memory: "memory",
    Architect: "architect",
}
"""What nodes of a type are for, as clients read it."""


def compile_spec(
    spec: Spec, parts: StudioParts, *, allowed: frozenset[str] | None = None
) -> tuple[Graph, Manifest]:
    """Return the graph of a spec that was checked, and its manifest.

    ``allowed`` are the names of the tools that its users may use; none: all of the agent's.
    """
    building = Building(spec, parts, frozenset(spec.tools) if allowed is None else allowed)
    graph = StateGraph(AgentState, context_schema=TurnContext)
    add_node = cast("Any", graph.add_node)
    add_node("intake", intake(building))
    add_node("closing", closing(building))
    for node in spec.nodes:
        work = _work(node, building)
        add_node(node.id, _counted(work) if node.id in building.loops else work)
    for name, rule in spec.interrupt_before.items():
        add_node(f"{APPROVE}{name}", gate(name, rule, building))
    if building.loops:
        add_node(LIMIT, limit_reached(building))
        graph.add_edge(LIMIT, "closing")
    _connect(graph, building)
    graph.add_edge("closing", LANGGRAPH_END)
    compiled = cast("Any", graph).compile(name=spec.slug)
    return cast("Graph", compiled), manifest(building)


def manifest(building: Building) -> Manifest:
    """Return what the graph cannot say about itself."""
    spec = building.spec
    kinds = {each.id: KINDS[type(each)] for each in spec.nodes}
    kinds |= {f"{APPROVE}{each}": "approval" for each in spec.interrupt_before}
    speaks = [each.id for each in spec.nodes if isinstance(each, LlmAgent)]
    return Manifest(
        slug=spec.slug,
        title=spec.title,
        description=spec.description,
        model=building.parts.model_name,
        models=tuple(building.parts.choices),
        answer_node=speaks[-1] if speaks else None,
        speaks=True,
        kinds=kinds,
        remember=remembering(building.guarded),
        flags=TopologyFlags(
            rag=building.retrieves,
            hitl=building.reviews or bool(spec.interrupt_before),
            judge=building.guarded.judge is not None,
        ),
    )


def _work(node: AnyNode, building: Building) -> Work:  # noqa: C901 - one line a type
    match node:
        case GuardrailInput():
            return guardrail_input(node, building)
        case GuardrailOutput():
            return guardrail_output(node, building)
        case Review():
            return review(node, building)
        case Router():
            return router(node, building)
        case RagRetriever():
            return rag_retriever(node, building)
        case LlmAgent():
            return llm_agent(node, building)
        case Thinker():
            return thinker(node, building)
        case PortalTask():
            return portal_task(node, building)
        case Evaluator():
            return evaluator(node, building)
        case Message():
            return message(node, building)
        case Memory():
            return memory(node, building)
        case Architect():
            return architect(node, building)
        case _:
            assert_never(node)


def _counted(work: Work) -> Work:
    """Return a node of a loop, which counts how often it works."""

    async def counted(state: AgentState, runtime: Runtime[TurnContext]) -> AgentState:
        update = await work(state, runtime)
        return {**update, "iteration": state.get("iteration", 0) + 1}

    return counted


def _connect(graph: Any, building: Building) -> None:  # noqa: ANN401 - LangGraph's open generics
    spec = building.spec

    def arrival(target: str) -> str:
        if target == END:
            return "closing"
        return f"{APPROVE}{target}" if target in spec.interrupt_before else target

    for edge in spec.edges:
        if edge.source == START:
            graph.add_edge(LANGGRAPH_START, "intake")
            graph.add_edge("intake", arrival(edge.target))
        else:
            _lead(graph, building, edge.source, {"": arrival(edge.target)})
    for source, routes in spec.routes.items():
        _lead(graph, building, source, {each: arrival(to) for each, to in routes.items()})
    for name, rule in spec.interrupt_before.items():
        ways = {APPROVED: name, REJECTED: arrival(rule.on_reject)}
        graph.add_conditional_edges(f"{APPROVE}{name}", _by_route(ways), list(ways.values()))


def _lead(graph: Any, building: Building, source: str, ways: Mapping[str, str]) -> None:  # noqa: ANN401
    """Add the ways that lead on from a node, past the limits where they stay in a loop."""
    targets = list(dict.fromkeys(ways.values()))
    looping = source in building.loops and any(
        each.removeprefix(APPROVE) in building.loops for each in targets
    )
    if not looping and len(ways) == 1:
        graph.add_edge(source, targets[0])
        return
    choose = _by_route(ways)
    if looping:
        choose = _limited(choose, building)
        targets.append(LIMIT)
    graph.add_conditional_edges(source, choose, targets)


def _by_route(ways: Mapping[str, str]) -> Callable[[AgentState], str]:
    only = next(iter(ways.values())) if len(ways) == 1 else None

    def by_route(state: AgentState) -> str:
        return only or ways[state.get("route", "")]

    return by_route


def _limited(
    choose: Callable[[AgentState], str], building: Building
) -> Callable[[AgentState], str]:
    limits, loops = building.spec.limits, building.loops

    def limited(state: AgentState) -> str:
        target = choose(state)
        if target.removeprefix(APPROVE) not in loops:
            return target
        over = exceeded(limits, state, now=building.parts.now())
        return LIMIT if over is not None else target

    return limited
