"""Things seen, made by hand."""

from evaluation.cases import DetailCase, Expected, Half, Hidden, QuestionCase, VerdictCase
from evaluation.scores import Claim
from evaluation.seen import Asked, Judged, Redacted

# The first ids of each half, by their hashes.
_IDS: dict[Half, str] = {"held": "001", "tuned": "003"}


def judged(
    expect: Expected,
    outcome: str,
    *,
    half: Half = "held",
    by_injection_rule: bool = False,
    reviewed: bool = False,
    finish: str | None = None,
) -> Judged:
    case = VerdictCase(id=f"verdict-en-{_IDS[half]}", text="some words", expect=expect)
    assert case.half == half
    return Judged(case, outcome, by_injection_rule, reviewed, ms=1.0, finish=finish)


def redacted(hides: dict[str, str], found: dict[str, str], text: str = "") -> Redacted:
    """``hides`` and ``found`` are value → kind."""
    hidden = tuple(
        Hidden.model_validate({"kind": kind, "value": value}) for value, kind in hides.items()
    )
    case = DetailCase(id="detail-en-001", text="some words", hides=hidden)
    return Redacted(case, text, tuple((kind, value) for value, kind in found.items()), ms=1.0)


def asked(
    *documents: str,
    ranked: tuple[str, ...] = (),
    finish: str = "no_match",
    answer: str = "",
    cited: tuple[str, ...] = (),
    claims: tuple[Claim, ...] = (),
    facts: tuple[str, ...] = (),
) -> Asked:
    case = QuestionCase(id="question-en-001", text="why", documents=documents, facts=facts)
    return Asked(case, ranked, finish, answer, cited, claims)
