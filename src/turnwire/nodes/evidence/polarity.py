"""Whether a statement denies what its source says, or the other way round; English and Spanish."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from turnwire.nodes.evidence.units import folded

_CLAUSE: Final = re.compile(
    r"[,;:()—.!?\n]|\b(?:because|but|although|though|so|if|when|while|unless|which|who|where|porque"
    r"|pero|aunque|si|cuando|mientras|salvo|que|ya)\b",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"(?<=[.!?…])\s+|\n")
_WORD: Final = re.compile(r"[^\W_]+")
# `No more than 3` and `not only` deny nothing.
_BOUND: Final = re.compile(
    r"\b(?:no|not)\s+(?:more|less|fewer|later|longer|earlier|only|just)\b(?:\s+than)?"
    r"|\bno\s+(?:m[aá]s|menos)\s+de\b|\bno\s+s[oó]lo\b|\bno\s+matter\b",
    re.IGNORECASE,
)
_DENIAL: Final = re.compile(
    r"\b(?:not|cannot|never|no|none|nobody|nothing|neither|nor|without|n[o0]t|\w+n['\u2019]t"
    r"|nunca|jam[aá]s|ni|ning[uú]n[ao]?|nada|nadie|tampoco|sin)\b",
    re.IGNORECASE,
)
# Words that deny less plainly: they may stand for a denial, and are never taken for a lost one.
_SOFT: Final = re.compile(
    r"\b(?:avoid\w*|only|except|unless|rather|instead|un(?!der|i)\w{4,}"
    r"|rare\w*|seldom|hardly|little|few|stop\w*|exclu\w*|forbid\w*|prohib\w*|refus\w*|lack\w*|fail\w*"
    r"|dangerous|harmful|neither|bad|worse"
    r"|evit\w*|s[oó]lo|solamente|[uú]nicamente|except\w*|salvo|innecesari\w*|insegur\w*|peligros\w*"
    r"|rar[ao]\w*|apenas|poc[ao]s?|dej\w*|suspend\w*|falta\w*|en\s+vez|en\s+lugar)\b",
    re.IGNORECASE,
)
_EMPTY_LISTED: Final = """
    with from that this your have should para como pero esta este debe deben when they them there
    will would could than then their these those what about into over also some most more much
    very such only been being were does don didn isn aren must need para cada todo toda tiene
    puede pueden ser sus las los una unos unas por del mas muy hay con sin usted ustedes not never
    without cannot nunca jamas tampoco nada nadie
"""
_EMPTY: Final = frozenset(_EMPTY_LISTED.split())
_SHARE: Final = 0.34
"""The least share of a denial's words that a denial of the source has."""
_ALL: Final = 0.75
"""From this share of its words on, a statement is what the source's clause says."""
_SAME: Final = 0.9
_FEWEST: Final = 3


class Clause(NamedTuple):
    """A part of a sentence: its words, and whether it denies."""

    start: int
    end: int
    words: frozenset[str]
    denials: int
    softly: bool

    @property
    def denies(self) -> bool:
        """Whether it says that something is not so."""
        return self.denials > 0


@lru_cache(maxsize=512)
def clauses(text: str) -> tuple[Clause, ...]:
    """Return the clauses of a text that have words of their own."""
    return _cut(text, _CLAUSE)


@lru_cache(maxsize=512)
def whole_sentences(text: str) -> tuple[Clause, ...]:
    """Return the sentences of a text in the same form."""
    return _cut(text, _SENTENCE)


def lost(claim: Clause, sources: Sequence[str], *, same_language: bool) -> bool:
    """Whether the clause denies what no source denies, or states what they deny.

    Between two languages no words can be compared: there, any denial carries a denial.
    """
    if claim.denies and not same_language:
        return not any(each.denies or each.softly for source in sources for each in clauses(source))
    if claim.denies and not _is_denied_near(claim, sources):
        return True
    if not same_language or len(claim.words) < _FEWEST or (claim.softly and not claim.denies):
        return False
    shares = [
        (len(claim.words & each.words) / len(claim.words), each)
        for source in sources
        for each in clauses(source)
    ]
    agrees = max((share for share, of in shares if _may_agree(claim, of)), default=0.0)
    against = max((share for share, of in shares if not _may_agree(claim, of)), default=0.0)
    return against >= _ALL and against > agrees


def _is_denied_near(claim: Clause, sources: Sequence[str]) -> bool:
    return any(
        (each.denies or each.softly) and len(claim.words & each.words) >= _least(claim)
        for source in sources
        for each in whole_sentences(source)
    )


def _may_agree(claim: Clause, source: Clause) -> bool:
    """Whether both deny or both state; a word that denies softly may stand for either.

    Where the words are the same, so is the number of denials: ``not stopped without advice``.
    """
    shared = len(claim.words & source.words)
    if shared >= _SAME * len(claim.words | source.words) and claim.denials != source.denials:
        return False
    return source.denies == claim.denies or (claim.denies and source.softly)


def _least(claim: Clause) -> float:
    return max(1.0, _SHARE * len(claim.words))


def _cut(text: str, between: re.Pattern[str]) -> tuple[Clause, ...]:
    bare = _BOUND.sub(lambda found: " " * len(found[0]), text)
    found: list[Clause] = []
    begin = 0
    for cut in [*(each.span() for each in between.finditer(bare)), (len(bare), len(bare))]:
        part = bare[begin : cut[0]]
        words = frozenset(
            word[:5] for word in _WORD.findall(folded(part)) if len(word) > 3 and word not in _EMPTY
        )
        if words:
            denials = len(_DENIAL.findall(part))
            found.append(Clause(begin, cut[0], words, denials, _SOFT.search(part) is not None))
        begin = cut[1]
    return tuple(found)
