"""How the parts of one answer are said one behind the other."""

from typing import Final

from turnwire.events import Event, ReasoningDelta, TextReplaced
from turnwire.graph.emit import Speaker

NAME: Final = "answer"
"""The node that speaks."""


class Behind(Speaker):
    """Says words behind what was said ``before``, with ``opening`` in front of the first."""

    __slots__ = ("_before", "_opening", "_said", "spoke")

    def __init__(self, said: Speaker, *, before: str, opening: str) -> None:
        self._said = said
        self._before = before
        self._opening = opening
        self.spoke = False

    def emit(self, event: Event) -> None:
        """Say that something happened; what is replaced is what stands behind."""
        match event:
            case TextReplaced():
                text = f"{self._before}{self._opening}{event.text}"
                self._said.emit(event.model_copy(update={"text": text}))
            case ReasoningDelta():
                self._said.emit(event.model_copy(update={"node": NAME}))
            case _:
                self._said.emit(event)

    def say(self, text: str) -> None:
        """Say the next words."""
        if text and not self.spoke:
            self.spoke = True
            self._said.say(self._opening)
        self._said.say(text)
