"""What is wrong with a spec as a whole: pure, over the graph that it draws."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from turnwire.agents.studio.forms import FormInvalid, read_form
from turnwire.agents.studio.spec import (
    END,
    START,
    Example,
    Filled,
    PortalTask,
    RagRetriever,
    Router,
    Spec,
    Thinker,
)

Path: TypeAlias = tuple[str | int, ...]
Found: TypeAlias = Iterator[tuple[Path, str]]

RESERVED: Final = frozenset({START, END, "intake", "closing", "limit_reached"})
APPROVE: Final = "approve_"
"""What the names of gates begin with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What there is for a spec to use."""

    tools: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """By name, whether it changes something, so that it needs an approval."""
    corpora: Collection[str] = ()
    policies: Collection[str] = ("docs", "health", "insurance")


def check(spec: Spec, known: Known) -> Found:
    """Yield the place and reason of each fault."""
    yield from _names(spec)
    yield from _uses(spec, known)
    yield from _operations(spec, known)
    wrong = list(_targets(spec))
    yield from wrong
    if not wrong:  # else the graph is not the one that is meant
        yield from _flow(spec)


def arrows(spec: Spec) -> dict[str, list[str]]:
    """Return the ways of the graph: by node, those that may come next."""
    ways: dict[str, list[str]] = {START: [], **{each.id: [] for each in spec.nodes}}
    for edge in spec.edges:
        ways[edge.source].append(edge.target)
    for source, routes in spec.routes.items():
        ways[source] += dict.fromkeys(routes.values())
    for target, gate in spec.interrupt_before.items():
        for source in list(ways):
            if target in ways[source] and gate.on_reject not in ways[source]:
                ways[source].append(gate.on_reject)
    return ways


def in_loops(spec: Spec) -> frozenset[str]:
    """Return the nodes from which a way leads back to themselves."""
    ways = arrows(spec)
    return frozenset(each.id for each in spec.nodes if each.id in _reached(ways, ways[each.id]))


def _reached(ways: Mapping[str, Sequence[str]], begin: Sequence[str]) -> set[str]:
    seen: set[str] = set()
    waiting = list(begin)
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += ways.get(node, ())
    return seen


def _names(spec: Spec) -> Found:
    seen: set[str] = set()
    for at, node in enumerate(spec.nodes):
        if node.id in seen:
            yield ("nodes", at, "id"), f"two nodes are called {node.id!r}"
        if node.id in RESERVED or node.id.startswith(APPROVE):
            yield ("nodes", at, "id"), f"the name {node.id!r} is turnwire's own"
        seen.add(node.id)


def _uses(spec: Spec, known: Known) -> Found:
    policies = known.policies
    if spec.policy not in policies:
        yield ("policy",), f"there is no policy {spec.policy!r}; there are {_listed(policies)}"
    for at, tool in enumerate(spec.tools):
        if tool not in known.tools:
            yield ("tools", at), f"there is no tool {tool!r}; there are {_listed(known.tools)}"
    for tool in spec.access.tools:
        if tool not in spec.tools:
            yield ("access", "tools", tool), f"{tool!r} is none of the agent's tools"
    yield from _choices(spec, known)


def _choices(spec: Spec, known: Known) -> Found:
    for at, node in enumerate(spec.nodes):
        if isinstance(node, RagRetriever) and node.corpus not in known.corpora:
            reason = f"there is no corpus {node.corpus!r}; there are {_listed(known.corpora)}"
            yield ("nodes", at, "corpus"), reason
        if isinstance(node, Router) and node.default not in node.destinations:
            reason = f"the default {node.default!r} is none of the destinations"
            yield ("nodes", at, "default"), reason


def _operations(spec: Spec, known: Known) -> Found:
    """Yield what is wrong with calls: each needs its tool, and an action its approval."""
    for at, node in enumerate(spec.nodes):
        if not isinstance(node, Thinker | PortalTask):
            continue
        for number, each in enumerate(node.operations):
            if each not in spec.tools:
                reason = f"the operation {each!r} is missing in the agent's tools"
                yield ("nodes", at, "operations", number), reason
        if isinstance(node, Thinker):
            yield from _examples(node, ("nodes", at, "offline"))
            continue
        acts = [each for each in node.operations if known.tools.get(each)]
        if acts and node.id not in spec.interrupt_before:
            reason = f"{', '.join(acts)} changes something; name {node.id!r} in interrupt_before"
            yield ("nodes", at), reason
        if len(acts) > 0 and len(node.operations) > 1:
            reason = "an operation that changes something needs a node of its own"
            yield ("nodes", at, "operations"), reason


def _examples(node: Thinker, path: Path) -> Found:
    for at, example in enumerate(node.offline):
        if example.operation not in node.operations:
            reason = f"{example.operation!r} is none of the node's operations"
            yield (*path, at, "operation"), reason
        for number, form in enumerate(example.say):
            try:
                named = read_form(form).names
            except FormInvalid as error:
                yield (*path, at, "say", number), str(error)
                continue
            unknown = _used(example) - named
            if unknown:
                reason = f"params uses {_listed(unknown)}, which this form does not find"
                yield (*path, at, "say", number), reason


def _used(example: Example) -> set[str]:
    return {name for value in example.params.values() for name in _names_in(value)}


def _names_in(value: Filled) -> Iterator[str]:
    match value:
        case str():
            if value.startswith("{") and value.endswith("}"):
                yield value[1:-1]
        case tuple():
            for each in value:
                yield from _names_in(each)
        case Mapping():
            for each in value.values():
                yield from _names_in(each)
        case _:
            pass


def _targets(spec: Spec) -> Found:
    ids = {each.id for each in spec.nodes}
    sources, targets = ids | {START}, ids | {END}
    named: list[tuple[Path, str, set[str]]] = []
    for at, edge in enumerate(spec.edges):
        named.append((("edges", at, "from"), edge.source, sources))
        named.append((("edges", at, "to"), edge.target, targets))
    for source, routes in spec.routes.items():
        named.append((("routes", source), source, ids))
        named += [(("routes", source, each), target, targets) for each, target in routes.items()]
    named += [(("interrupt_before", each), each, ids) for each in spec.interrupt_before]
    for path, name, there in named:
        if name not in there:
            yield path, f"there is no node {name!r}"
    for node, gate in spec.interrupt_before.items():
        if gate.on_reject not in targets - {node}:
            reason = f"{gate.on_reject!r} is no node that a rejection can go to"
            yield ("interrupt_before", node, "on_reject"), reason


def _flow(spec: Spec) -> Found:
    ways = arrows(spec)
    begins = [each.target for each in spec.edges if each.source == START]
    if len(begins) != 1:
        yield ("edges",), f"one edge has to lead from {START!r}; there are {len(begins)}"
    reached = _reached(ways, ways[START])
    loops = in_loops(spec)
    for at, node in enumerate(spec.nodes):
        if node.id not in reached:
            yield ("nodes", at), f"no way leads to the node {node.id!r}"
        elif END not in _reached(ways, [node.id]):
            yield ("nodes", at), f"no way leads from the node {node.id!r} to {END!r}"
        yield from _leaving(spec, at)
    if loops and spec.limits.iterations is None:
        named = _listed(loops)
        yield ("limits",), f"the loop of {named} has no limit; give limits.iterations"


def _leaving(spec: Spec, at: int) -> Found:
    """Yield what is wrong with the ways that lead from a node."""
    node = spec.nodes[at]
    edges = [each for each in spec.edges if each.source == node.id]
    routes = spec.routes.get(node.id, {})
    possible = node.routes()
    if routes and not possible:
        yield ("routes", node.id), f"a {node.type} sets no route; use edges"
    elif routes and edges:
        yield ("routes", node.id), "has edges as well; a node has routes or one edge"
    elif routes:
        for missing in (each for each in possible if each not in routes):
            yield ("routes", node.id), f"the route {missing!r} has no target"
        for extra in (each for each in routes if each not in possible):
            yield ("routes", node.id, extra), f"the node never sets {extra!r}"
    elif len(edges) > 1:
        yield ("nodes", at), f"{len(edges)} edges lead from {node.id!r}; it can have one"
    elif not edges:
        yield ("nodes", at), f"nothing leads from {node.id!r}; give it an edge or routes"


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names)) or "none"
