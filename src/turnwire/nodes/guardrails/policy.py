"""What the guardrails of one use look for and answer; one YAML file each.

policy = load_policy(Path("policies/health.yaml"))
policy.text("escalation", "es-MX")
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

from pydantic import Field, ValidationError, model_validator

from turnwire.errors import SetupError
from turnwire.nodes.guardrails.excuses import ExcuseReader, Excuses
from turnwire.nodes.guardrails.marks import Malformed, Marked
from turnwire.nodes.guardrails.pii import DEFAULT_KINDS, DEFAULT_REGIONS, PiiKind
from turnwire.nodes.guardrails.rules import (
    EscalationRule,
    Identifier,
    Phrase,
    Phrases,
    Rule,
    Rulebook,
    Strict,
)
from turnwire.nodes.guardrails.spelling import Speller, Spelling

TextKey = Literal[
    "persona",
    "refusal",
    "injection",
    "escalation",
    "no_match",
    "review_rejected",
    "too_long",
    "empty",
    "unreadable",
    "pii_blocked",
]
REQUIRED_TEXTS: Final[tuple[TextKey, ...]] = get_args(TextKey)

Locale: TypeAlias = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]
FixedText: TypeAlias = Annotated[str, Field(min_length=1, pattern=r"\S")]


class Limits(Strict):
    """How much a member may send, in characters."""

    max_characters: int = Field(default=8_000, ge=1, le=200_000)
    """Of one message."""
    max_total_characters: int = Field(default=32_000, ge=1, le=800_000)
    """Of all new messages of one turn."""


class PiiRules(Strict):
    """What is done about personal data in a message."""

    action: Literal["redact", "block"] = "redact"
    kinds: tuple[PiiKind, ...] = DEFAULT_KINDS
    regions: tuple[Annotated[str, Field(pattern=r"^[A-Z]{2}$")], ...] = DEFAULT_REGIONS
    """Countries whose phone numbers are known without their country code."""


class ScopeRules(Strict):
    """What this use is not for."""

    out_of_scope: tuple[Rule, ...] = ()
    in_scope: tuple[Phrase, ...] = ()
    """A message with one of these stays in scope although an out-of-scope rule trips."""


class Policy(Strict):
    """The guardrails of one use."""

    name: Identifier
    default_locale: Locale
    """Whose texts a member gets whose own language has none."""
    limits: Limits = Limits()
    pii: PiiRules = PiiRules()
    lists: Mapping[str, tuple[Phrase, ...]] = {}
    """Phrases that several rules share by YAML anchors."""
    spelling: Spelling = Spelling()
    """How members spell the words that rules look for."""
    excuses: Excuses = Excuses()
    """What makes a fair message of the words of an acute rule."""
    escalation: tuple[EscalationRule, ...] = ()
    injection: tuple[Rule, ...] = ()
    scope: ScopeRules = ScopeRules()
    small_talk: Phrases = ()
    """A message of nothing but these gets the text ``greeting``, without a model."""
    persona_stability: tuple[Rule, ...] = ()
    """What an answer of this persona never says."""
    review: tuple[Rule, ...] = ()
    """What a person has to read before the member does."""
    texts: Mapping[Locale, Mapping[Identifier, FixedText]]

    @model_validator(mode="after")
    def _is_whole(self) -> "Policy":
        if self.default_locale not in self.texts:
            raise ValueError(f"texts has no '{self.default_locale}', which is the default locale")
        needed = {*REQUIRED_TEXTS, *(each.text for each in self._rules() if each.text)}
        if self.small_talk:
            needed.add("greeting")
        for locale, texts in self.texts.items():
            missing = sorted(needed - set(texts))
            if missing:
                raise ValueError(f"texts.{locale} lacks {', '.join(missing)}; add them")
        ids = [each.id for each in self._rules()]
        twins = sorted({each for each in ids if ids.count(each) > 1})
        if twins:
            raise ValueError(f"two rules are called {', '.join(twins)}; give each its own id")
        return self

    def text(self, key: TextKey | str, locale: str) -> str:
        """Return a fixed text in the member's language, or in the default one."""
        return self.texts[self.locale(locale)][key]

    def locale(self, wanted: str) -> str:
        """Return the locale that serves ``wanted`` (BCP 47): itself, its language, or ours."""
        tag = wanted.replace("_", "-")
        by_name = {each.lower(): each for each in self.texts}
        for candidate in (tag.lower(), tag.split("-")[0].lower()):
            if candidate in by_name:
                return by_name[candidate]
        return self.default_locale

    def knows(self, word: str) -> bool:
        """Whether a rule for messages looks for the canonical ``word``."""
        books = (self.escalation_book, self.injection_book, self.scope_book, self.excuse_reader)
        return any(each.knows(word) for each in books)

    @cached_property
    def spelt(self) -> frozenset[str]:
        """The words that rules for messages look for, to read letters that stand apart."""
        return self.escalation_book.spelt | self.injection_book.spelt | self.scope_book.spelt

    def warm(self) -> None:
        """Make every rule ready to read now, which takes a moment, and not in a member's turn."""
        for book in (self.in_scope_book, self.small_talk_book, self.persona_book, self.review_book):
            book.knows("")
        self.knows("")
        _ = self.spelt, self.excuse_reader, self.speller

    @cached_property
    def excuse_reader(self) -> ExcuseReader:
        """The excuses, ready to read."""
        return ExcuseReader(self.excuses)

    @cached_property
    def speller(self) -> Speller:
        """The spelling, ready to read."""
        return Speller(self.spelling, self.knows)

    @cached_property
    def escalation_book(self) -> Rulebook[EscalationRule]:
        """The escalation rules, ready to read."""
        return Rulebook(self.escalation)

    @cached_property
    def injection_book(self) -> Rulebook[Rule]:
        """The prompt-injection rules, ready to read."""
        return Rulebook(self.injection)

    @cached_property
    def scope_book(self) -> Rulebook[Rule]:
        """The out-of-scope rules, ready to read."""
        return Rulebook(self.scope.out_of_scope)

    @cached_property
    def in_scope_book(self) -> Rulebook[Rule]:
        """One rule that trips on a message that is in scope."""
        phrases = self.scope.in_scope
        return Rulebook((Rule(id="in_scope", phrases=phrases),) if phrases else ())

    @cached_property
    def small_talk_book(self) -> Rulebook[Rule]:
        """One rule with the phrases of small talk."""
        phrases = self.small_talk
        return Rulebook((Rule(id="small_talk", phrases=phrases),) if phrases else ())

    @cached_property
    def persona_book(self) -> Rulebook[Rule]:
        """The rules for answers, ready to read."""
        return Rulebook(self.persona_stability)

    @cached_property
    def review_book(self) -> Rulebook[Rule]:
        """The rules for drafts, ready to read."""
        return Rulebook(self.review)

    def _rules(self) -> Iterator[Rule]:
        yield from self.escalation
        yield from self.injection
        yield from self.scope.out_of_scope
        yield from self.persona_stability
        yield from self.review


