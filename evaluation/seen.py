"""What was seen of each case when it ran."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeVar

from evaluation.cases import (
    LOCALES,
    Case,
    DetailCase,
    Half,
    Locale,
    QuestionCase,
    VerdictCase,
    WishCase,
)
from evaluation.scores import Claim, holds, is_gone, squash, words

_UNANSWERED: Final = ("no_match", "refused")


@dataclass(frozen=True, slots=True)
class Judged:
    """The guardrails' verdict on a message."""

    case: VerdictCase
    outcome: str
    """``proceed``, ``refuse`` or ``escalate``."""
    by_injection_rule: bool
    reviewed: bool
    """Whether a person has to see the draft first."""
    ms: float
    finish: str | None = None
    """The finish reason of the whole turn, for what is not to be answered."""

    @property
    def unanswered(self) -> bool:
        """Whether the member got a fixed text that answers nothing."""
        return self.finish in _UNANSWERED


@dataclass(frozen=True, slots=True)
class Redacted:
    """What was taken out of a message."""

    case: DetailCase
    text: str
    """The message without it."""
    found: tuple[tuple[str, str], ...]
    """Kind and value of each find."""
    ms: float

    def taken(self) -> list[tuple[str, str | None]]:
        """Return for each detail of the case its kind, and as what it was found, if at all."""
        kinds = {squash(value): kind for kind, value in self.found}
        return [(each.kind, kinds.get(squash(each.value))) for each in self.case.hides]

    def right(self) -> list[bool]:
        """Return for each find whether the case has such a detail."""
        hidden = {squash(each.value) for each in self.case.hides}
        return [squash(value) in hidden for _, value in self.found]

    def gone(self) -> list[tuple[str, bool]]:
        """Return for each detail its kind, and whether no word of it is left."""
        return [(each.kind, is_gone(each.value, self.text)) for each in self.case.hides]

    def touches(self) -> list[bool]:
        """Return for each find whether it has a word of a detail."""
        hidden = {word for each in self.case.hides for word in words(each.value)}
        return [not hidden.isdisjoint(words(value)) for _, value in self.found]


@dataclass(frozen=True, slots=True)
class Asked:
    """What was found for a question, and what was answered."""

    case: QuestionCase
    ranked: tuple[str, ...]
    """The document of each passage that was found, best first, such as ``en/sore-throat``."""
    finish: str
    """The turn's finish reason."""
    answer: str
    cited: tuple[str, ...]
    """The documents that the answer cites."""
    claims: tuple[Claim, ...]
    """The sentences of the answer; none where nothing was answered."""

    @property
    def right(self) -> tuple[str, ...]:
        """The documents that answer the question."""
        return tuple(f"{self.case.locale}/{each}" for each in self.case.documents)

    @property
    def twins(self) -> tuple[str, ...]:
        """The same documents in every language."""
        return tuple(f"{locale}/{each}" for locale in LOCALES for each in self.case.documents)

    @property
    def answered(self) -> bool:
        """Whether an answer was sent with a citation."""
        return self.finish in ("stop", "length") and bool(self.cited)

    @property
    def refused(self) -> bool:
        """Whether a fixed text says that there is no answer."""
        return self.finish in _UNANSWERED

    @property
    def has_fact(self) -> bool:
        """Whether the words that answer are in the answer."""
        return self.answered and any(holds(self.answer, each) for each in self.case.facts)


@dataclass(frozen=True, slots=True)
class Wished:
    """What the member agent took a message for."""

    case: WishCase
    outcome: str
    """``proceed``, ``refuse`` or ``escalate``."""
    tools: frozenset[str]
    documents: bool
    """Whether documents are asked."""
    acts: bool
    """Whether one of the tools acts."""

    @property
    def is_right(self) -> bool:
        """Whether it was taken for just what it asks for."""
        return self.tools == frozenset(self.case.asks) and (
            self.documents or not self.case.documents
        )


AnySeen = TypeVar("AnySeen", Judged, Redacted, Asked, Wished)


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that a run saw."""

    judged: tuple[Judged, ...] = ()
    details: tuple[Redacted, ...] = ()
    names: tuple[Redacted, ...] = ()
    """Empty where the configuration looks for no names."""
    asked: tuple[Asked, ...] = ()
    wished: tuple[Wished, ...] = ()

    def of(self, half: Half, locale: Locale | None) -> "Seen":
        """Return what was seen of one half, in one language or in all."""

        def kept(case: Case) -> bool:
            return case.half == half and locale in (None, case.locale)

        return Seen(
            _only(self.judged, kept),
            _only(self.details, kept),
            _only(self.names, kept),
            _only(self.asked, kept),
            _only(self.wished, kept),
        )

    def latencies(self) -> list[float]:
        """Return how many milliseconds the guardrails took for each message."""
        return [each.ms for part in (self.judged, self.details, self.names) for each in part]


def _only(
    all_seen: Iterable[AnySeen],
    kept: Callable[[Case], bool],
) -> tuple[AnySeen, ...]:
    return tuple(each for each in all_seen if kept(each.case))
