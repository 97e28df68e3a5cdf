"""Questions that mean nothing without the one before: ``And for children?``, ``¿Y si hace calor?``.

A question continues the one before where it has at most eight words and begins like a
continuation (``and``, ``what about``, ``y`` …), or at most five and names its subject only by a
pronoun (``is it dangerous?``), or consists of a bare ``why?``, ``how?``, ``¿por qué?``.
"""

import re
from collections.abc import Sequence
from typing import Final

FURTHEST: Final = 3
"""Earlier questions that are joined to one, at most."""
_LONGEST: Final = 8
_SHORT: Final = 5

_OPENING: Final = re.compile(
    r"(?:and|but|or|also|what about|how about|what if|y|e|o|pero|también|qué tal|qué pasa con)\b",
    re.IGNORECASE,
)
_PRONOUN: Final = re.compile(
    r"\b(?:it|that|this|they|them|these|those|eso|esto|ello|ellos|ellas)\b", re.IGNORECASE
)
_BARE: Final = re.compile(
    r"(?:why(?: not)?|how|when|where|since when|how (?:long|often|much|many|come)"
    r"|(?:y )?(?:por qué|cómo|cuándo|dónde|cuánto|cuántos|cuántas))",
    re.IGNORECASE,
)
_EDGES: Final = " \t\n¿¡?!.,;:…\"'«»"


def continues(question: str) -> bool:
    """Whether the question leans on the one before it."""
    bare = question.strip(_EDGES)
    count = len(bare.split())
    if _BARE.fullmatch(bare):
        return True
    if count <= _LONGEST and _OPENING.match(bare):
        return True
    return count <= _SHORT and _PRONOUN.search(bare) is not None


def leaned_on(earlier: Sequence[str], question: str) -> list[str]:
    """Return the earlier questions, oldest first, that ``question`` cannot be read without."""
    found: list[str] = []
    for each in reversed(earlier[-FURTHEST:]):
        if not continues(question):
            break
        found.insert(0, each)
        question = each
    return found
