"""What members read of tools that failed: fixed texts, by language."""

from collections.abc import Mapping
from typing import Final

TEXTS: Final[Mapping[str, Mapping[str, str]]] = {
    "unknown_tool": {
        "en": "There is no such tool.",
        "es": "No existe esa herramienta.",
    },
    "needs_confirmation": {
        "en": "This needs your confirmation first.",
        "es": "Esto necesita antes su confirmación.",
    },
    "needs_no_confirmation": {
        "en": "This changes nothing and needs no confirmation.",
        "es": "Esto no cambia nada y no necesita confirmación.",
    },
    "invalid_arguments": {
        "en": "The details of this request are not complete or not usable",
        "es": "Los datos de esta solicitud no están completos o no se pueden usar",
    },
    "sign_in_required": {
        "en": "Please sign in first.",
        "es": "Inicie sesión primero, por favor.",
    },
    "not_allowed": {
        "en": "Your sign-in does not allow this.",
        "es": "Su sesión no permite esto.",
    },
    "timeout": {
        "en": "This took too long.",
        "es": "Esto ha tardado demasiado.",
    },
    "tool_failed": {
        "en": "This did not work.",
        "es": "Esto no ha funcionado.",
    },
    "bad_result": {
        "en": "The answer could not be read.",
        "es": "No se ha podido leer la respuesta.",
    },
    "outcome_unknown": {
        "en": "We could not find out whether this was done. Please check before you try again.",
        "es": "No hemos podido saber si se ha hecho. Compruébelo antes de volver a intentarlo.",
    },
    "confirmation_unavailable": {
        "en": "This was not done: there is no valid confirmation for it.",
        "es": "No se ha hecho: no hay una confirmación válida.",
    },
    "expired": {
        "en": "The time to confirm this has passed, and it was not done.",
        "es": "El plazo para confirmarlo ha pasado y no se ha hecho.",
    },
    "rejected": {
        "en": "You declined this, and it was not done.",
        "es": "Usted lo ha rechazado, y no se ha hecho.",
    },
}


def text(code: str, locale: str) -> str:
    """Return the text of ``code`` in the member's language, or in English."""
    said = TEXTS[code]
    return said.get(locale) or said.get(locale.partition("-")[0]) or said["en"]
