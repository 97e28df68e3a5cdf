"""Names and addresses by how people write them, in English and Spanish: no model is asked.

A person is found after an introduction (``me llamo``, ``my husband``), an honorific, a sign-off,
or where a common Spanish given name has a surname; an address by its street and number. Each
pattern is bounded, so a search is linear in the text.
"""

import re
from collections.abc import Collection, Iterator
from typing import Final

from turnwire.nodes.guardrails.pii import PiiKind, Span

_CAPITAL: Final = r"[A-ZÁÉÍÓÚÑÜÇ](?:[^\W\d_]|['\u2019\-]){1,24}(?!\w)"
_BETWEEN: Final = r"(?: (?:de|del|de la|de los|da|van|von|y))?"
_NAME: Final = rf"{_CAPITAL}(?:{_BETWEEN} {_CAPITAL}){{0,3}}"
_FULL_NAME: Final = rf"{_CAPITAL}(?:{_BETWEEN} {_CAPITAL}){{1,3}}"

_KIN: Final = (
    "husband|wife|son|daughter|mother|father|mum|mom|dad|brother|sister|partner|friend|boss|"
    "neighbour|neighbor|grandmother|grandfather|grandma|grandpa|uncle|aunt|cousin|patient|"
    "marido|mujer|esposa|esposo|hijo|hija|madre|padre|hermano|hermana|abuela|abuelo|pareja|amigo|"
    "amiga|vecino|vecina|jefe|jefa|tío|tía|primo|prima|suegro|suegra|novio|novia|paciente"
)
_GIVEN: Final = (
    "Adrián|Alberto|Alejandra|Alejandro|Alicia|Álvaro|Ana|Andrea|Andrés|Ángel|Ángela|Antonia|"
    "Antonio|Beatriz|Carlos|Carmen|Carolina|Cristina|Daniel|Daniela|David|Diego|Eduardo|Elena|"
    "Enrique|Esperanza|Eva|Felipe|Fernanda|Fernando|Francisca|Francisco|Gabriel|Gabriela|Gloria|"
    "Gonzalo|Guadalupe|Guillermo|Gustavo|Héctor|Hugo|Ignacio|Inés|Irene|Isabel|Iván|Jaime|Javier|"
    "Jesús|Joaquín|Jorge|José|Josefa|Juan|Juana|Julia|Julio|Laura|Leticia|Lorena|Lourdes|Lucía|"
    "Luis|Luisa|Manuel|Manuela|Marcos|Margarita|María|Mario|Marta|Martín|Mateo|Mercedes|Miguel|"
    "Mónica|Natalia|Nicolás|Nuria|Óscar|Pablo|Patricia|Paula|Pedro|Pilar|Rafael|Ramón|Raquel|Raúl|"
    "Ricardo|Roberto|Rocío|Rodrigo|Rosa|Rosario|Rubén|Salvador|Santiago|Sara|Sergio|Silvia|Sofía|"
    "Susana|Teresa|Tomás|Valentina|Verónica|Vicente|Víctor|Ximena|Yolanda"
)
_PERSONS: Final = tuple(
    re.compile(each)
    for each in (
        rf"\b(?i:my name is|my name's|me llamo|mi nombre es|se llama|(?:his|her) name is|i am|i'm|"
        rf"this is|soy|habla|le habla|le escribe)\s({_NAME})",
        rf"\b(?i:my|our|mi|nuestro|nuestra|'s)\s(?i:{_KIN}),?\s({_NAME})",
        rf"\b(?i:mr|mrs|ms|dr|prof|sr|sra|srta|dra|don|doña|d\.ª|dña)\.?\s({_NAME})",
        rf"\b(?i:regards|sincerely|yours|cheers|saludos?|atentamente|cordialmente|fdo|firmado|"
        rf"signed)[,.:]?\s{{1,3}}({_NAME})",
        rf"\b(?i:a nombre de|en nombre de|on behalf of|in the name of|patient|paciente|nombre|name|"
        rf"titular|asegurad[oa])[:,]?\s({_FULL_NAME})",
        rf"(?<!\w)((?:{_GIVEN})(?:{_BETWEEN} {_CAPITAL}){{1,3}})",
    )
)

