"""Find the question and its evidence in a prompt.

The last message of the member begins with the passages, fenced by a word that nobody can guess
and that the system message names as well, so that no document and no member can forge a fence::

    <passages-5f0c9a…>
    <passage-5f0c9a… 1 en date=2026-02-10 version=1.0>
    Title, on one line (keywords: what the question calls it)
    The text of the passage.
    </passage-5f0c9a…>
    </passages-5f0c9a…>

    The question.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from turnwire.graph.followups import leaned_on

_OPENING: Final = re.compile(r"<passages-([0-9a-f]{8,64})>\n")

_RESULTS: Final = re.compile(r"<results-([0-9a-f]{8,64})>\n.*?</results-\1>", re.DOTALL)
"""What tools returned, in front of the question; nobody quotes it."""

_HEADED: Final = re.compile(r"(.*?)(?: \(keywords: ([^()]*)\))?")


@dataclass(frozen=True, slots=True)
class Quotable:
    """A passage that an answer may quote."""

    number: int
    title: str
    text: str
    language: str = ""
    """``en`` and the like, or "" where it is not known."""
    keywords: tuple[str, ...] = ()
    """Words of the question by which the passage's document wants to be found."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a prompt asks, and the passages that it brings."""

    question: str
    """With the earlier questions that it cannot be read without in front."""
    own: str = ""
    """The last question alone, where it leans on an earlier one."""
    passages: tuple[Quotable, ...] = ()


def read_prompt(messages: Sequence[BaseMessage]) -> Reading:
    """Return the last message's question and the passages in front of it, if there are any."""
    said = [str(each.text) for each in messages if isinstance(each, HumanMessage)]
    last = said[-1] if said else ""
    opening = _OPENING.match(last)
    if opening is None or not _is_announced(opening[1], messages):
        return Reading(last.strip())
    fence = opening[1]
    block, _, question = last[opening.end() :].partition(f"</passages-{fence}>")
    question = _RESULTS.sub("", question).strip()
    earlier = leaned_on(said[:-1], question)
    asked = "\n\n".join([*earlier, question])
    return Reading(asked, question if earlier else "", _passages(block, fence))


def _is_announced(fence: str, messages: Sequence[BaseMessage]) -> bool:
    return any(isinstance(each, SystemMessage) and fence in str(each.text) for each in messages)


def _passages(block: str, fence: str) -> tuple[Quotable, ...]:
    form = re.compile(
        rf"<passage-{fence} (\d+) ?([a-z]{{2,3}}\b)?[^>\n]*>\n([^\n]*)\n(.*?)\n</passage-{fence}>",
        re.DOTALL,
    )
    return tuple(_quotable(each) for each in form.finditer(block))


def _quotable(found: re.Match[str]) -> Quotable:
    headed = _HEADED.fullmatch(found[3])
    title, keywords = headed.groups() if headed else (found[3], None)
    named = tuple(keywords.split(", ")) if keywords else ()
    return Quotable(int(found[1]), title, found[4], found[2] or "", named)
