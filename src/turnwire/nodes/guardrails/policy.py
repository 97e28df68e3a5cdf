"""What the guardrails of one use look for and answer; one YAML file each.

policy = load_policy(Path("policies/health.yaml"))
policy.text("escalation", "es-MX")
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, TypeAlias, cast, get_args

from pydantic import Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from turnwire.errors import SetupError
from turnwire.nodes.guardrails.excuses import ExcuseReader, Excuses
from turnwire.nodes.guardrails.marks import Malformed, Marked
from turnwire.nodes.guardrails.pii import NAME_KINDS
from turnwire.nodes.guardrails.pii_names import missing
from turnwire.nodes.guardrails.pii_rules import PiiRules, Sink
from turnwire.nodes.guardrails.rules import (
    EscalationRule,
    Identifier,
    Phrase,
    Phrases,
    Rule,
    Rulebook,
    Strict,
)
from turnwire.nodes.guardrails.sections import EvidenceRules, Limits, Locale, ScopeRules
from turnwire.nodes.guardrails.spelling import Speller, Spelling
from turnwire.nodes.guardrails.taking import NotTaken, Taken, Takes, take

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

StreamPolicy: TypeAlias = Literal["hold", "flag", "retract"]

_LONGEST_PHRASE: Final = 24
"""Words; longer phrases are read, but not over the end of a sentence."""

FixedText: TypeAlias = Annotated[str, Field(min_length=1, pattern=r"\S")]


class Policy(Strict):
    """The guardrails of one use."""

    name: Identifier
    default_locale: Locale
    """Whose texts a member gets whose own language has none."""
    limits: Limits = Limits()
    pii: PiiRules = PiiRules()
    stream_policy: StreamPolicy = "hold"
    """``hold``: a sentence of the answer leaves after its check. ``flag``: words leave as they are
    written, and what is odd is noted at the end. ``retract``: the same, but what trips a check is
    taken back: who listened has seen it, and no log and no replay has it any more."""
    lists: Mapping[str, tuple[Phrase, ...]] = {}
    """Phrases that several rules share by YAML anchors."""
    spelling: Spelling = Spelling()
    """How members spell the words that rules look for."""
    excuses: Excuses = Excuses()
    """What makes a fair message of the words of an acute rule."""
    escalation: tuple[EscalationRule, ...] = ()
    injection: tuple[Rule, ...] = ()
    refusals: tuple[Rule, ...] = ()
    """What is refused although it is in scope, such as somebody else's records."""
    scope: ScopeRules = ScopeRules()
    evidence: EvidenceRules = EvidenceRules()
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
        self._can_find_names()
        ids = [each.id for each in self._rules()]
        twins = sorted({each for each in ids if ids.count(each) > 1})
        if twins:
            raise ValueError(f"two rules are called {', '.join(twins)}; give each its own id")
        return self

    def _can_find_names(self) -> None:
        wanted = {
            kind
            for sink in get_args(Sink)
            for kind in NAME_KINDS.intersection(self.pii.masking(sink).kinds)
        }
        answered = NAME_KINDS.intersection(self.pii.masking("answer").kinds)
        lacking = missing(self.texts) if wanted else None
        if lacking:
            raise ValueError(f"pii asks for {', '.join(sorted(wanted))}: {lacking}")
        if answered and self.stream_policy != "hold":
            raise ValueError("names in an answer take whole sentences; set stream_policy to hold")

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

    @property
    def rule_count(self) -> int:
        """How many rules it has, for messages and for answers."""
        return sum(1 for _ in self._rules())

    def knows(self, word: str) -> bool:
        """Whether a rule for messages looks for the canonical ``word``."""
        return any(each.knows(word) for each in (*self._message_books, self.excuse_reader))

    @cached_property
    def spelt(self) -> frozenset[str]:
        """The words that rules for messages look for, to read letters that stand apart."""
        return frozenset[str]().union(*(each.spelt for each in self._message_books))

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
    def answer_reach(self) -> int:
        """How many words before a sentence the rules for answers have to see."""
        widest = [each.within * len(each.together) for each in self._answer_rules()]
        return max(widest, default=0) + _LONGEST_PHRASE

    @cached_property
    def escalation_book(self) -> Rulebook[EscalationRule]:
        """The escalation rules, ready to read."""
        return Rulebook(self.escalation)

    @cached_property
    def injection_book(self) -> Rulebook[Rule]:
        """The prompt-injection rules, ready to read."""
        return Rulebook(self.injection)

    @cached_property
    def refusal_book(self) -> Rulebook[Rule]:
        """The rules for what is refused in any case, ready to read."""
        return Rulebook(self.refusals)

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

    @property
    def _message_books(self) -> "tuple[Rulebook[Any], ...]":
        return (self.escalation_book, self.injection_book, self.refusal_book, self.scope_book)

    def without(self, refusal: str) -> Self:
        """Return the policy without the rule of this id that refuses.

        Raises:
            ValueError: it has none.
        """
        kept = tuple(each for each in self.refusals if each.id != refusal)
        if len(kept) == len(self.refusals):
            raise ValueError(f"no rule under refusals is called {refusal!r}")
        policy = self.model_copy(update={"refusals": kept})
        vars(policy).pop("refusal_book", None)
        return policy

    def _rules(self) -> Iterator[Rule]:
        yield from self.escalation
        yield from self.injection
        yield from self.refusals
        yield from self.scope.out_of_scope
        yield from self._answer_rules()

    def _answer_rules(self) -> Iterator[Rule]:
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


