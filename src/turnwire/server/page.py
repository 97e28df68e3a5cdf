"""The page at ``/``, and the one-time link that lets its owner in on loopback."""

import html
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from mimetypes import guess_type
from pathlib import Path
from typing import Final

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from turnwire.admission.api_keys import digest
from turnwire.clock import Now
from turnwire.errors import InvalidApiKey
from turnwire.server.access import COOKIE, COOKIE_SECONDS
from turnwire.storage.base import KeyStore

_FILES: Final = Path(__file__).parent.parent / "web"
_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; "
        "form-action 'self'"
    ),
    "Cache-Control": "no-cache",
}

_NO_LINK: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>turnwire</title>
<link rel="stylesheet" href="/app.css">
<div class="noscript">
<p>This link was used already or has expired.
Run <code>turnwire link</code> in the terminal and open the link that it prints.</p>
<p lang="es">Este enlace ya se usó o ha caducado.
Ejecute <code>turnwire link</code> en la terminal y abra el enlace que imprime.</p>
<p><a href="/">turnwire</a></p>
</div>
"""


_NO_FACTS: Final = b'<meta name="turnwire" content="{}">'


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """What the page has to know of its server; nothing in it is secret."""

    session_header: str
    can_sign_in: bool = False
    outbox: Path | None = None
    """Where sign-in codes lie, if they are written to files."""

    def meta(self) -> bytes:
        """Return the facts as the element of the page that it reads them from."""
        sign_in = {"outbox": str(self.outbox) if self.outbox else None}
        told = {"header": self.session_header, "signIn": sign_in if self.can_sign_in else None}
        return f'<meta name="turnwire" content="{html.escape(json.dumps(told))}">'.encode()


def _sends(file: Path, facts: PageFacts) -> Callable[[], Response]:
    kind, _ = guess_type(file.name)

    def send() -> Response:
        content = file.read_bytes()
        if file.suffix == ".html":
            content = content.replace(_NO_FACTS, facts.meta())
        # No `FileResponse`: it answers a `Range` that it cannot read outside of our envelope.
        return Response(content, media_type=kind, headers=_HEADERS)

    return send


def mount(app: FastAPI, store: KeyStore, facts: PageFacts, *, now: Now) -> None:
    """Serve the page on ``app``; only for a server that listens on loopback."""
    routes = APIRouter(include_in_schema=False)

    for file in _FILES.iterdir():
        path = "/" if file.name == "index.html" else f"/{file.name}"
        routes.add_api_route(path, _sends(file, facts))

    @routes.get("/open")
    async def enter(request: Request, code: str = "") -> Response:
        if not await store.take_secret("link", digest(code), now=now()):
            if "text/html" in request.headers.get("accept", ""):
                headers = {**_HEADERS, "Cache-Control": "no-store", "WWW-Authenticate": "Bearer"}
                return HTMLResponse(_NO_LINK, status_code=401, headers=headers)
            raise InvalidApiKey(
                "This link was used or has expired; `turnwire link` prints a new one."
            )
        cookie = secrets.token_urlsafe(32)
        expires = now() + COOKIE_SECONDS * 1000
        await store.add_secret("cookie", digest(cookie), expires_ms=expires)
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(
            COOKIE, cookie, max_age=COOKIE_SECONDS, httponly=True, samesite="strict"
        )
        return response

    app.include_router(routes)
