"""The words of a text that carry meaning, in English and Spanish, and queries made of them."""

import re
from functools import lru_cache
from typing import Final

from turnwire.language import folded

MAX_TERMS: Final = 32
"""How many different words of a query are looked up."""

_WORD: Final = re.compile(r"[^\W_]+", re.UNICODE)
_CODE: Final = re.compile(r"[^\W_]+(?:[-_/.][^\W_]+)*", re.UNICODE)

# Words that say how something is asked, not what about. Without accents, as folded() leaves them.
_STOP_LISTED: Final = """
    a about above after again all also am an and any are as ask at be because been before being
    below between both but by can could d did do does doing don down during each few find for
    from further get give had has have having he her here hers him his how i if in into is it
    its just know let like ll m may me mean might more most much must my need no nor not of off
    on once one only or other our out over own please re s same say shall she should show so
    some such t tell than that the their them then there these they thing this those through to
    too under until up use ve very want was we were what when where which while who whom whose
    why will with would yes you your yours al algo algun alguna algunas alguno algunos ante
    antes asi aun aunque bajo bien cada como con contra cual cuales cuando cuanta cuantas
    cuanto cuantos de debe debo deben del desde dime donde dos e el ella ellas ello ellos en
    entre era eran eres es esa esas ese eso esos esta estaba estado estan estar estas este esto
    estos estoy fue fueron ha habia hace hacen hacer hago han hasta hay he la las le les lo los
    mas me mi mientras mis mucho muy necesito ni ningun ninguna ninguno no nos nosotros nuestra
    nuestras nuestro nuestros o os otra otras otro otros para pero poco por porque puede pueden
    puedo pues que quien quienes quiero saber se sea sean segun ser si sido sin sobre son soy
    su sus tal tambien tan tanto te tener tengo ti tiene tienen toda todas todo todos tras tu
    tus un una unas uno unos usted ustedes va vez y ya yo
"""
_STOP: Final = frozenset(_STOP_LISTED.split())


def terms(text: str) -> list[str]:
    """Return the different words of a query that are worth looking up, in order, at most 32."""
    found = dict.fromkeys(word for word in _WORD.findall(folded(text)) if word not in _STOP)
    return list(found)[:MAX_TERMS]


@lru_cache(maxsize=8192)
def content_words(text: str) -> frozenset[str]:
    """Return the stems of the words that carry meaning."""
    return frozenset(_stem(word) for word in _WORD.findall(folded(text)) if word not in _STOP)


@lru_cache(maxsize=8192)
def codes(text: str) -> frozenset[str]:
    """Return what looks like an identifier: ``tw-4471``, ``b2b``, ``90210``; years do not."""
    return frozenset(word for word in _CODE.findall(folded(text)) if _is_code(word))


@lru_cache(maxsize=8192)
def fingerprint(text: str) -> frozenset[tuple[str, ...]]:
    """Return the text's runs of three words, by which a near copy is known."""
    words = _WORD.findall(folded(text))
    return frozenset(zip(words, words[1:], words[2:], strict=False)) or frozenset({tuple(words)})


def match_expression(text: str) -> str:
    """Return an FTS5 expression that finds any of the words, or "" where there is none.

    Every term is letters and digits only and stands in quotes: no operator, column filter or
    quotation mark of the text gets through (SQLite, FTS5, section 3.1).
    """
    return " OR ".join(f'"{term}"' for term in terms(text))


def _is_code(word: str) -> bool:
    digits = sum(character.isdigit() for character in word)
    if digits == len(word):
        return digits >= 5
    mixed = any(character.isalpha() for character in word)
    return digits > 0 and mixed and len(word) >= 3


def _stem(word: str) -> str:
    # A cut is crude, but the same for both languages: reimbursed, reimbursement -> reimbu.
    if len(word) > 4 and word.endswith("s"):
        word = word.removesuffix("es") if len(word) > 5 and word[-3] in "rlndjzx" else word[:-1]
    return word[:6]
