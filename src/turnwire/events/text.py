"""The answer's words, and staff-only reasoning."""

from typing import Literal

from turnwire.events.base import BaseEvent


class TextDelta(BaseEvent):
    """The next words of the answer; only the answer node's."""

    type: Literal["text.delta"] = "text.delta"
    text: str


class TextReplaced(BaseEvent):
    """A later node or a reviewer rewrote the answer: this is shown instead of what came before."""

    type: Literal["text.replaced"] = "text.replaced"
    text: str
    reason: str
    retracts: bool = False
    """Whether a guard takes the words back: the log then keeps the events that said them without
    any text."""


class ReasoningDelta(BaseEvent):
    """Internal reasoning, for staff wires only."""

    type: Literal["reasoning.delta"] = "reasoning.delta"
    node: str
    text: str
