"""The agents that are served here."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from turnwire.engine.agent import Agent
from turnwire.errors import AgentInvalid, NotFound
from turnwire.server.access import Access
from turnwire.server.openapi import KEY, refuses
from turnwire.server.turns import Turns


def router(access: Access, turns: Turns) -> APIRouter:
    """Return the routes of agents."""
    routes = APIRouter(prefix="/agents", tags=["agents"])

    @routes.get("", responses=refuses(*KEY))
    async def agents(request: Request) -> Response:
        """The agents that this server serves; the first is the default."""
        caller = await access.require(request, "chat")
        found = await turns.agents.listed(caller)
        return JSONResponse({"agents": [_agent(each) for each in found]})

    @routes.get("/{slug}", responses=refuses(*KEY, NotFound, AgentInvalid))
    async def agent(request: Request, slug: str) -> Response:
        """One agent, with its graph."""
        caller = await access.require(request, "chat")
        found = await turns.agents.named(slug, caller)
        topology = found.topology.model_dump(mode="json")
        return JSONResponse({**_agent(found), "topology": topology})

    return routes


def _agent(agent: Agent) -> dict[str, Any]:
    return {
        "slug": agent.slug,
        "title": agent.title,
        "description": agent.description,
        "model": agent.model,
        "models": list(agent.models),
    }
