"""What a rule looks for, and which rules a text trips."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, Literal, Protocol, TypeAlias, TypeVar, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from turnwire.nodes.guardrails.matching import (
    NOTHING_EXCUSED,
    Excused,
    Hit,
    Index,
    near,
    one_clause,
)
from turnwire.nodes.guardrails.phrases import Wording, Words, parse


def _checked(phrase: str) -> str:
    try:
        parse(phrase)
    except ValueError as error:
        raise ValueError(f"the phrase '{phrase}' cannot be used: {error}") from None
    return phrase


Phrase: TypeAlias = Annotated[str, AfterValidator(_checked)]
"""A phrase in the language of :mod:`turnwire.nodes.guardrails.phrases`."""


def _flat(given: object) -> object:
    """Return a list with the lists in it spread out: YAML has no way to join two anchors."""
    if not isinstance(given, list):
        return given
    parts = cast("list[object]", given)
    spread = (
        [each] if not isinstance(each, list) else cast("list[object]", each) for each in parts
    )
    return [phrase for part in spread for phrase in part]


Phrases: TypeAlias = Annotated[tuple[Phrase, ...], BeforeValidator(_flat)]
"""Phrases, and lists of phrases that several rules share."""

Identifier: TypeAlias = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


class Strict(BaseModel):
    """A part of a policy: never changes, and knows all its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Rule(Strict):
    """Trips when a phrase is found, or when one phrase of each group is found close together."""

    id: Identifier
    """The reason code of its decisions; clients and the audit see it."""
    phrases: Phrases = ()
    together: tuple[Phrases, ...] = ()
    within: int = Field(default=25, ge=1, le=200)
    """How many words apart the groups of ``together`` may be."""
    unless: Phrases = ()
    """Fair wordings: a phrase found inside or across one of these, in one clause, is no find."""
    text: Identifier | None = None
    """The key of the fixed text to answer with, or none for the section's own."""

    @property
    def excusable(self) -> bool:
        """Whether a question for knowledge, or what is over, is no find of this rule."""
        return False

    @model_validator(mode="after")
    def _looks_for_something(self) -> "Rule":
        if not self.phrases and not self.together:
            raise ValueError("the rule looks for nothing; give it phrases or together")
        if self.together and (len(self.together) < 2 or not all(self.together)):
            raise ValueError("together needs two groups or more, each with a phrase")
        return self


class EscalationRule(Rule):
    """A sign that people have to help."""

    severity: Literal["acute", "high"]
    """``acute``: a fixed text and no model. ``high``: the draft is shown to a reviewer first."""
    always: bool = False
    """Whether the rule trips however its words are meant, as where asking is the risk."""

    @property
    def excusable(self) -> bool:
        """Acute rules look for events of now; a question for a dose is a risk by itself."""
        return self.severity == "acute" and not self.always


class ExcuseReader(Protocol):
    """Says which words of a text tell of no event of now."""

    def excused(self, text: Words) -> Excused:
        """Return these words."""
        ...


RuleT = TypeVar("RuleT", bound=Rule)


@dataclass(frozen=True, slots=True)
class Trace:
    """One phrase of a rule that a text holds."""

    phrase: str
    """As the policy has it."""
    words: str
    """What of the text it is, in canonical form."""
    part: Literal["phrases", "together"]
    spared_by: str | None = None
    """The fair wording around it, which makes it no find."""


@dataclass(frozen=True, slots=True)
class Finding(Generic[RuleT]):
    """What a rule found in the readings of a text, and whether that trips it."""

    rule: RuleT
    trips: bool
    traces: tuple[Trace, ...]


