"""What kind of answer a question asks for, and which sentences are of that kind.

The classes are those of answer-type detection (Li and Roth, "Learning Question Classifiers",
2002) that the form of a sentence can show, in English and Spanish.
"""

import re
from typing import Final, Literal

Kind = Literal["price", "duration", "norm", "level", "amount", "advice", "definition"]

_ASKED: Final[dict[Kind, re.Pattern[str]]] = {
    "price": re.compile(
        r"\b(?:costs?|prices?|charge|fees?|cuestan?|precios?|tarifas?)\b|\bcu[aá]nto\s+(?:vale|se\s+paga)\b",
        re.IGNORECASE,
    ),
    "duration": re.compile(
        r"\bhow\s+long\b|\bcu[aá]nto\s+(?:tiempo|duran?|tardan?|deber[ií]a\s+durar)\b"
        r"|\b(?:what|which)\s+(?:is|are)\s+the\s+(?:waiting|notice)\s+periods?\b"
        r"|\bcu[aá]l(?:es)?\s+(?:es|son)\s+(?:el\s+(?:periodo|plazo)s?\s+de\s+\w+|las?\s+carencias?)\b"
        r"|\b(?:how\s+many|cu[aá]nt[oa]s)\s+(?:seconds|minutes|hours|days|weeks|months|years"
        r"|segundos|minutos|horas|d[ií]as|semanas|meses|años)\b",
        re.IGNORECASE,
    ),
    "norm": re.compile(r"\bnormal(?:es)?\b", re.IGNORECASE),
    "level": re.compile(
        r"\b(?:levels?|nivel(?:es)?)\b|\b(?:what|which)\s+(?:temperature|level|reading)\b|\bhow\s+(?:high|low|cool|warm)\b"
        r"|\bcounts?\s+as\b|\ba\s+partir\s+de\s+(?:qu[eé]|cu[aá]nt[oa]s)\b"
        r"|\bqu[eé]\s+(?:temperatura|nivel|cifra)\b",
        re.IGNORECASE,
    ),
    "amount": re.compile(r"\bhow\s+(?:much|many|often)\b|\bcu[aá]nt[oa]s?\b", re.IGNORECASE),
    "advice": re.compile(
        r"\bwhat\s+(?:should|can|do|must)\s+(?:i|we|one)\s+do\b|\bwhat\s+helps\b"
        r"|\bhow\s+(?:do|can|should)\s+(?:i|we|you)\s+(?:treat|ease|relieve|cure|lower|bring|stop|reduce)\b"
        r"|\bqu[eé]\s+(?:hago|hacer|puedo\s+hacer|debo\s+hacer|ayuda|alivia)\b"
        r"|\bc[oó]mo\s+(?:se\s+)?(?:trat|alivi|cur|baj|reduc|quit)\w*",
        re.IGNORECASE,
    ),
    "definition": re.compile(
        r"^\W*what(?:'s|\u2019s|s|\s+is)\s+an?\s|\bwhat\s+does\b.{1,40}\bmean\b"
        r"|^\W*qu[eé]\s+(?:es|significa)\s+(?:una?\s|el\s|la\s)",
        re.IGNORECASE,
    ),
}
_TIME: Final = (
    r"(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?"
    r"|segundos?|minutos?|horas?|d[ií]as?|semanas?|mes(?:es)?|años?)"
)
_NUMBER: Final = (
    r"(?:\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|few|several"
    r"|un[ao]?|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce|pocos|pocas|vari[ao]s)\b)"
)
_SAID: Final[dict[Kind, re.Pattern[str]]] = {
    "price": re.compile(
        r"[$€£]|\b(?:euros?|dollars?|d[oó]lares|pesos|free|gratis|gratuit[ao])\b", re.IGNORECASE
    ),
    "duration": re.compile(rf"{_NUMBER}.{{0,24}}?\b{_TIME}\b", re.IGNORECASE),
    "level": re.compile(
        r"\d\s?(?:/\s?\d|°|º|%|mmHg\b|mg\b|mmol\b|g\b|gram|bpm\b|ml\b|l\b|lit)", re.IGNORECASE
    ),
    "amount": re.compile(
        r"\d|\b(?:six|seven|eight|nine|ten|twelve|seis|siete|ocho|nueve|diez|doce)\b", re.IGNORECASE
    ),
    "advice": re.compile(
        r"\b(?:helps?|eases?|relieves?|treat(?:ment|ed)|recommended|advised|rest|best|lowers?|reduces?|should"
        r"|ayudan?|alivian?|cuidados|tratamiento|reposo|conviene|recomiend\w+|aconsej\w+|hay\s+que|bajan?"
        r"|reducen?|deben?)\b",
        re.IGNORECASE,
    ),
}
_SAID["definition"] = re.compile(
    r"^(?:an?|una?)\s[^,.;:]{2,40}?\s(?:is|means|es|significa)\s(?:an?|the|what|una?|el|la|lo)\b",
    re.IGNORECASE,
)
_SAID["norm"] = _SAID["level"]
_ADVISES: Final = re.compile(
    r"\b(?:looking\s+after|what\s+helps|treat\w*|eas(?:e|ing)|reliev\w+|at\s+home|medicines?|care|reducing"
    r"|cuidados|qu[eé]\s+ayuda|trat\w+|alivi\w+|en\s+casa|medicamentos|c[oó]mo\s+recuperar)\b",
    re.IGNORECASE,
)
_STATES: Final = re.compile(
    r"\b(?:considered|define[sd]?|normal|healthy|between|means|best|usual|diagnosed"
    r"|considera|define|habla[rn]?|saludable|sit[uú]an?|entre|significa|mejor|diagnostic\w+)\b",
    re.IGNORECASE,
)
_IS_NORMAL: Final = re.compile(
    r"\b(?:normal(?:es|ly)?|healthy|usual(?:ly)?|between|range|saludables?|san[oa]s?|entre|suelen?)\b",
    re.IGNORECASE,
)
STRICT: Final[tuple[Kind, ...]] = ("price", "norm", "level")
"""Kinds that nothing else answers."""


def kind_of(question: str) -> Kind | None:
    """Return the kind of answer that is asked for, or none where the form does not tell."""
    return next((kind for kind, form in _ASKED.items() if form.search(question)), None)


def subject_of(question: str) -> str:
    """Return the question without the words that show its kind: they are no part of its subject."""
    kind = kind_of(question)
    if kind is None:
        return question
    rest = _ASKED[kind].sub(" ", question)
    return _ASKED["level"].sub(" ", rest) if kind == "norm" else rest


def strength(kind: Kind, sentence: str, heading: str = "") -> float:
    """Return how plainly the sentence below ``heading`` is an answer of the kind, from 0 to 1."""
    if kind == "advice":
        return 0.4 * is_of(kind, sentence) + 0.6 * bool(_ADVISES.search(heading))
    if not is_of(kind, sentence):
        return 0.0
    if kind == "norm":
        return 1.0 if _IS_NORMAL.search(sentence) else 0.2
    if kind != "level" or _STATES.search(sentence):
        return 1.0
    return 0.5  # a reading, but perhaps one that something is to be done about


def is_of(kind: Kind, sentence: str) -> bool:
    """Whether the sentence has what such an answer has: a price, a time, a reading …"""
    return _SAID[kind].search(sentence) is not None
