"""What a message is for, where no model says it: rules first, then likeness to examples."""

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from turnwire.agents.member.calling import is_courtesy
from turnwire.agents.member.phrasings import (
    AGREES,
    ASKED_AFTER,
    CALLED_OFF,
    DECLINES,
    GENERAL,
    NAMED_PLAN,
    NEVER_MIND,
    PERSONAL,
    THANKS,
    Phrasings,
)
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
    rf"|,?\s+(?:and|y|e)\s+(?=¿?{_STARTS})"
    r"|,\s+(?=(?:so\s+)?please\s+(?:call|phone|ring|contact)\s+(?:me|us)\b"
    r"|(?:así que\s+)?(?:por favor,?\s+)?ll[aá]m\w+(?:me|nos)\b)",
    re.IGNORECASE,
)
_MINE: Final = re.compile(r"\b(?:mine|ours|mía|mia|mío|mio|nuestra|nuestro)\b", re.IGNORECASE)
_AND_MINE: Final = re.compile(
    r",?\s+(?:and|or|than|vs|y|o|que)\s+(?:(?:on|in|under|for|with|en|por|con|a)\s+)?"
    r"(?:my(?:\s+own)?(?:\s+(?:plan|policy))?|mine|ours|mi\s+(?:plan|póliza|poliza)"
    r"|(?:(?:el|la)\s+)?m[ií][oa]|(?:(?:el|la)\s+)?nuestr[oa])\b",
    re.IGNORECASE,
)
_AND_MY: Final = re.compile(r",?\s+(?:and|y|e)\s+(?=(?:my|our|mis?|nuestr[oa]s?)\b)", re.IGNORECASE)
_CURT: Final = 6
_BARE: Final = 2
"""Words that a message has at most which says so much and nothing else."""
_ASKS: Final = re.compile(rf"\?|^\W*{_STARTS}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a message asks for."""

    tools: tuple[tuple[str, str], ...] = ()
    """Each tool once, with the part of the message that asks for it."""
    knowledge: tuple[str, ...] = ()
    """The parts that documents have to answer."""
    is_general: bool = False
    """Whether it asks how things are done, or about a plan by its name."""
    takes_back: bool = False
    """Whether the member takes back what they asked for before."""
    no_wish_for: str = ""
    """The action that it calls off, or asks after where no read can tell of it."""
    agrees: bool = False
    """Whether it is a mere yes."""
    declines: bool = False
    """Whether it is a mere no."""
    thanks: bool = False
    """Whether it is a mere thank-you."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a message: what it is for."""

    text: str
    names: tuple[str, ...] = ()
    """The tools."""
    query: str = ""
    """What documents have to answer."""
    no_wish_for: str = ""
    """The action that it speaks of without asking for it."""


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
        rules = self._phrasings.rules_for(message)
        words = len(message.split())
        pieces = parts(message)
        said = [each for each in pieces if not is_courtesy(each)] or pieces
        found = self._read(said[:MOST])
        tools, knowledge = self._sorted(found)
        return Wish(
            tools=tuple((name, " ".join(each)) for name, each in tools.items()),
            knowledge=tuple(knowledge),
            is_general=bool(rules & {GENERAL, NAMED_PLAN}),
            takes_back=NEVER_MIND in rules and words <= _CURT,
            no_wish_for=next((each.no_wish_for for each in found if each.no_wish_for), ""),
            agrees=AGREES in rules and words <= _CURT,
            declines=DECLINES in rules and words <= _BARE,
            thanks=THANKS in rules and words <= _CURT,
        )

    def _read(self, pieces: Sequence[str]) -> list[_Part]:
        """Return what each piece is for."""
        found: list[_Part] = []
        for each in pieces:
            found.append(self._part(each, before=found[-1] if found else None))
        return found

    def _sorted(self, found: Sequence[_Part]) -> tuple[dict[str, list[str]], list[str]]:
        """Return the parts that ask for each tool, and those that documents have to answer."""
        acts = any(self._is_action(name) for each in found for name in each.names)
        tools: dict[str, list[str]] = {}
        knowledge: list[str] = []
        beside: list[str] = []
        action = ""
        for part in found:
            action = next(filter(self._is_action, part.names), action)
            if part.no_wish_for:
                continue
            if acts and not any(map(self._is_action, part.names)) and not asks(part.text):
                # It says more about what is to be done.
                (tools[action] if action else beside).append(part.text)
                continue
            for name in part.names:
                said = tools.setdefault(name, beside if self._is_action(name) else [])
                said.append(part.text)
                beside = [] if said is beside else beside
            if part.query:
                knowledge.append(part.query)
        return tools, knowledge

    def _reads_file(self, name: str) -> bool:
        tool = self._tools[name]
        return tool.risk == "read" and (tool.needs_sign_in or bool(tool.scopes))

    def _is_action(self, name: str) -> bool:
        return bool(name) and self._tools[name].risk != "read"

    def _part(self, text: str, *, before: "_Part | None") -> "_Part":
        """Return what a part of a message is for: tools, or the documents."""
        rules = self._phrasings.rules_for(text)
        if (spoken := self._no_wish(text, rules)) is not None:
            return spoken
        action = next((each for each in self._tools if each in rules and self._is_action(each)), "")
        if action and GENERAL not in rules:
            return _Part(text, (action,))
        if reference(text) and "get_claim_status" in self._tools:
            return _Part(text, ("get_claim_status",))
        if GENERAL in rules:
            return _Part(text, query=text)
        if PERSONAL not in rules:
            more = before is not None and any(each in rules for each in before.names)
            if more and before is not None and NAMED_PLAN not in rules:
                return _Part(text, tuple(each for each in before.names if each in rules))
            likely = self._likely(text)
            return _Part(text, (likely,)) if likely else _Part(text, query=text)
        names = self._reads(text, rules, before)
        if NAMED_PLAN in rules and names:  # "Is it covered on the Plus plan and on mine?"
            return _Part(text, names, query=_AND_MINE.sub("", text))
        return _Part(text, names, query="" if names else text)

    def _no_wish(self, text: str, rules: frozenset[str]) -> _Part | None:
        """Return what a part is for that speaks of an action and does not ask for it."""
        if not rules & {ASKED_AFTER, CALLED_OFF}:
            return None
        named = self._phrasings.mentioned(rules)
        action = next((each for each in self._tools if each in rules and self._is_action(each)), "")
        action = named if named in self._tools else action or self._likely(text)
        if not self._is_action(action):
            return None
        told_by = self._phrasings.told_by(action)
        if CALLED_OFF in rules or told_by not in self._tools:
            return _Part(text, no_wish_for=action)
        return _Part(text, (told_by,))

    def _reads(self, text: str, rules: frozenset[str], before: "_Part | None") -> tuple[str, ...]:
        """Return the reads that a part about the member's own file is for."""
        if _MINE.search(text) and before:  # "What is an excess, and what is mine?"
            text = f"{before.text} {text}"
            rules |= self._phrasings.rules_for(text)
        ruled = [each for each in self._tools if each in rules and not self._is_action(each)]
        if len(ruled) > 1 and (halves := self._halves(text, ruled)):
            return halves
        likely = ruled[0] if len(ruled) == 1 else self._likely_read(text, ruled)
        return (likely,) if likely else ()

    def _halves(self, text: str, among: Sequence[str]) -> tuple[str, ...]:
        """Return the reads of "my claims and my documents", where each half is for one of them."""
        halves = [self._phrasings.rules_for(each) for each in _AND_MY.split(text)]
        if len(halves) == 1:
            return ()
        each = [[name for name in among if name in half] for half in halves]
        return tuple(dict.fromkeys(name for names in each for name in names[:1]))

    def _likely(self, part: str) -> str:
        """Return the action, or the read of nobody's file, whose examples are very near."""
        for name, near in self._nearest(part)[:1]:
            if near >= VERY_LIKE and name and not self._reads_file(name):
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
