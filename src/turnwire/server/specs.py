"""Agents' specs: read, put and rolled back by staff."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Protocol, cast

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.responses import JSONResponse, Response

from turnwire.clock import Now
from turnwire.errors import (
    AgentInvalid,
    InvalidRequest,
    NotFound,
    RequestInvalid,
    RequestTooLarge,
)
from turnwire.server.access import Access
from turnwire.server.agent_lookup import username_of
from turnwire.server.bodies import parse, read_json
from turnwire.server.openapi import KEY, refuses, takes
from turnwire.storage.specs import SpecRecord


class Specs(Protocol):
    """Where specs are kept and judged."""

    def version(self, slug: str) -> str | None:
        """Return the version that new turns get."""
        ...

    async def versions(self, slug: str) -> tuple[Sequence[SpecRecord], str | None]:
        """Return what was kept of an agent, oldest first, and the text of the current version."""
        ...

    async def put(self, slug: str, text: str, *, author: str, now: int) -> SpecRecord:
        """Keep a text as the agent's next version, which new turns get."""
        ...

    async def roll_back(self, slug: str, version: str, *, author: str, now: int) -> SpecRecord:
        """Keep an earlier version, or a draft, as the agent's next one."""
        ...


class PutSpec(BaseModel):
    """A spec's text, or the version that is to be the agent again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    spec: Annotated[str, Field(min_length=1, max_length=65_536)] | None = None
    """YAML."""
    version: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,40}$")] | None = None

    @model_validator(mode="after")
    def _is_one(self) -> "PutSpec":
        if (self.spec is None) == (self.version is None):
            raise ValueError("give `spec` or `version`")
        return self


def router(access: Access, library: Callable[[], object], *, now: Now) -> APIRouter:
    """Return the routes of specs; ``library`` returns where they are kept, or none."""
    routes = APIRouter(prefix="/studio/agents", tags=["studio"])

    def specs() -> Specs:
        found = library()
        if found is None:
            raise NotFound("No agents from specs are served here.")
        return cast("Specs", found)

    @routes.get("/{slug}", responses=refuses(*KEY, NotFound))
    async def spec(request: Request, slug: str) -> Response:
        """An agent's spec, and its versions, oldest first."""
        await access.require(request, "studio")
        records, text = await specs().versions(slug)
        if text is None and not records:
            raise NotFound("There is no such agent.")
        shown = [_version(each) for each in records]
        about = {"slug": slug, "version": specs().version(slug), "spec": text}
        return JSONResponse({**about, "versions": shown})

    @routes.put(
        "/{slug}",
        responses=refuses(
            *KEY, NotFound, InvalidRequest, RequestInvalid, AgentInvalid, RequestTooLarge
        ),
        **takes(PutSpec),
    )
    async def put(request: Request, slug: str) -> Response:
        """Put a spec as the agent's next version, or roll back; running turns keep theirs."""
        caller = await access.require(request, "studio")
        data, _ = await read_json(request)
        asked = parse(PutSpec, data)
        about: dict[str, Any] = {"author": username_of(caller.id), "now": now()}
        if asked.spec is not None:
            record = await specs().put(slug, asked.spec, **about)
        else:
            record = await specs().roll_back(slug, asked.version or "", **about)
        return JSONResponse({"slug": slug, **_version(record)})

    return routes


def _version(record: SpecRecord) -> dict[str, Any]:
    return {
        "version": str(record.version),
        "phase": record.phase,
        "author": record.author,
        "created_ms": record.created_ms,
        "spec": record.text,
    }
