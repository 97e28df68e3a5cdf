"""The portal's calls: those of a service, those of a member, and the switches."""

import hmac
import logging
import secrets
from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, JsonValue
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from turnwire.clock import Now
from turnwire.errors import NotFound, RequestInvalid, TurnwireError
from turnwire.portal.bodies import Callback, Mobile, NewAddress, Switches, Task, body_of, read_body
from turnwire.portal.desk import Desk, idempotency_key, written
from turnwire.portal.faults import Endpoint, Faults, error
from turnwire.portal.records import Benefit, Claim, Member
from turnwire.portal.store import Action, Json, Kind, PortalStore

SCOPES: Final = ("member.read", "member.write")
TOKEN_SECONDS: Final = 3600

_LOG: Final = logging.getLogger("turnwire.portal")


class Unauthorized(TurnwireError):
    """No token or service key, or one that is unknown or has expired: one text for all."""

    code, status = "unauthorized", 401

    def __init__(self) -> None:
        super().__init__("This needs a valid 'Authorization: Bearer …'.")


class Portal:
    """Answers calls out of a store."""

    def __init__(
        self,
        store: PortalStore,
        *,
        service_key: str,
        now: Now,
        token_seconds: int = TOKEN_SECONDS,
    ) -> None:
        self._store = store
        self._service_key = service_key.encode()
        self._now = now
        self._token_seconds = token_seconds
        self._faults = Faults()
        self._desk = Desk(store, now=now)
        self._upstream: Mapping[str, Endpoint] = {
            "POST /service/members": self._known,
            "POST /service/tokens": self._token,
            "POST /service/tasks": self._task,
            "GET /me": self._me,
            "GET /me/plan": self._plan,
            "GET /me/benefits": self._benefits,
            "GET /me/claims": self._claims,
            "GET /me/claims/{reference}": self._claim,
            "GET /me/documents": self._documents,
            "GET /me/callbacks": self._callbacks,
            "POST /me/callbacks": self._callback,
            "PUT /me/address": self._address,
        }
        self._beside: Mapping[str, Endpoint] = {
            "GET /healthz": self._healthz,
            "GET /demo/switches": self._switches,
            "PUT /demo/switches": self._turn,
            "GET /demo/actions": self._actions,
            "DELETE /demo/actions": self._forget,
        }

    def app(self) -> Starlette:
        """Return the ASGI application."""
        named = {**self._upstream, **self._beside}
        routes = [self._route(name, endpoint) for name, endpoint in named.items()]
        return Starlette(routes=routes, exception_handlers={HTTPException: _no_route})

    def _route(self, name: str, endpoint: Endpoint) -> Route:
        """Return a route that logs its name and status: no path, no body, no header."""
        method, path = name.split()

        async def safe(request: Request) -> Response:
            try:
                return await endpoint(request)
            except TurnwireError as refused:
                return error(refused.status, refused.code, str(refused))
            except Exception as broken:
                _LOG.error("%s raised %s", name, type(broken).__name__)
                return error(500, "internal_error", "The demo portal could not do this.")

        async def answered(request: Request) -> Response:
            try:
                await read_body(request)
                if name in self._upstream:
                    response = await self._faults.around(name, safe, request)
                else:
                    response = await safe(request)
            except TurnwireError as refused:
                response = error(refused.status, refused.code, str(refused))
            except ClientDisconnect:
                response = Response(status_code=499)  # nobody reads it
            _LOG.info("%s %d", name, response.status_code)
            return response

        return Route(path, answered, methods=[method])

    async def _known(self, request: Request) -> Response:
        self._serve(request)
        asked = body_of(request, Mobile)
        return JSONResponse({"known": self._store.knows(asked.mobile)})

    async def _token(self, request: Request) -> Response:
        self._serve(request)
        asked = body_of(request, Mobile)
        expires_ms = self._now() + self._token_seconds * 1000
        token = self._store.new_token(asked.mobile, expires_ms=expires_ms)
        if token is None:
            raise NotFound("No member has this number.")
        answer = {"token": token, "scopes": SCOPES, "expires_in": self._token_seconds}
        return JSONResponse(answer, headers={"Cache-Control": "no-store"})

    async def _task(self, request: Request) -> Response:
        self._serve(request)
        key = idempotency_key(request) if self._faults.switches.idempotency else None
        return self._desk.do(request, body_of(request, Task).root, key=key)

    async def _me(self, request: Request) -> Response:
        member = self._member(request)
        return _told(member, include={"member_number", "name", "mobile", "email", "address"})

    async def _plan(self, request: Request) -> Response:
        member = self._member(request)
        plan = self._store.plan(member.plan_id).model_dump(mode="json", exclude={"benefits"})
        cover = member.model_dump(
            mode="json", include={"member_number", "started_on", "renews_on", "people_covered"}
        )
        return JSONResponse(plan | cover)

    async def _benefits(self, request: Request) -> Response:
        member = self._member(request)
        benefits = self._store.plan(member.plan_id).benefits
        return JSONResponse([_benefit(each, member) for each in benefits])

    async def _claims(self, request: Request) -> Response:
        return JSONResponse([_claim(each) for each in self._member(request).claims])

    async def _claim(self, request: Request) -> Response:
        member = self._member(request)
        reference = request.path_params["reference"].upper()
        for each in member.claims:
            if each.reference == reference:
                history = [step.model_dump(mode="json") for step in each.history]
                return JSONResponse({**_claim(each), "history": history})
        raise NotFound("You have no claim with this reference.")

    async def _documents(self, request: Request) -> Response:
        member = self._member(request)
        return JSONResponse([each.model_dump(mode="json") for each in member.documents])

    async def _callbacks(self, request: Request) -> Response:
        member = self._member(request)
        return JSONResponse(self._store.callbacks(member.member_number))

    async def _callback(self, request: Request) -> Response:
        member = self._member(request)
        asked = body_of(request, Callback)
        answer = {"callback_id": f"CB-{secrets.token_hex(4).upper()}", **_given(asked)}
        return self._acted(request, "callback", member, asked, answer, status=201)

    async def _address(self, request: Request) -> Response:
        member = self._member(request)
        asked = body_of(request, NewAddress)
        answer: Json = {"change_id": f"AC-{secrets.token_hex(4).upper()}", "address": _given(asked)}
        return self._acted(request, "address_change", member, asked, answer, status=200)

    def _acted(
        self,
        request: Request,
        kind: Kind,
        member: Member,
        asked: BaseModel,
        answer: Json,
        *,
        status: int,
    ) -> Response:
        key = idempotency_key(request) if self._faults.switches.idempotency else None
        at = written(self._now())
        action = Action(
            kind=kind,
            member_number=member.member_number,
            asked=_given(asked),
            answer={**answer, "created_at": at},
            created_at=at,
        )
        told, is_earlier = self._store.act(action, key=key)
        return JSONResponse(told, status, {"Idempotent-Replay": "true"} if is_earlier else None)

    async def _healthz(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _switches(self, _: Request) -> Response:
        return _told(self._faults.switches)

    async def _turn(self, request: Request) -> Response:
        switches = body_of(request, Switches)
        for name in switches.fail:
            if name not in self._upstream:
                known = ", ".join(self._upstream)
                raise RequestInvalid(("fail", f"there is no route {name!r}; there are {known}"))
        self._faults.turn(switches)
        return _told(self._faults.switches)

    async def _actions(self, _: Request) -> Response:
        return JSONResponse(self._store.actions())

    async def _forget(self, _: Request) -> Response:
        self._store.forget_actions()
        return Response(status_code=204)

    def _serve(self, request: Request) -> None:
        if not hmac.compare_digest(_bearer(request).encode(), self._service_key):
            raise Unauthorized

    def _member(self, request: Request) -> Member:
        member = self._store.member(_bearer(request), now_ms=self._now())
        if member is None:
            raise Unauthorized
        return member


def _bearer(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _told(record: BaseModel, *, include: set[str] | None = None) -> Response:
    return JSONResponse(record.model_dump(mode="json", include=include))


def _given(asked: BaseModel) -> dict[str, JsonValue]:
    return asked.model_dump(mode="json", exclude_none=True)


def _benefit(benefit: Benefit, member: Member) -> dict[str, Any]:
    used = member.used.get(benefit.benefit_id, 0)
    remaining = None if benefit.limit is None else max(0, benefit.limit - used)
    return {**benefit.model_dump(mode="json"), "used": used, "remaining": remaining}


def _claim(claim: Claim) -> dict[str, Any]:
    last = claim.history[-1]
    return {
        **claim.model_dump(mode="json", exclude={"history"}),
        "submitted_on": claim.history[0].at.isoformat(),
        "status": last.status,
        "updated_on": last.at.isoformat(),
        "note": last.note,
    }


async def _no_route(_: Request, wrong: Exception) -> Response:
    assert isinstance(wrong, HTTPException)
    if wrong.status_code == 405:
        return error(405, "method_not_allowed", "This path does not take this method.")
    return error(404, "not_found", "There is no such path.")
