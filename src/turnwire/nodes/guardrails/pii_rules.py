"""What a policy does about personal data: by kind, and by where a text goes."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, model_validator

from turnwire.nodes.guardrails.pii import DEFAULT_KINDS, DEFAULT_REGIONS, NAME_KINDS, PiiKind
from turnwire.nodes.guardrails.pii_name_rules import names_by_rule
from turnwire.nodes.guardrails.pii_names import FindNames, names_finder
from turnwire.nodes.guardrails.redactor import Action, Masking, mask
from turnwire.nodes.guardrails.rules import Strict

Sink: TypeAlias = Literal["model", "answer", "log", "tools", "index", "memory"]
"""Where a text goes.

``model``: what a model reads. ``answer``: what it adds of its own. ``log``: what spans and previews
of tool calls keep. ``tools``: what tools are called with. ``index``: documents that are searched.
``memory``: what a conversation keeps of a turn for the later ones.
"""
NAMED_CHARS: Final = 2_000
"""Characters of a logged text about whose names a model is asked; a longer one would take
seconds, so it is looked through by the rules alone."""


class Sinks(Strict):
    """What is done about personal data that goes somewhere."""

    model: Action | None = None
    """None: what ``action`` says."""
    answer: Action = "redact"
    log: Action = "redact"
    tools: Action = "none"
    index: Action = "none"
    memory: Action = "none"


class PiiRules(Strict):
    """What is done about personal data.

    A value that the member wrote, or that stands in the evidence, may always be said in the
    answer: it is nobody's secret there. ``block`` refuses the text: the member's message, the
    answer from there on, the text in a span, the call of a tool, the
    passage, the remembered message.
    """

    action: Literal["redact", "block"] = "redact"
    """For a member's message."""
    kinds: tuple[PiiKind, ...] = DEFAULT_KINDS
    regions: tuple[Annotated[str, Field(pattern=r"^[A-Z]{2}$")], ...] = DEFAULT_REGIONS
    """Countries whose phone numbers are known without their country code."""
    sinks: Sinks = Sinks()
    entities: Mapping[PiiKind, Mapping[Sink, Action]] = {}
    """What is done otherwise about one kind, such as ``CARD: {model: block, answer: block}``."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> "PiiRules":
        if self.action == "block" and self.sinks.model not in (None, "block"):
            raise ValueError("action and sinks.model say different things; remove one of them")
        if any(self.masking("answer").actions.get(each) == "block" for each in NAME_KINDS):
            raise ValueError("names in an answer can be redacted, not blocked")
        return self

    def names(self, sink: Sink, locale: str) -> FindNames | None:
        """Return what finds names in texts that go there, or none where nobody looks for them."""
        kinds = NAME_KINDS.intersection(self.masking(sink).kinds)
        return names_finder(locale, kinds) if kinds else None

    def masking(self, sink: Sink, *, known: Collection[str] = frozenset()) -> Masking:
        """Return what is done where a text goes; ``known`` values may be said there."""
        usual = self.sinks.model or self.action if sink == "model" else getattr(self.sinks, sink)
        actions: dict[PiiKind, Action] = dict.fromkeys(self.kinds, usual)
        actions |= {kind: own[sink] for kind, own in self.entities.items() if sink in own}
        return Masking(actions, self.regions, known)

    def log_text(self, text: str, *, locale: str | None = None) -> str:
        """Return ``text`` as it may stand in a span or a preview; of a blocked one the kind.

        Names are found by rules, which takes a millisecond; with a ``locale`` by the model of that
        language too, which takes up to a second: not on an event loop.
        """
        masking = self.masking("log")
        kinds = NAME_KINDS.intersection(masking.kinds)
        names: FindNames | None = partial(names_by_rule, kinds=kinds) if kinds else None
        if locale is not None and len(text) <= NAMED_CHARS:
            names = self.names("log", locale)
        masked = mask(text, masking, names=names)
        return f"[{masked.blocked}]" if masked.blocked else masked.text
