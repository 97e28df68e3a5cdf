"""The agents that are made from specs, and the tool by which one of them keeps a draft."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pydantic import JsonValue

from turnwire.agents.studio.factory import Factory, Make, shipped
from turnwire.agents.studio.parts import StudioParts
from turnwire.agents.studio.primitives.architect import LONGEST_DRAFT, SAVE
from turnwire.agents.studio.primitives.common import username_of
from turnwire.clock import system_now
from turnwire.errors import AdmissionRefused
from turnwire.nodes.tools.tool import Caller, Run, Tool, ToolFailed
from turnwire.storage.base import Store

_PARAMETERS: Final[dict[str, JsonValue]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["slug", "spec"],
    "properties": {
        "slug": {"type": "string", "pattern": "^[a-z][a-z0-9-]{1,62}$"},
        "spec": {"type": "string", "minLength": 1, "maxLength": LONGEST_DRAFT},
    },
}


async def studio_of(
    parts: StudioParts | None, store: Store, make: Make, *, taken: frozenset[str]
) -> Factory | None:
    """Return the factory, with every agent that there is; none where there are no parts."""
    if parts is None:
        return None
    held: list[Factory] = []
    parts = replace(parts, tools=[*parts.tools, saving(held)])
    specs = {
        slug: text
        for slug, text in shipped().items()
        if slug != "order-desk" or any(each.name == "read_table" for each in parts.tools)
    }
    factory = Factory(parts, store, make, specs=specs, taken=taken)
    held.append(factory)
    await factory.open()
    return factory


def saving(held: list[Factory]) -> Tool:
    """Return the tool that keeps a draft in the factory that ``held`` has by then."""
    return Tool(
        name=SAVE,
        description="Keep the spec of a new agent as a draft, which nobody is served.",
        parameters=_PARAMETERS,
        run=_save(held),
        risk="write",
        receipt="version",
        summary={
            "en": "Keep the draft of a new agent: {slug}",
            "es": "Guardar el borrador de un agente nuevo: {slug}",
        },
    )


def _save(held: list[Factory]) -> Run:
    async def save(arguments: Mapping[str, JsonValue], caller: Caller) -> JsonValue:
        slug, text = str(arguments["slug"]), str(arguments["spec"])
        author = username_of(caller.principal)
        try:
            record = await held[0].put(slug, text, author=author, now=system_now(), phase="draft")
        except AdmissionRefused as refused:
            raise ToolFailed(str(refused)[:500], code="agent_invalid") from None
        return {"slug": slug, "version": str(record.version), "phase": record.phase}

    return save
