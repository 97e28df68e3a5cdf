"""When and about what a member would like to be called, in their own words: pure."""

import re
from collections.abc import Callable
from typing import Final

from turnwire.language import folded

Asks = Callable[[str], bool]
"""Whether a clause is the request itself, such as "call me back"."""

_DAY: Final = r"""
    \b(?:(?:on|next|this|el|este|próximo|proximo)\s+)?
    (?:today|tonight|tomorrow|hoy|mañana|manana
    |monday|tuesday|wednesday|thursday|friday|saturday|sunday
    |lunes|martes|miércoles|miercoles|jueves|viernes|sábado|sabado|domingo
    |(?<=next\ )week|(?<=this\ )week)\b
    |\b(?:la\ )?(?:próxima\ semana|proxima\ semana|semana\ que\ viene)\b
    |\b(?:next|this|esta|later\ this)\ (?:week|semana)\b
"""
_PART_OF_DAY: Final = (
    r"(?:morning|afternoon|evening|mañana|manana|tarde|noche|lunchtime|mediod[ií]a)\b"
)
_HOUR: Final = (
    r"(?:\d{1,2}(?:[:.]\d{2})?\s?(?:am|pm|a\.m\.|p\.m\.|h|o'clock|horas)?(?!\w)|noon\b|midday\b)"
)
_AT: Final = r"""
    (?:at|after|before|between|around|from|a\ las|entre\ las|sobre\ las|a\ partir\ de\ las
    |(?:después|despues|antes)\ de\ las)
"""
_AT_HOUR: Final = rf"""
    {_AT}\s+{_HOUR}(?:\s*(?:and|to|-|y|a)\s*(?:las\s+)?{_HOUR})?
    (?:\s+(?:de|por)\ la\ {_PART_OF_DAY})?
"""
_TIME: Final = re.compile(
    rf"""
    (?:{_DAY}) (?:\s+(?:in\ the|por\ la|a\ la|de\ la|en\ la)?\s*{_PART_OF_DAY})?
        (?:,?\s*{_AT_HOUR})?
    | \b{_AT_HOUR} (?:\s+(?:{_DAY}))?
    | \b(?:in\ the|por\ la)\s+{_PART_OF_DAY}
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ABOUT: Final = re.compile(
    r"""
    \b(?:about|because(?:\ of)?|regarding|concerning|with\ regard\ to|it\ is\ about|it's\ about
    |sobre|porque|acerca\ de|es\ por|debido\ a|respecto\ a
    |por(?!\s+(?:favor|la\ (?:mañana|tarde|noche)|teléfono|telefono)\b))
    \s+(.+)
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_COURTESY: Final = re.compile(
    r"""
    \b(?:please|pls|plz|(?:many\ )?thanks(?:\ a\ lot|\ so\ much)?|thank\ you(?:\ so\ much)?|cheers
    |hi|hello|hey(?:\ there)?|good\ (?:morning|afternoon|evening)|kind\ regards|best\ regards
    |if\ (?:possible|you\ can)|ideally|preferably|as\ soon\ as\ possible|asap
    |por\ favor|porfa|(?:muchas\ )?gracias|hola|buenos\ d[ií]as|buenas(?:\ (?:tardes|noches))?
    |(?:un\ )?saludos?|a\ ser\ posible|si\ (?:es\ posible|puede[ns]?)|preferiblemente
    |cuanto\ antes)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ENDING: Final = re.compile(
    rf"[\s,.;:!-]+(?:{_COURTESY.pattern}[\s,.;:!-]*)+$", re.IGNORECASE | re.VERBOSE
)
_CLAUSE: Final = re.compile(
    r"[,;:!?¡¿\n]+|\.+(?=\s|$)|\s[-\u2013\u2014]\s"
    r"|\sso\s(?=(?:please|can|could|call|ring|phone)\b)|\s(?:as|since)\s(?=(?:i|my|we|our|the)\b)"
    r"|\s(?:así que|asi que|ya que|pues)\s",
    re.IGNORECASE,
)
_LEADS: Final = re.compile(
    r"^(?:and|but|so|then|also|cause|as|since|y|e|pero|as[ií] que|es que|que|pues|ya que)\s+",
    re.IGNORECASE,
)
_INTRODUCES: Final = re.compile(
    r"^(?:i\ am|i'm|im|my\ name\ is|this\ is|soy|me\ llamo|my\ (?:number|phone|mobile)\b.*"
    r"|mi\ (?:número|numero|teléfono|telefono|móvil|movil)\b.*)\s",
    re.IGNORECASE,
)
_EMPTY_LISTED: Final = """
    i id we me us you it is would like to want need a an the could can some quiero quisiera necesito
    me le gustaria puede puedes pueden un una yo ok yes no si and y do so urgent urgently again back
    soon ahora now
"""
_EMPTY: Final = frozenset(_EMPTY_LISTED.split())
_EDGES: Final = " \t\n.,;:!¡¿?-\u2013\u2014"


def is_courtesy(text: str) -> bool:
    """Whether a text is nothing but a greeting or thanks."""
    return not re.search(r"\w", _COURTESY.sub(" ", text))


def preferred_time(text: str) -> str | None:
    """Return when the member would like to be called."""
    found = _TIME.search(text)
    return _tidy(found[0]) if found else None


def reason(text: str, asks: Asks) -> str | None:
    """Return what a call is to be about.

    That is what follows ``about``, ``because``, ``sobre`` …, or else the clauses that stand beside
    the request: "my claim is stuck" of "Please call me back, my claim is stuck".
    """
    found = _ABOUT.search(text)
    if found is not None:
        return _said(_ENDING.sub("", found[1]))
    clauses = [_COURTESY.sub(" ", each) for each in _CLAUSE.split(text)]
    asked = [asks(each) for each in clauses]
    if not any(asked):
        return None
    beside = (
        _said(each) for each, is_request in zip(clauses, asked, strict=True) if not is_request
    )
    return ", ".join(each for each in beside if each and _says_something(each)) or None


def _said(text: str) -> str | None:
    """Return a text without the time that is wished for, and without courtesies at its edges."""
    bare = _COURTESY.sub(" ", text) if _COURTESY.fullmatch(text.strip(_EDGES)) else text
    bare = _TIME.sub(" ", bare)
    bare = _ENDING.sub("", f"{bare.rstrip(_EDGES)} ")
    tidy = _tidy(bare)
    return _tidy(_LEADS.sub("", tidy)) if tidy else None


def _says_something(clause: str) -> bool:
    words = folded(clause).replace("'", "").split()
    return not _INTRODUCES.match(f"{clause} ") and any(
        len(each) > 2 and each.isalpha() for each in words if each not in _EMPTY
    )


def _tidy(text: str) -> str | None:
    return " ".join(text.split()).strip(_EDGES) or None
