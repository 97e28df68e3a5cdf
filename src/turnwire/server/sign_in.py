"""``/auth/login``, ``/auth/verify``, ``/auth/logout``, and whether a session is signed in."""

from typing import Final, Protocol

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from turnwire.admission.sign_in import read_number
from turnwire.errors import InvalidCode, NotFound, SignInUnavailable
from turnwire.server.bodies import LoginRequest, VerifyRequest, parse, read_json
from turnwire.server.callers import Callers
from turnwire.server.openapi import BODY, CALLER, refuses, takes
from turnwire.server.turns import Turns
from turnwire.storage.members import SessionRecord
from turnwire.wires.base import iso


class SignIn(Protocol):
    """Signs members in and out."""

    @property
    def code_seconds(self) -> float:
        """How long a code lives."""
        ...

    async def login(self, session: SessionRecord, mobile: str, *, address: str) -> None:
        """Send a code to a number (E.164), if it is a member's, after this has returned.

        Raises:
            RateLimited: as many codes were asked for as may be.
        """
        ...

    async def verify(self, session: SessionRecord, mobile: str, typed: str) -> int:
        """Sign the session's member in; return when that ends by itself (ms).

        Raises:
            InvalidCode, SignInUnavailable: they are not signed in by this.
        """
        ...

    async def logout(self, member: str) -> None:
        """Erase the member's credential."""
        ...

    async def signed_in_until(self, session: SessionRecord) -> int | None:
        """Return when the member's sign-in ends by itself (ms), or none where there is none."""
        ...


class CodeAsked(BaseModel):
    """The answer to `POST /auth/login`, whoever has the number."""

    expires_in: float
    """How many seconds the code lives, if one was sent."""


class Signed(BaseModel):
    """Whether a session is signed in."""

    signed_in: bool
    expires_at: str
    """When that ends by itself: the sign-in, or else the session."""


_NO_STORE: Final = {"Cache-Control": "no-store"}


def router(callers: Callers, turns: Turns, sign_in: SignIn | None) -> APIRouter:
    """Return the routes; without ``sign_in`` nobody can sign in, and they say so."""
    routes = APIRouter(tags=["members"])

    @routes.get("/auth/session", responses={200: {"model": Signed}, **refuses(*CALLER)})
    async def state(request: Request) -> Response:
        """Whether the session is signed in, and until when."""
        session = await callers.session(request)
        until = await sign_in.signed_in_until(session) if sign_in is not None else None
        return _signed(until, session)

    @routes.post(
        "/auth/login",
        status_code=202,
        responses={202: {"model": CodeAsked}, **refuses(*CALLER, *BODY, NotFound)},
        **takes(LoginRequest),
    )
    async def login(request: Request) -> Response:
        """Send a one-time code to a member's mobile; what is answered tells nothing about it."""
        data, _ = await read_json(request)
        session = await callers.session(request)
        wanted = _there(sign_in)
        mobile = read_number(parse(LoginRequest, data).mobile)
        address = request.client.host if request.client else ""
        await wanted.login(session, mobile, address=address)
        return _json(CodeAsked(expires_in=wanted.code_seconds), status=202)

    @routes.post(
        "/auth/verify",
        responses={
            200: {"model": Signed},
            **refuses(*CALLER, *BODY, NotFound, InvalidCode, SignInUnavailable),
        },
        **takes(VerifyRequest),
    )
    async def verify(request: Request) -> Response:
        """Sign the session's member in with the code that was sent."""
        data, _ = await read_json(request)
        session = await callers.session(request)
        wanted = _there(sign_in)
        body = parse(VerifyRequest, data)
        until = await wanted.verify(session, read_number(body.mobile), body.code)
        return _signed(until, session)

    @routes.post("/auth/logout", responses={200: {"model": Signed}, **refuses(*CALLER, NotFound)})
    async def logout(request: Request) -> Response:
        """Sign the session's member out; the session and its conversations stay."""
        session = await callers.session(request)
        await _there(sign_in).logout(session.member)
        return _signed(None, session)

    @routes.delete("/auth/session", status_code=204, responses=refuses(*CALLER))
    async def erase(request: Request) -> Response:
        """Erase the session's member: conversations, memories, sign-in and session.

        The audit of actions stays; it has opaque ids and no words.
        """
        session = await callers.session(request)
        await turns.erase_all(await callers.require(request))
        if sign_in is not None:
            await sign_in.logout(session.member)
        await callers.end(session)
        return Response(status_code=204)

    return routes


def _there(sign_in: SignIn | None) -> SignIn:
    if sign_in is None:
        raise NotFound("Nobody can sign in here: the server has no `portal_url`.")
    return sign_in


def _signed(until: int | None, session: SessionRecord) -> Response:
    ends = session.expires_ms if until is None else until
    return _json(Signed(signed_in=until is not None, expires_at=iso(ends)))


def _json(body: BaseModel, *, status: int = 200) -> Response:
    return JSONResponse(body.model_dump(), status_code=status, headers=_NO_STORE)
