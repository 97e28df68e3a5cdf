"""A conversation's messages as a model may read them, and what their placeholders stand for.

What a placeholder stands for is worked out anew from the messages, in the same order, wherever it
is needed. Only what a tool brought is kept: beside its result, in ``response_metadata``, which no
provider is sent.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from turnwire.graph.plain import change
from turnwire.nodes.guardrails.inside import change_content
from turnwire.nodes.guardrails.pii import Span, redact
from turnwire.nodes.guardrails.pii_rules import PiiRules

KEPT_AT: Final = "turnwire_details"
"""Where in a tool's message stands what its placeholders stand for."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Messages as a model may read them."""

    messages: list[BaseMessage]
    mapping: Mapping[str, str] = field(repr=False)
    """Placeholder to original."""

    def restore(self, text: str) -> str:
        """Return ``text`` with the originals of its placeholders."""
        return restore(text, self.mapping)


class Concealer:
    """Puts placeholders for what a model may not read, and remembers what they stand for.

    Args:
        rules: what is done at the sink ``model``.
        mapping: placeholder to original, as far as known.
        names: finds names, where the rules ask for them.
        share: which of how many texts that are concealed beside each other, from 0.
    """

    def __init__(
        self,
        rules: PiiRules,
        mapping: Mapping[str, str],
        *,
        names: Callable[[str], Iterable[Span]] | None,
        share: tuple[int, int] = (0, 1),
    ) -> None:
        self.mapping = dict(mapping)
        self._masking = rules.masking("model")
        self._names = names
        self._share = share

    def conceal(self, text: str) -> str:
        """Return ``text`` with a placeholder for each private detail."""
        redaction = redact(
            hide(text, self.mapping),
            mapping=self.mapping,
            kinds=self._masking.kinds,
            regions=self._masking.regions,
            names=self._names,
            share=self._share,
        )
        self.mapping = dict(redaction.mapping)
        return redaction.text


def read(messages: Sequence[BaseMessage], rules: PiiRules, *, locale: str) -> Reading:
    """Return the messages for a model; those from the system are left as they are."""
    concealer = Concealer(rules, {}, names=rules.names("model", locale))
    return Reading([_read(each, concealer) for each in messages], concealer.mapping)


def _read(message: BaseMessage, concealer: Concealer) -> BaseMessage:
    if not isinstance(message, HumanMessage | AIMessage | ToolMessage):
        return message
    changed: dict[str, Any] = {}
    if isinstance(message, ToolMessage):
        concealer.mapping |= brought(message)
        metadata = cast("Mapping[str, Any]", message.response_metadata)
        changed["response_metadata"] = {
            key: value for key, value in metadata.items() if key != KEPT_AT
        }
    changed["content"] = change_content(message.content, concealer.conceal)
    if isinstance(message, AIMessage) and message.tool_calls:
        changed["tool_calls"] = [
            {**each, "args": change(each["args"], concealer.conceal)} for each in message.tool_calls
        ]
    return message.model_copy(update=changed)


def brought(message: ToolMessage) -> dict[str, str]:
    """Return what the placeholders in a tool's result stand for."""
    metadata = cast("Mapping[str, Any]", message.response_metadata)
    return dict(cast("Mapping[str, str]", metadata.get(KEPT_AT) or {}))


def restore(text: str, mapping: Mapping[str, str]) -> str:
    """Return ``text`` with originals for the placeholders of ``mapping``."""
    if not mapping or "[" not in text:
        return text
    form = re.compile("|".join(map(re.escape, mapping)))
    return form.sub(lambda found: mapping[found[0]], text)


def hide(text: str, mapping: Mapping[str, str]) -> str:
    """Return ``text`` with placeholders for the originals of ``mapping``, as they were written.

    So a name that a tool repeats is found again, where nothing around it tells that it is one.
    """
    given = {original: placeholder for placeholder, original in mapping.items()}
    if not any(each in text for each in given):
        return text
    longest = sorted(given, key=len, reverse=True)
    form = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)")
    return form.sub(lambda found: given[found[0]], text)