def load_policy(path: Path) -> Policy:
    """Return the policy in the YAML file at ``path``; ``SetupError`` names line and mending."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "it is not UTF-8"
        raise SetupError(f"{path}: the policy cannot be read: {problem}.") from error
    return parse_policy(text, name=str(path))


def shipped_policy(name: str) -> Policy:
    """Return a policy that comes with turnwire: ``health`` or ``docs``."""
    folder = files("turnwire") / "policies"
    names = sorted(each.name.removesuffix(".yaml") for each in folder.iterdir())
    if name not in names:
        raise SetupError(f"No policy is called '{name}'; those that ship: {', '.join(names)}.")
    text = (folder / f"{name}.yaml").read_text(encoding="utf-8")
    return parse_policy(text, name=f"{name}.yaml")


def parse_policy(text: str, *, name: str) -> Policy:
    """Return the policy in ``text``; ``name`` stands for the file in errors."""
    try:
        document = Marked(text)
    except Malformed as error:
        raise SetupError(f"{name}:{error.line}: {error.problem}.") from None
    if not isinstance(document.value, Mapping):
        raise SetupError(f"{name}:1: a policy is a mapping with name, default_locale and texts.")
    try:
        return Policy.model_validate(document.value)
    except ValidationError as error:
        complaints = [_complaint(document, each) for each in error.errors()]
        raise SetupError("\n".join(f"{name}:{each}" for each in complaints)) from None


_MENDING: Final[Mapping[str, str]] = {
    "extra_forbidden": "this key is not known; correct its spelling or remove it",
    "missing": "this key is missing; add it",
    "string_type": "this has to be text; put it in quotes",
    "tuple_type": "this has to be a list; begin each entry with '- '",
}


def _complaint(document: Marked, error: Any) -> str:  # noqa: ANN401 - pydantic's ErrorDetails
    path: Sequence[int | str] = error["loc"]
    mending = _MENDING.get(error["type"], str(error["msg"]).removeprefix("Value error, "))
    line = document.line(path)
    where = ".".join(str(each) for each in path)
    return f"{line}: {where}: {mending}." if where else f"{line}: {mending}."
