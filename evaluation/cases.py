"""The sets: what is asked, and what has to come of it."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias, TypeVar, cast, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field

Locale: TypeAlias = Literal["en", "es"]
Half: TypeAlias = Literal["tuned", "held"]
Expected: TypeAlias = Literal["escalate", "review", "refuse", "injection", "proceed", "not_acute"]

LOCALES: Final[tuple[Locale, ...]] = get_args(Locale)
HALVES: Final[tuple[Half, ...]] = get_args(Half)
SETS: Final = Path(__file__).parent / "sets"


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Case(_Strict):
    """One message of a member."""

    id: Annotated[str, Field(pattern=r"^(verdict|detail|name|question|wish)-(en|es)-\d{3}$")]
    text: Annotated[str, Field(min_length=1)]
    why: str = ""
    """Where it is not plain: what makes it a case."""

    @property
    def locale(self) -> Locale:
        """The language of the member, which the id names."""
        return cast("Locale", self.id.split("-")[1])

    @property
    def half(self) -> Half:
        """``held`` is only run and never tuned on; the id decides, so nobody can choose."""
        return "held" if hashlib.sha256(self.id.encode()).digest()[0] % 2 else "tuned"


class VerdictCase(Case):
    """What the guardrails have to decide on a message.

    ``not_acute`` must not be escalated, and may well be read by a person first; ``proceed`` may
    neither be refused, escalated nor held for review.
    """

    expect: Expected
    before: tuple[str, ...] = ()
    """What the member said in the turns before, which were answered."""


class Hidden(_Strict):
    """A private detail as it stands in the message."""

    kind: Literal["CARD", "IBAN", "NATIONAL_ID", "SSN", "EMAIL", "PHONE", "NAME", "ADDRESS"]
    value: str


class DetailCase(Case):
    """What has to be taken out of a message; nothing, where it only looks so."""

    hides: tuple[Hidden, ...] = ()


class QuestionCase(Case):
    """Which leaflets answer a question; no leaflet, where it has to be left unanswered."""

    documents: tuple[str, ...] = ()
    """File stems of leaflets in the member's language, each of which answers."""
    facts: tuple[str, ...] = ()
    """Words of the leaflet of which an answer has to hold one."""


class WishCase(Case):
    """What a member asks the member agent for, with no model to say so."""

    asks: tuple[str, ...] = ()
    """The tools that it is for; none, where nothing of the member's is to be read or done."""
    documents: bool = False
    """Whether documents have to answer it, or a part of it."""
    outcome: Literal["proceed", "refuse", "escalate"] = "proceed"
    """What the guardrails have to decide first."""


@dataclass(frozen=True, slots=True)
class Sets:
    """All cases."""

    verdicts: tuple[VerdictCase, ...]
    details: tuple[DetailCase, ...]
    """Private details that a checksum or a format defines."""
    names: tuple[DetailCase, ...]
    """Names and addresses."""
    questions: tuple[QuestionCase, ...]
    wishes: tuple[WishCase, ...] = ()

    def by_name(self) -> dict[str, tuple[Case, ...]]:
        """Return each set under its name."""
        return {
            "verdicts": self.verdicts,
            "details": self.details,
            "names": self.names,
            "questions": self.questions,
            "wishes": self.wishes,
        }

    def sizes(self) -> dict[str, dict[str, int]]:
        """Return how many cases each set has: set → ``half.locale`` → number."""
        return {
            name: {
                f"{half}.{locale}": sum(
                    each.half == half and each.locale == locale for each in cases
                )
                for half in HALVES
                for locale in LOCALES
            }
            for name, cases in self.by_name().items()
        }

    def digest(self) -> str:
        """Return a name for exactly these cases."""
        cases = [each.model_dump_json() for named in self.by_name().values() for each in named]
        return hashlib.sha256("\n".join(cases).encode()).hexdigest()[:16]

    def of(self, half: Half) -> "Sets":
        """Return the cases of one half."""
        return Sets(
            _half(self.verdicts, half),
            _half(self.details, half),
            _half(self.names, half),
            _half(self.questions, half),
            _half(self.wishes, half),
        )


CaseT = TypeVar("CaseT", bound=Case)


def load(folder: Path = SETS) -> Sets:
    """Return the sets in ``folder``: ``verdicts.en.yaml``, ``verdicts.es.yaml`` and so on.

    Raises:
        ValueError: a case is malformed, or two have one id.
    """
    sets = Sets(
        _read(folder, "verdicts", VerdictCase),
        _read(folder, "details", DetailCase),
        _read(folder, "names", DetailCase),
        _read(folder, "questions", QuestionCase),
        _read(folder, "wishes", WishCase),
    )
    ids = [each.id for cases in sets.by_name().values() for each in cases]
    twins = sorted({each for each in ids if ids.count(each) > 1})
    if twins:
        raise ValueError(f"two cases are called {', '.join(twins)}; give each its own id")
    return sets


def _read(folder: Path, name: str, kind: type[CaseT]) -> tuple[CaseT, ...]:
    cases: list[CaseT] = []
    for locale in LOCALES:
        path = folder / f"{name}.{locale}.yaml"
        written = cast("list[object]", yaml.safe_load(path.read_text("utf-8")))
        found = [kind.model_validate(each) for each in written]
        strangers = [each.id for each in found if each.locale != locale]
        if strangers:
            raise ValueError(f"{path.name}: {', '.join(strangers)} is of another language")
        cases += found
    return tuple(cases)


def _half(cases: Iterable[CaseT], half: Half) -> tuple[CaseT, ...]:
    return tuple(each for each in cases if each.half == half)
