"""How members say what they want: rules and examples, from a YAML file of the agent's own."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.resources import files
from typing import Final

import yaml
from pydantic import ConfigDict, Field

from turnwire.nodes.guardrails.phrases import Words
from turnwire.nodes.guardrails.reading import read
from turnwire.nodes.guardrails.rules import Phrases, Rule, Rulebook, Strict
from turnwire.nodes.guardrails.sections import Sentences, spoken

GENERAL: Final = "general"
PERSONAL: Final = "personal"
NEVER_MIND: Final = "never_mind"
AGREES: Final = "agrees"
DECLINES: Final = "declines"
THANKS: Final = "thanks"
NAMED_PLAN: Final = "named_plan"
CLAIMS_DONE: Final = "claims_done"
ASKED_AFTER: Final = "asked_after"
CALLED_OFF: Final = "called_off"


class ToolPhrasings(Strict):
    """How members ask for one tool."""

    phrases: Phrases = ()
    """A part of a message with one of these is for this tool, unless it asks how things work."""
    unless: Phrases = ()
    mentions: Phrases = ()
    """How members speak of an action, also where they do not ask for it."""
    told_by: str = ""
    """The read that tells what came of an action."""
    examples: Sentences = Field(default_factory=dict[str, tuple[str, ...]])
    lists: str = ""
    """The tool that lists what this one needs a reference of, for where there is none."""


class Judged(Strict):
    """Phrases, and what is said where they mean something else."""

    phrases: Phrases
    unless: Phrases = ()


class Phrasings(Strict):
    """How members ask for each tool, and for what stands in documents."""

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))

    general: Judged
    personal: Judged
    named_plan: Judged
    never_mind: Judged
    agrees: Judged
    declines: Judged
    thanks: Judged
    asked_after: Judged
    """A question about an action of before or of later, or a report of one."""
    called_off: Judged
    """A wish that is negated or cancelled."""
    claims_done: Judged
    """How an answer says that an action was done."""
    knowledge: Sentences
    tools: Mapping[str, ToolPhrasings]

    def rules_for(self, text: str) -> frozenset[str]:
        """Return which rules a text trips: tools' names, and the constants of this module."""
        words: Sequence[Words] = read((text,), known=self._book.knows)
        return frozenset(each.id for each in self._book.tripped(words))

    def examples(self) -> list[tuple[str, str]]:
        """Return each example with its tool's name, or with "" where it is about documents."""
        about = [("", each) for each in spoken(self.knowledge)]
        for name, tool in self.tools.items():
            about += [(name, each) for each in spoken(tool.examples)]
        return about

    def lists(self, tool: str) -> str:
        """Return the tool that lists what ``tool`` needs a reference of, or ""."""
        known = self.tools.get(tool)
        return known.lists if known is not None else ""

    def listed_by(self, tool: str) -> str:
        """Return the tool that tells of one item of what ``tool`` lists, or ``tool``."""
        return next((name for name, each in self.tools.items() if each.lists == tool), tool)

    def mentioned(self, rules: frozenset[str]) -> str:
        """Return the action that a text speaks of, by the rules that it trips, or ""."""
        return next((name for name in self.tools if _mention(name) in rules), "")

    def told_by(self, tool: str) -> str:
        """Return the read that tells what came of an action, or ""."""
        known = self.tools.get(tool)
        return known.told_by if known is not None else ""

    @cached_property
    def _book(self) -> Rulebook[Rule]:
        judged = {
            GENERAL: self.general,
            PERSONAL: self.personal,
            NAMED_PLAN: self.named_plan,
            NEVER_MIND: self.never_mind,
            AGREES: self.agrees,
            DECLINES: self.declines,
            THANKS: self.thanks,
            ASKED_AFTER: self.asked_after,
            CALLED_OFF: self.called_off,
            CLAIMS_DONE: self.claims_done,
        }
        rules = [
            Rule(id=name, phrases=each.phrases, unless=each.unless) for name, each in judged.items()
        ]
        for name, tool in self.tools.items():
            if tool.phrases:
                rules.append(Rule(id=name, phrases=tool.phrases, unless=tool.unless))
            if tool.mentions:
                rules.append(Rule(id=_mention(name), phrases=tool.mentions))
        return Rulebook(rules)


def _mention(tool: str) -> str:
    return f"mentions_{tool}"


def shipped_phrasings() -> Phrasings:
    """Return those that come with turnwire, in English and Spanish."""
    text = (files("turnwire.agents.member") / "phrasings.yaml").read_text(encoding="utf-8")
    return Phrasings.model_validate(yaml.safe_load(text))
