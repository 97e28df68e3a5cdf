"""Why a person has to read a draft before the member does."""

from collections.abc import Sequence

from turnwire.nodes.guardrails.policy import Policy
from turnwire.nodes.guardrails.reading import read


def assess_review_need(
    review_reasons: Sequence[str], answer: str, policy: Policy
) -> tuple[str, ...]:
    """Return the reason codes: those of the question, then those of the answer, each once.

    An empty result means that the draft may go out. ``review_reasons`` are the verdict's.
    """
    tripped = policy.review_book.tripped(read((answer,), known=policy.review_book.knows))
    return tuple(dict.fromkeys((*review_reasons, *(rule.id for rule in tripped))))