@cache
def shipped_policy(name: str) -> Policy:
    """Return a policy that comes with turnwire: ``docs``, ``health`` or ``insurance``.

    It is read once: reading takes a third of a second, and a start asks for each several times.
    """
    names = shipped_policies()
    if name not in names:
        raise SetupError(f"No policy is called '{name}'; those that ship: {', '.join(names)}.")
    return parse_policy(_shipped_text(name), name=f"{name}.yaml")


def _shipped_text(name: str) -> str:
    return (_SHIPPED / f"{name}.yaml").read_text(encoding="utf-8")


def shipped_policies() -> tuple[str, ...]:
    """Return the names of the policies that come with turnwire."""
    found = (each.name for each in _SHIPPED.iterdir())
    return tuple(sorted(each.removesuffix(".yaml") for each in found if each.endswith(".yaml")))


def find_policy(name_or_path: str) -> Policy:
    """Return the policy that ships under this name, else the one in the file at this path."""
    names = shipped_policies()
    if name_or_path in names:
        return shipped_policy(name_or_path)
    path = Path(name_or_path)
    if not path.suffix and not path.exists():
        raise SetupError(
            f"No policy is called '{name_or_path}', and no file is; name a file (YAML) or one of "
            f"those that ship: {', '.join(names)}."
        )
    return load_policy(path)


def parse_policy(text: str, *, name: str) -> Policy:
    """Return the policy in ``text``; ``name`` stands for the file in errors."""
    try:
        document = Marked(text)
    except Malformed as error:
        raise SetupError(f"{name}:{error.line}: {error.problem}.") from None
    if not isinstance(document.value, Mapping):
        raise SetupError(f"{name}:1: a policy is a mapping with name, default_locale and texts.")
    value = cast("Mapping[str, Any]", document.value)
    taken = Taken(value, ())
    try:
        if "takes" in value:
            taken = _taken(value)
        return Policy.model_validate(taken.value)
    except NotTaken as error:
        raise SetupError(f"{name}:{_placed(document, error.path, str(error))}") from None
    except ValidationError as error:
        complaints = [_complaint(document, taken, each) for each in error.errors()]
        raise SetupError("\n".join(f"{name}:{each}" for each in complaints)) from None


def _taken(value: Mapping[str, Any]) -> Taken:
    try:
        takes = Takes.model_validate(value["takes"])
    except ValidationError as error:
        first = error.errors()[0]
        raise NotTaken(("takes", *first["loc"]), _mending(first)) from None
    if takes.policy not in shipped_policies():
        known = ", ".join(shipped_policies())
        raise NotTaken(("takes", "policy"), f"no such policy ships; those that do: {known}")
    base = cast("Mapping[str, Any]", Marked(_shipped_text(takes.policy)).value)
    return take(value, base, takes)


_SHIPPED: Final = files("turnwire") / "policies"

_MENDING: Final[Mapping[str, str]] = {
    "extra_forbidden": "this key is not known; correct its spelling or remove it",
    "missing": "this key is missing; add it",
    "string_type": "this has to be text; put it in quotes",
    "tuple_type": "this has to be a list; begin each entry with '- '",
}


def _complaint(document: Marked, taken: Taken, error: ErrorDetails) -> str:
    return _placed(document, taken.at_home(error["loc"]), _mending(error))


def _mending(error: ErrorDetails) -> str:
    return _MENDING.get(error["type"], str(error["msg"]).removeprefix("Value error, "))


def _placed(document: Marked, path: Sequence[int | str], problem: str) -> str:
    line = document.line(path)
    where = ".".join(str(each) for each in path)
    return f"{line}: {where}: {problem}." if where else f"{line}: {problem}."
