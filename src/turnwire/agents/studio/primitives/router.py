"""Chooses a route: a model says its name, or the nearest example does."""

import asyncio
import re
import threading
from typing import Final

import numpy as np
import numpy.typing as npt
from langgraph.runtime import Runtime

from turnwire.agents.studio.parts import Building, is_offline
from turnwire.agents.studio.primitives.common import Work, accounted, consult
from turnwire.agents.studio.spec import Router
from turnwire.agents.studio.state import AgentState
from turnwire.graph.context import TurnContext
from turnwire.language import folded
from turnwire.nodes.guardrails.examples import Encoder

_WORD: Final = re.compile(r"[a-z][a-z0-9_]*")
_TASK: Final = """\
You choose a route for a message that a user sent. The routes are:
{routes}

Reply with the name of one route and nothing else. Where none fits, reply {default}."""


def router(node: Router, building: Building) -> Work:
    """Return the node."""
    model = building.parts.model(node.role)
    nearest = _Nearest(node, building.parts.encoder)
    routes = "\n".join(f"- {name}: {each.about}" for name, each in node.destinations.items())
    task = _TASK.format(routes=routes, default=node.default)

    async def route(state: AgentState, runtime: Runtime[TurnContext]) -> AgentState:
        question = state.get("question", "")
        if is_offline(model):
            # In a thread: encoding takes a while, and others are waiting.
            return {"route": await asyncio.to_thread(nearest.route, question)}
        reply, completion = await consult(model, task, question)
        return {"route": named(reply, node), **accounted(state, completion)}

    return route


def named(reply: str, node: Router) -> str:
    """Return the route that is the first word of a reply, or the default."""
    found = _WORD.search(reply.lower())
    return found[0] if found and found[0] in node.destinations else node.default


class _Nearest:
    """The routes' examples, encoded once; ask from any thread."""

    def __init__(self, node: Router, encoder: Encoder | None) -> None:
        self._node = node
        self._encoder = encoder
        self._lock = threading.Lock()
        self._rows: npt.NDArray[np.float32] | None = None
        self._examples = [
            (name, example)
            for name, each in node.destinations.items()
            for listed in each.examples.values()
            for example in listed
        ]

    def route(self, question: str) -> str:
        """Return the route whose example is nearest, or the default where none is near."""
        if not self._examples or not question.strip():
            return self._node.default
        if self._encoder is None:
            same = {folded(example): name for name, example in self._examples}
            return same.get(folded(question), self._node.default)
        nearness = self._encoded(self._encoder) @ self._encoder.encode([question])[0]
        best = int(nearness.argmax())
        near = float(nearness[best]) >= self._node.similarity
        return self._examples[best][0] if near else self._node.default

    def _encoded(self, encoder: Encoder) -> npt.NDArray[np.float32]:
        with self._lock:
            if self._rows is None:
                self._rows = encoder.encode([example for _, example in self._examples])
            return self._rows
