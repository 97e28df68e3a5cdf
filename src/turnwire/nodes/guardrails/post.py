"""What is noted about an answer; it flags and never blocks."""

import time
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from turnwire.events.guardrail import Check, GuardrailDecision
from turnwire.nodes.guardrails.normalise import canonical
from turnwire.nodes.guardrails.phrases import Words, split
from turnwire.nodes.guardrails.policy import Policy
from turnwire.nodes.guardrails.reading import read

_SHARED_WORDS: Final = 12


def check_answer(  # noqa: PLR0913 - each is one fact about the answer
    answer: str,
    *,
    cited: int,
    evidence: int,
    invented: int = 0,
    unsupported: str | None = None,
    policy: Policy,
    locale: str,
) -> tuple[GuardrailDecision, ...]:
    """Return the decisions on ``missing_citation`` and ``persona_stability``.

    ``cited`` counts the citations that point at evidence, ``invented`` the markers that point
    at none, and ``evidence`` the passages that the model was given. ``unsupported`` is a reason
    code for what the cited passages do not carry, such as ``unsupported_number``.
    """
    begun = time.perf_counter()
    uncited = "uncited" if evidence and not cited else None
    if evidence and invented:
        uncited = "invented_citation"
    uncited = uncited or unsupported
    between = time.perf_counter()
    unstable = breaks_persona(answer, policy, locale)
    ended = time.perf_counter()
    return (
        _decision("missing_citation", uncited, between - begun),
        _decision("persona_stability", unstable, ended - between),
    )


def breaks_persona(answer: str, policy: Policy, locale: str) -> str | None:
    """Return the reason code of what this persona never says, or none."""
    texts = read((answer,), known=policy.persona_book.knows)
    tripped = policy.persona_book.tripped(texts)
    if tripped:
        return tripped[0].id
    persona = _persona_stretches(policy.text("persona", locale))
    repeats = any(not persona.isdisjoint(_stretches(each)) for each in texts)
    return "reveals_persona_text" if repeats else None


@lru_cache(maxsize=64)
def _persona_stretches(persona: str) -> frozenset[tuple[str, ...]]:
    return frozenset(_stretches(split(canonical(persona))))


def _stretches(text: Words) -> Iterator[tuple[str, ...]]:
    """Yield every twelve words in a row."""
    words = text.words
    return (words[at : at + _SHARED_WORDS] for at in range(len(words) - _SHARED_WORDS + 1))


def _decision(check: Check, reason: str | None, seconds: float) -> GuardrailDecision:
    return GuardrailDecision(
        stage="post",
        check=check,
        outcome="flag" if reason else "pass",
        reason=reason,
        duration_ms=round(seconds * 1000),
    )
