"""What the member reads of calls without a model: how actions ended, and what reads brought."""

from collections.abc import Sequence
from typing import Final

from turnwire.agents.member.choosing import chosen, the_one
from turnwire.agents.member.parts import MemberParts
from turnwire.agents.member.sentences import MOST, sentences
from turnwire.agents.member.sentences import is_one as is_one_of
from turnwire.nodes.tools.tool import SIGN_IN_REQUIRED, Outcome

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


def reading_of(
    parts: MemberParts, outcome: Outcome, question: str, locale: str, *, is_one: bool = False
) -> str:
    """Return what a read brought, in sentences; of a list what the question is about.

    With ``is_one``, one item of the list was asked about and not which: that one is told where
    there can be no doubt, or else the member is asked.
    """
    if outcome.status == "error":
        return parts.texts.say("read_failed", locale, error=outcome.error or "")
    name, result = outcome.call.name, outcome.result
    rest: list[str] = []
    if isinstance(result, list):
        if is_one and (one := the_one(name, result, question, locale)) is not None:
            return " ".join(sentences(parts.phrasings.listed_by(name), one, locale=locale))
        result = chosen(name, result, question, parts.encoder, locale)
        more = max(0, len(result) - MOST)
        key = "more_one" if is_one_of(more, locale) else "more"
        rest = [parts.texts.say(key, locale, count=more)] if more else []
    told = sentences(name, result, locale=locale, question=question)
    if not told:
        return parts.texts.say(parts.texts.first(f"read_nothing_{name}", "read_nothing"), locale)
    lines = [*told, *rest]
    if parts.texts.has(beside := f"beside_{name}"):
        lines.append(parts.texts.say(beside, locale))
    listed = lines[0] if len(lines) == 1 else "\n".join(f"- {each}" for each in lines)
    return f"{listed}\n\n{parts.texts.say('which', locale)}" if is_one else listed
