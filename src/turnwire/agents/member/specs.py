"""The tools as a chat model is told of them, with two of the agent's own."""

from collections.abc import Sequence
from typing import Any, Final

from turnwire.nodes.tools.tool import Tool

SEARCH: Final = "search_knowledge"
ASK: Final = "ask_for_details"


def offered(tools: Sequence[Tool], *, searches: bool) -> list[dict[str, Any]]:
    """Return what ``bind_tools`` of any chat model of LangChain takes."""
    own = [_SEARCH] if searches else []
    acts = [each.name for each in tools if each.risk != "read"]
    asked = [_ask(acts)] if acts else []
    return [*own, *asked, *(_spec(e.name, e.description, dict(e.parameters)) for e in tools)]


def _spec(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    about = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": about}


_SEARCH: Final = _spec(
    SEARCH,
    "Search the insurance's policy documents. Use it for general questions: what is covered by "
    "which plan, how claims work, what a word means. One question a search, in its language.",
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["query"],
        "properties": {"query": {"type": "string", "maxLength": 500}},
    },
)


def _ask(tools: list[str]) -> dict[str, Any]:
    return _spec(
        ASK,
        "Ask the member for details that a tool needs and that they have not given.",
        {
            "type": "object",
            "additionalProperties": False,
            "required": ["tool", "missing"],
            "properties": {
                "tool": {"type": "string", "enum": tools},
                "missing": {"type": "array", "minItems": 1, "items": {"type": "string"}},
            },
        },
    )
