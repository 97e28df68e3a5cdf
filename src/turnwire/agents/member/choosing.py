"""Which items of a list that was read a question is about: pure."""

from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from turnwire.agents.member.sentences import named
from turnwire.language import folded
from turnwire.nodes.guardrails.examples import Encoder

_BEGINNING: Final = 5
_SHORTEST: Final = 4
_NEAR: Final = 0.45
"""How near (cosine) an item's name has to be to the question to be what it is about."""
_TELLING: Final = {"get_claims": "treatment", "list_documents": "title"}
"""The field that says what an item is; ``name`` where nothing is said here."""
_OPEN: Final = frozenset(["submitted", "in_review", "needs_information"])
_WHY: Final = ("why", "por que", "reason", "motivo")
_DECLINED: Final = ("declin", "reject", "refus", "denied", "turned down", "rechaz", "deneg")


def chosen(
    tool: str, items: Sequence[JsonValue], question: str, encoder: Encoder | None, locale: str
) -> list[JsonValue]:
    """Return the items that a question speaks of, or all of them."""
    field = _TELLING.get(tool, "name")
    names = [str(each.get(field) or "") if isinstance(each, dict) else "" for each in items]
    if not any(names):
        return list(items)
    words = _beginnings(question) - _COMMON
    spoken = [at for at, each in enumerate(names) if _beginnings(named(each, locale)) & words]
    if not spoken and encoder is not None and tool not in _TELLING:
        nearness = encoder.encode(names) @ encoder.encode([question])[0]
        spoken = [at for at in range(len(names)) if float(nearness[at]) >= _NEAR]
    return [items[at] for at in spoken] or list(items)


def the_one(tool: str, items: Sequence[JsonValue], question: str, locale: str) -> JsonValue:
    """Return the one claim that "my claim" is about, or none where nobody can tell.

    It is the one whose treatment is named, the only one that was declined where the question says
    so, or the only one that is open; where the question is why, the only one that is decided.
    """
    among = chosen(tool, items, question, None, locale)
    if len(among) == 1:
        return among[0]
    asked = folded(question)
    claims = [each for each in among if isinstance(each, dict)]
    declined = [each for each in claims if each.get("status") == "declined"]
    if len(declined) == 1 and any(each in asked for each in _DECLINED):
        return declined[0]
    asks_why = any(each in asked for each in _WHY)
    fitting = [each for each in claims if (each.get("status") in _OPEN) is not asks_why]
    return fitting[0] if len(fitting) == 1 else None


def _beginnings(text: str) -> set[str]:
    words = folded(text).replace("-", " ").replace("'", " ").split()
    bare = (each.strip('.,;:!?¡¿()"«»') for each in words)
    return {each[:_BEGINNING] for each in bare if len(each) >= _SHORTEST}


_COMMON: Final = _beginnings(
    "treatment procedures care health cover covered tratamiento plan policy insurance claim claims "
    "decision document documents poliza seguro reclamacion reclamaciones documento documentos with"
)
