"""What a message is for, where no model says it: rules first, then likeness to examples."""

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from turnwire.agents.member.phrasings import GENERAL, NEVER_MIND, PERSONAL, Phrasings
from turnwire.agents.member.slots import reference
from turnwire.nodes.guardrails.examples import Encoder, Matrix
from turnwire.nodes.tools.tool import Tool

LIKE: Final = 0.4
"""How near (cosine) an example has to be for a question about the member's own file."""
VERY_LIKE: Final = 0.72
"""The same for what no rule has seen anything in."""
MOST: Final = 6
"""Parts of a message that are looked at, and so tools that are used for it."""

_STARTS: Final = (
    r"(?:what|which|how|where|when|who|why|is|are|do|does|can|could|please|also|change|update|call"
    r"|phone|ring|tell|show|list"
    r"|qué|que|cuál|cual|cuáles|cuánto|cuanto|cuánta|cuántas|cuántos|cómo|como|dónde|donde|cuándo"
    r"|cuando|por favor|además|también|cambi\w+|actualic\w+|actualiz\w+|llám\w+|llam\w+|dime"
    r"|muéstr\w+|enséñ\w+)\b"
)
_BREAK: Final = re.compile(
    rf"(?<=[?!])\s+|(?<=[^\W\d_]{{3}}\.)\s+|(?<=\b[A-Z]{{2}}\.)\s+|;\s+"
    rf"|,?\s+(?:and|y|e)\s+(?=¿?{_STARTS})",
    re.IGNORECASE,
)
_MINE: Final = re.compile(r"\b(?:mine|ours|mía|mia|mío|mio|nuestra|nuestro)\b", re.IGNORECASE)
_ASKS: Final = re.compile(rf"\?|^\W*{_STARTS}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a message asks for."""

    tools: tuple[tuple[str, str], ...] = ()
    """Each tool once, with the part of the message that asks for it."""
    knowledge: tuple[str, ...] = ()
    """The parts that documents have to answer."""
    takes_back: bool = False
    """Whether the member takes back what they asked for before."""


class Router:
    """Tells what messages are for; the examples are encoded once. Ask from any thread."""

    def __init__(
        self, phrasings: Phrasings, tools: Iterable[Tool], encoder: Encoder | None
    ) -> None:
        self._phrasings = phrasings
        self._tools = {each.name: each for each in tools}
        examples = [each for each in phrasings.examples() if not each[0] or each[0] in self._tools]
        # A tool's description is an example too, so that one without phrasings is found as well.
        examples += [(each.name, each.description) for each in self._tools.values()]
        self._names = [name for name, _ in examples]
        self._examples = [text for _, text in examples]
        self._encoder = encoder
        self._encoding = threading.Lock()
        self._rows: Matrix | None = None

    def warm(self) -> None:
        """Encode the examples and read the rules now, and not in a member's turn."""
        self.wish("warm")

    def wish(self, message: str) -> Wish:
        """Return what the message asks for."""
        pieces = parts(message)[:MOST]
        found = [
            (each, self._name(each, before=pieces[at - 1] if at else ""))
            for at, each in enumerate(pieces)
        ]
        acts = any(self._is_action(name) for _, name in found)
        tools: dict[str, str] = {}
        knowledge: list[str] = []
        for part, name in found:
            if acts and not self._is_action(name) and not asks(part):
                continue  # it says more about what is to be done
            if name:
                tools.setdefault(name, part)
            else:
                knowledge.append(part)
        takes_back = NEVER_MIND in self._phrasings.rules_for(message)
        return Wish(tools=tuple(tools.items()), knowledge=tuple(knowledge), takes_back=takes_back)

    def _is_action(self, name: str) -> bool:
        return bool(name) and self._tools[name].risk != "read"

    def _name(self, part: str, *, before: str) -> str:
        """Return the tool that a part of a message is for, or "" for the documents."""
        rules = self._phrasings.rules_for(part)
        action = next((each for each in self._tools if each in rules and self._is_action(each)), "")
        if action and GENERAL not in rules:
            return action
        if reference(part) and "get_claim_status" in self._tools:
            return "get_claim_status"
        if GENERAL in rules:
            return ""
        if PERSONAL not in rules:
            return self._likely_action(part)
        if _MINE.search(part) and before:  # "What is an excess, and what is mine?"
            part = f"{before} {part}"
            rules |= self._phrasings.rules_for(part)
        ruled = [each for each in self._tools if each in rules and not self._is_action(each)]
        return ruled[0] if len(ruled) == 1 else self._likely_read(part, ruled)

    def _likely_action(self, part: str) -> str:
        for name, near in self._nearest(part)[:1]:
            if near >= VERY_LIKE and self._is_action(name):
                return name
        return ""

    def _likely_read(self, part: str, among: Sequence[str]) -> str:
        """Return the read whose examples are nearest, one of ``among`` if there are any."""
        for name, near in self._nearest(part):
            if among and name in among:
                return name
            if not among and near >= LIKE and name and not self._is_action(name):
                return name
        return ""

    def _nearest(self, part: str) -> list[tuple[str, float]]:
        """Return the tools of the examples with their nearness (cosine), nearest first."""
        if self._encoder is None:
            return []
        nearness = self._encoded(self._encoder) @ self._encoder.encode([part])[0]
        return [(self._names[int(at)], float(nearness[at])) for at in np.argsort(-nearness)]

    def _encoded(self, encoder: Encoder) -> Matrix:
        with self._encoding:
            if self._rows is None:
                self._rows = encoder.encode(self._examples)
            return self._rows


def asks(text: str) -> bool:
    """Whether a text is a question or a request by its form."""
    return _ASKS.search(text) is not None


def parts(message: str) -> list[str]:
    """Return the parts of a message that may each be for something else."""
    return list(_parts(_BREAK.split(message)))


def _parts(pieces: Sequence[str]) -> Iterator[str]:
    for each in pieces:
        if re.search(r"\w", each):
            yield each.strip()
