"""What the guarded agent keeps of a turn for the later ones, under the policy's sink ``memory``."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from langchain_core.messages import BaseMessage

from turnwire.agents.guarded.parts import GuardedParts
from turnwire.graph.memory import Remember
from turnwire.nodes.guardrails.inside import change_content
from turnwire.nodes.guardrails.redactor import mask

_WORDS: Final = ("question", "query", "draft")
"""Channels with the member's words or the answer's; the next turn empties them."""


def remembering(parts: GuardedParts) -> Remember | None:
    """Return how a turn is remembered, or none where its words are kept as they are.

    A mark such as ``[PHONE]`` stands for nothing that a later turn could put back.
    """
    if not parts.policy.pii.masking("memory").kinds:
        return None

    def kept(state: Mapping[str, Any]) -> Mapping[str, Any]:
        masked = masked_for_memory(parts, state)
        messages = cast("Sequence[BaseMessage]", state.get("messages", ()))
        changed: dict[str, Any] = {each: masked(str(state.get(each, ""))) for each in _WORDS}
        changed["messages"] = [
            each.model_copy(update={"content": change_content(each.content, masked)})
            for each in messages
        ]
        return changed

    async def remember(state: Mapping[str, Any]) -> Mapping[str, Any]:
        # In a thread: private details are looked for in the whole conversation.
        return await asyncio.to_thread(kept, state)

    return remember


def masked_for_memory(parts: GuardedParts, state: Mapping[str, Any]) -> Callable[[str], str]:
    """Return what makes of a text what may be remembered of it, in the turn's language."""
    rules, default = parts.policy.pii, parts.policy.default_locale
    masking = rules.masking("memory")
    names = rules.names("memory", str(state.get("locale") or default))

    def masked(text: str) -> str:
        found = mask(text, masking, names=names)
        return f"[{found.blocked}]" if found.blocked else found.text

    return masked
