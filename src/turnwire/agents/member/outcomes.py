"""What the member reads of calls without a model: how actions ended, and what reads brought."""

from collections.abc import Callable, Sequence
from typing import Final

from turnwire.agents.member.parts import MemberParts
from turnwire.agents.member.sentences import MOST, sentences
from turnwire.language import folded
from turnwire.nodes.guardrails.examples import Encoder
from turnwire.nodes.tools.tool import SIGN_IN_REQUIRED, Outcome

_BEGINNING: Final = 5
_NEAR: Final = 0.45
"""How near (cosine) an item's name has to be to the question to be what it is about."""
_TELLING: Final = "name"

_CODES: Final = {
    "rejected": "rejected",
    "expired": "expired",
    "outcome_unknown": "unknown",
    "invalid_arguments": "invalid",
}


def is_action(parts: MemberParts, outcome: Outcome) -> bool:
    """Whether this was a call that acts."""
    tool = parts.tool(outcome.call.name)
    return tool is not None and tool.risk != "read"


def lacks_sign_in(outcomes: Sequence[Outcome]) -> bool:
    """Whether a call was refused because the member is not signed in."""
    return any(each.code == SIGN_IN_REQUIRED for each in outcomes)


def ending_of(parts: MemberParts, outcome: Outcome, locale: str) -> str:
    """Return the fixed text about how an action ended."""
    name = outcome.call.name
    if outcome.status == "ok":
        receipt = _receipt(parts, outcome)
        if receipt is None:
            return parts.texts.say("done_bare", locale)
        key = parts.texts.first(f"done_{name}", "done")
        return parts.texts.say(key, locale, receipt=receipt)
    code = _CODES.get(outcome.code or "", "failed")
    key = parts.texts.first(f"{code}_{name}", code)
    return parts.texts.say(key, locale, error=outcome.error or "")


def _receipt(parts: MemberParts, outcome: Outcome) -> str | None:
    tool = parts.tool(outcome.call.name)
    result = outcome.result if isinstance(outcome.result, dict) else {}
    receipt = result.get(tool.receipt) if tool is not None and tool.receipt else None
    return str(receipt) if isinstance(receipt, str | int) else None


def reading_of(parts: MemberParts, outcome: Outcome, question: str, locale: str) -> str:
    """Return what a read brought, in sentences; of a list what the question is about."""
    if outcome.status == "error":
        return parts.texts.say("read_failed", locale, error=outcome.error or "")
    result = outcome.result
    more = 0
    if isinstance(result, list):
        names = [str(each.get(_TELLING, "")) if isinstance(each, dict) else "" for each in result]
        places = _about(names, question, parts.encoder)
        result = [result[each] for each in places]
        more = max(0, len(result) - MOST)
    told = sentences(outcome.call.name, result, locale=locale)
    if not told:
        return parts.texts.say("read_nothing", locale)
    rest = [parts.texts.say("more", locale, count=more)] if more else []
    lines = [*told, *rest]
    return lines[0] if len(lines) == 1 else "\n".join(f"- {each}" for each in lines)


def _about(names: Sequence[str], question: str, encoder: Encoder | None) -> list[int]:
    """Return the places of the names that a question speaks of, or all of them."""
    everything = list(range(len(names)))
    if not any(names):
        return everything
    words = _beginnings(question)
    named = [at for at in everything if _beginnings(names[at]) & words - _COMMON]
    if named or encoder is None:
        return named or everything
    nearness = encoder.encode(list(names)) @ encoder.encode([question])[0]
    near = [at for at in everything if float(nearness[at]) >= _NEAR]
    return near or everything


def _beginnings(text: str) -> set[str]:
    return {each[:_BEGINNING] for each in folded(text).replace("-", " ").split() if len(each) > 3}


_COMMON: Final = _beginnings("treatment procedures care health cover covered tratamiento")

Says = Callable[[str], None]