_NUMBER: Final = r"(?:n\.?[ºo°]\.? ?|num\.? ?|número |#)?[0-9]{1,5}[A-Za-z]?\b"
_DOOR: Final = (
    r"(?:,? (?:[0-9]{1,2}[ºª°]|bajo|piso|puerta|int\.?|dpto\.?|esc\.?) ?[0-9A-Za-z]{0,3}\b){0,3}"
)
_WORD: Final = r"[^\W\d_](?:[^\W\d_]|['\u2019.\-]){0,24}"
_TOWN: Final = (
    rf"(?:, (?:Col(?:\.|onia) {_CAPITAL}(?: {_CAPITAL}){{0,3}}, )?"
    rf"[0-9]{{5}}(?: {_CAPITAL}(?:{_BETWEEN} {_CAPITAL}){{0,2}})?)?"
)
_STREET_ENDS: Final = (
    "Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Square|Sq|Place|Pl|"
    "Terrace|Way|Close|Crescent|Gardens|Grove|Row|Parade|Highway|Hwy|Mews|Parkway|Circle"
)
_POSTCODE: Final = r"[A-Z]{1,2}[0-9][0-9A-Z]? [0-9][A-Z]{2}\b"
_ADDRESSES: Final = tuple(
    re.compile(each)
    for each in (
        rf"\b(?i:calle|c/|avenida|avda\.?|av\.?|paseo|plaza|pza\.?|carrer|camino|carretera|ctra\.?|"
        rf"ronda|travesía|glorieta|calzada|bulevar|blvd\.?|pasaje|callejón|rambla) ?"
        rf"{_WORD}(?: {_WORD}){{0,5}},? {_NUMBER}{_DOOR}{_TOWN}",
        rf"(?:\b(?i:flat|apt|apartment|unit|suite) [0-9A-Za-z]{{1,5}}, )?\b[0-9]{{1,5}}[A-Za-z]? "
        rf"(?:[NSEW]\.? )?(?:(?:{_CAPITAL}|[0-9]{{1,3}}(?:st|nd|rd|th)) ){{1,4}}"
        rf"(?:{_STREET_ENDS})\b\.?"
        rf"(?:,? (?i:flat|apt|apartment|unit|suite|#) ?[0-9A-Za-z]{{1,5}}\b)?"
        rf"(?:,? {_CAPITAL}(?: {_CAPITAL}){{0,2}},?)?(?: [A-Z]{{2}} [0-9]{{5}}\b| {_POSTCODE})?",
        r"\b[0-9]{1,5}[a-z]? (?!(?:minutes?|miles?|hours?|metres?|meters?|steps?|times) )"
        r"[a-z'\u2019]{3,16}(?: (?!the |a |this |that )[a-z'\u2019]{2,16})? "
        r"(?:street|road|avenue|lane|terrace|drive|crescent)\b",
        r"\b(?i:p\.? ?o\.? box|apartado(?: de correos| postal)?|apdo\.?) [0-9]{1,6}\b",
        rf"\b(?i:colonia|col\.) {_CAPITAL}(?: {_CAPITAL}){{0,3}}, [0-9]{{5}}\b",
        rf"\b{_POSTCODE}",
        r"(?i:\b(?:c\.?p\.?|código postal|zip(?: code)?|postcode):? )[0-9]{5}\b",
    )
)


def names_by_rule(text: str, kinds: Collection[PiiKind]) -> Iterator[Span]:
    """Yield the names and addresses that the rules find; they may overlap."""
    if "PERSON" in kinds:
        for rule in _PERSONS:
            yield from (Span(*found.span(1), "PERSON") for found in rule.finditer(text))
    if "ADDRESS" in kinds:
        for rule in _ADDRESSES:
            yield from (Span(*found.span(), "ADDRESS") for found in rule.finditer(text))