class Rulebook(Generic[RuleT]):
    """The rules of one section, ready to read texts."""

    def __init__(self, rules: Sequence[RuleT]) -> None:
        self._rules = tuple(rules)
        self._labels: list[tuple[int, int, str]] = []
        """By the label of a hit: the number of its rule, its group, and the phrase."""
        self._index = Index(self._labelled())

    def knows(self, word: str) -> bool:
        """Whether a rule looks for the canonical ``word``."""
        return self._index.knows(word)

    @property
    def spelt(self) -> frozenset[str]:
        """The words, and the beginnings of words, that rules look for."""
        return self._index.spelt

    def covers(self, text: Words) -> bool:
        """Whether ``text`` is nothing but phrases of the rules, one behind the other."""
        reached = {0}
        for hit in self._index.hits(text):
            if hit.start in reached:
                reached.add(hit.end)
        return bool(text.words) and len(text.words) in reached

    def tripped(
        self, texts: Iterable[Words], *, excuses: ExcuseReader | None = None
    ) -> tuple[RuleT, ...]:
        """Return the rules that any of ``texts`` trips, in the order of the policy.

        ``excuses`` speaks for the rules that are ``excusable``.
        """
        found = {number for text in texts for number in self._tripped_by(text, excuses)}
        return tuple(self._rules[number] for number in sorted(found))

    def findings(
        self, texts: Iterable[Words], *, excuses: ExcuseReader | None = None
    ) -> tuple[Finding[RuleT], ...]:
        """Return what each rule finds in ``texts``, in the order of the policy; for people.

        A rule that trips here is one that :meth:`tripped` returns, and the other way round.
        """
        traces: defaultdict[int, dict[Trace, None]] = defaultdict(dict)
        tripping: set[int] = set()
        for text in texts:
            excusing = NOTHING_EXCUSED if excuses is None else excuses.excused(text)
            for number, groups in self._found(text).items():
                excused = excusing if self._rules[number].excusable else NOTHING_EXCUSED
                traces[number] |= dict.fromkeys(self._traces(groups, text, excused))
                if _trips(self._rules[number], groups, text, excused):
                    tripping.add(number)
        return tuple(
            Finding(self._rules[number], number in tripping, tuple(traces[number]))
            for number in sorted(traces)
            if traces[number]
        )

    def _labelled(self) -> Iterator[tuple[int, Wording]]:
        for number, rule in enumerate(self._rules):
            for group, phrases in enumerate((rule.unless, rule.phrases, *rule.together)):
                for phrase in phrases:
                    self._labels.append((number, group, phrase))
                    for wording in parse(phrase):
                        yield len(self._labels) - 1, wording

    def _found(self, text: Words) -> Mapping[int, "_Groups"]:
        found: defaultdict[int, _Groups] = defaultdict(lambda: defaultdict(list))
        for hit in self._index.hits(text):
            number, group, _ = self._labels[hit.label]
            found[number][group].append(hit)
        return found

    def _tripped_by(self, text: Words, excuses: ExcuseReader | None) -> Iterator[int]:
        found = self._found(text)
        excused = excuses.excused(text) if excuses is not None and found else NOTHING_EXCUSED
        for number, groups in found.items():
            rule = self._rules[number]
            if _trips(rule, groups, text, excused if rule.excusable else NOTHING_EXCUSED):
                yield number

    def _traces(self, groups: "_Groups", text: Words, excused: Excused) -> Iterator[Trace]:
        fair = list(_fair(groups, text))
        for group in sorted(groups.keys() - {_UNLESS}):
            for hit in groups[group]:
                around = next((each for each in fair if _overlap(each, hit)), None)
                yield Trace(
                    phrase=self._labels[hit.label][2],
                    words=" ".join(text.words[hit.start : hit.end]),
                    part="phrases" if group == _PHRASES else "together",
                    spared_by=self._labels[around.label][2] if around else _excuse(excused, hit),
                )


_Groups: TypeAlias = defaultdict[int, list[Hit]]
"""The hits of one rule in one text, by group."""

_UNLESS, _PHRASES, _TOGETHER = 0, 1, 2


def _fair(groups: _Groups, text: Words) -> Iterator[Hit]:
    return (each for each in groups.get(_UNLESS, ()) if one_clause(text, each))


def _excuse(excused: Excused, hit: Hit) -> str | None:
    return "excuses" if excused.holds(hit) else None


def _overlap(one: Hit, other: Hit) -> bool:
    return one.start < other.end and other.start < one.end


def _trips(rule: Rule, groups: _Groups, text: Words, excused: Excused) -> bool:
    fair = {at for hit in _fair(groups, text) for at in range(hit.start, hit.end)}

    def finds(group: int) -> list[Hit]:
        hits = groups.get(group, [])
        return [
            each
            for each in hits
            if fair.isdisjoint(range(each.start, each.end)) and not excused.holds(each)
        ]

    if _held(finds(_PHRASES), text):
        return True
    parts = [finds(_TOGETHER + each) for each in range(len(rule.together))]
    if not parts or not all(parts):
        return False
    return any(
        near([*parts[:at], _held(parts[at], text), *parts[at + 1 :]], rule.within)
        for at in range(1 if text.seam is None else len(parts))
    )


def _held(hits: list[Hit], text: Words) -> list[Hit]:
    """Return the hits that hold the seam of ``text``, where it has one."""
    if text.seam is None:
        return hits
    first, last = text.seam
    return [each for each in hits if each.start <= first and last < each.end]
