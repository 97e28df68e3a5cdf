"""The sections of a policy that are more than lists of rules."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from turnwire.nodes.guardrails.rules import Phrase, Rule, Strict

Locale: TypeAlias = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]
Sentence: TypeAlias = Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"\S")]
Sentences: TypeAlias = Mapping[Locale, tuple[Sentence, ...]]
"""Sentences by locale; they are compared across languages, and the locale is for the reader."""

SIMILARITY: Final = 0.3
"""Between the packaged encoder's cosines of fair questions and of questions on other subjects."""


class Limits(Strict):
    """How much a member may send; a token is counted as four bytes of UTF-8."""

    max_characters: int = Field(default=8_000, ge=1, le=200_000)
    """Of one message."""
    max_total_characters: int = Field(default=32_000, ge=1, le=800_000)
    """Of all new messages of one turn."""
    max_tokens: int = Field(default=6_000, ge=1, le=200_000)
    """Of one message."""
    max_total_tokens: int = Field(default=24_000, ge=1, le=800_000)
    """Of all new messages of one turn."""


class JudgeRules(Strict):
    """When the judge is asked, where the agent has a model for it."""

    asked: Literal["unlike", "always"] = "unlike"
    """``unlike``: where no rule and no example says that a message is fair; ``always``: always."""
    seconds: float = Field(default=5, gt=0, le=60)
    """How long the judge may take."""


class ScopeRules(Strict):
    """What this use is for, and what it is not for."""

    purpose: Sentence | None = None
    """What this use is for, in the words that the judge reads; none: the persona."""
    out_of_scope: tuple[Rule, ...] = ()
    in_scope: tuple[Phrase, ...] = ()
    """A message with one of these stays in scope although an out-of-scope rule trips."""
    examples: Sentences = Field(default_factory=dict[str, tuple[str, ...]])
    """Messages that are in scope; with none, a message that no rule refuses is."""
    counterexamples: Sentences = Field(default_factory=dict[str, tuple[str, ...]])
    """Messages that are not; one that is nearer to these than to ``examples`` is like none."""
    similarity: float = Field(default=SIMILARITY, gt=0, lt=1)
    """How near (cosine) a message has to be to an example to be like it."""
    judge: JudgeRules = JudgeRules()
    on_failure: Literal["open", "closed"] = "closed"
    """Where the encoder or the judge fails: ``open`` goes on with a flag, ``closed`` refuses."""


class EvidenceRules(Strict):
    """What is done about instructions that stand in a passage."""

    injection: Literal["quote", "drop"] = "quote"
    """``quote``: a flag, and the passage is shown as data; ``drop``: the passage is left out."""


def spoken(sentences: Sentences) -> Iterator[str]:
    """Yield the sentences of all locales."""
    return (each for several in sentences.values() for each in several)
