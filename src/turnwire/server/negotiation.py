"""What the client would like: a stream or JSON, tokens or not, which language."""

import re
from typing import Final

from fastapi import Request
from starlette.requests import HTTPConnection

from turnwire.language import language_of

DEFAULT_LOCALE: Final = "en"
LOCALE: Final = r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,4}$"
"""The form of a language tag that a turn may have (RFC 5646, shortened)."""


def wants_stream(request: Request) -> bool:
    """Whether ``Accept`` names ``text/event-stream``; any other gets JSON."""
    return any(
        kind == "text/event-stream" and weight > 0
        for kind, weight in _weighted(request.headers.get("accept", ""))
    )


def wants_tokens(request: Request) -> bool:
    """Whether the query asks for ``token`` frames."""
    return request.query_params.get("tokens", "").lower() in ("true", "1")


def locale(chosen: str | None, request: HTTPConnection, message: str) -> str:
    """Return the turn's language: the body's, else the message's own, else the header's first.

    A message tells English from Spanish and neither from a third, so it counts only where the
    header names one of the two, or nothing. The region that the header names stays.
    """
    if chosen is not None:
        return chosen
    accepted = _accepted(request)
    others = {"en": "es", "es": "en"}.get(accepted.partition("-")[0].lower())
    return others if others is not None and language_of(message) == others else accepted


def _accepted(request: HTTPConnection) -> str:
    """Return the first of ``Accept-Language``."""
    named = [
        (weight, tag)
        for tag, weight in _weighted(request.headers.get("accept-language", ""))
        if tag != "*" and weight > 0
    ]
    named.sort(key=lambda each: -each[0])
    best = named[0][1] if named else DEFAULT_LOCALE
    return best if re.fullmatch(LOCALE, best) else DEFAULT_LOCALE


def _weighted(header: str) -> list[tuple[str, float]]:
    """Return the values of a header with their ``q`` (RFC 9110, section 12.4.2)."""
    found: list[tuple[str, float]] = []
    for part in header[:1000].split(","):
        value, *parameters = (each.strip().lower() for each in part.split(";"))
        weight = 1.0
        for each in parameters:
            if each.startswith("q="):
                try:
                    weight = float(each[2:])
                except ValueError:
                    weight = 0.0
        if value:
            found.append((value, weight))
    return found
