"""The graph and what its nodes did."""

from typing import Literal

from pydantic import Field

from turnwire.events.base import BaseEvent, Fact, is_none

NodeStatus = Literal["executed", "skipped", "failed"]


class TopologyNode(Fact):
    """One node of the agent's graph."""

    id: str
    kind: str
    """What the node is for: ``guardrail``, ``retrieval``, ``model``, ``review``, ``node`` …"""
    conditional: bool
    """Whether a turn may bypass it: every edge into it is conditional."""


class TopologyEdge(Fact):
    """One edge of the agent's graph."""

    source: str
    target: str
    conditional: bool


class TopologyFlags(Fact):
    """What the graph was compiled with."""

    rag: bool = False
    hitl: bool = False
    judge: bool = False


class Topology(Fact):
    """The agent's graph as a client may draw it."""

    nodes: tuple[TopologyNode, ...] = ()
    edges: tuple[TopologyEdge, ...] = ()
    flags: TopologyFlags = TopologyFlags()


class Failover(Fact):
    """A node's model did not answer, and another one of its chain did, or none."""

    failed: tuple[str, ...]
    """The providers that failed, in order: ``provider:model (outcome)``."""
    answered: str | None = None
    """``provider:model``; none: nobody did."""


class NodeStarted(BaseEvent):
    """A node began to work."""

    type: Literal["node.started"] = "node.started"
    node: str


class NodeCompleted(BaseEvent):
    """A node ended, or was really bypassed (``skipped``, which has no start)."""

    type: Literal["node.completed"] = "node.completed"
    node: str
    status: NodeStatus = "executed"
    duration_ms: int = 0
    route: str | None = None
    failover: Failover | None = Field(default=None, exclude_if=is_none)
    """Where one of the node's calls failed: who did, and who answered instead."""
