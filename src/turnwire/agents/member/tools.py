"""The members' portal as tools: what is read of a member's own file, and what is done there.

    client = portal_client("http://127.0.0.1:8900")
    tools = portal_tools(client)

A failure is told as what it is: nothing was done, or nobody knows. No address, no answer and no
token of the portal stands in an error.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import httpx
from pydantic import JsonValue

from turnwire.agents.member.addresses import country_in
from turnwire.nodes.tools.tool import SIGN_IN_REQUIRED, Caller, Run, Tool, ToolFailed

SECONDS: Final = 8.0
"""For one request; below a tool's own limit, so that the failure is told as what it is."""
_READ: Final = frozenset({"member.read"})
_WRITE: Final = frozenset({"member.write"})
_NONE: Final[dict[str, JsonValue]] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {},
}


def portal_client(url: str, *, seconds: float = SECONDS) -> httpx.AsyncClient:
    """Return a client that all tools share; whoever made it closes it."""
    return httpx.AsyncClient(
        base_url=url,
        timeout=httpx.Timeout(seconds, connect=min(seconds, 3.0), pool=min(seconds, 3.0)),
        limits=httpx.Limits(max_connections=100, max_keepalive_connections=20),
        follow_redirects=False,
        trust_env=False,
    )


def portal_tools(client: httpx.AsyncClient) -> tuple[Tool, ...]:
    """Return the tools of a portal that speaks as the demo portal does (docs/portal.md)."""
    portal = _Portal(client)
    return (*_reads(portal), *_actions(portal))


class _Portal:
    """Sends requests for members."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    def reads(self, path: str) -> Run:
        """Return what gets ``path``, with the arguments in the braces of it."""

        async def run(arguments: Mapping[str, JsonValue], caller: Caller) -> JsonValue:
            named = {name: quote(str(each), safe="") for name, each in arguments.items()}
            return await self._send("GET", path.format_map(named), caller, None)

        return run

    def acts(self, method: str, path: str) -> Run:
        """Return what sends the arguments to ``path``."""

        async def run(arguments: Mapping[str, JsonValue], caller: Caller) -> JsonValue:
            return await self._send(method, path, caller, dict(arguments))

        return run

    async def _send(
        self, method: str, path: str, caller: Caller, body: dict[str, JsonValue] | None
    ) -> JsonValue:
        is_action = body is not None
        headers = {"Authorization": f"Bearer {caller.token or ''}"}
        if caller.idempotency_key is not None:
            headers["Idempotency-Key"] = caller.idempotency_key
        try:
            response = await self._client.request(method, path, json=body, headers=headers)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout):
            raise _failed("unavailable", caller) from None  # it was never sent
        except (httpx.HTTPError, httpx.InvalidURL):
            raise _failed("unavailable", caller, is_doubtful=is_action) from None
        if response.is_success:
            return _json(response, caller, is_action=is_action)
        raise _refused(response.status_code, caller, is_action=is_action)


def _json(response: httpx.Response, caller: Caller, *, is_action: bool) -> JsonValue:
    try:
        told: Any = response.json()
    except ValueError:
        if is_action:  # it was done, which counts more than what was said of it
            return {}
        raise _failed("unavailable", caller) from None
    return told


def _refused(status: int, caller: Caller, *, is_action: bool) -> ToolFailed:
    """Return what a status means for the member."""
    match status:
        case 401:
            return _failed(SIGN_IN_REQUIRED, caller)
        case 403:
            return _failed("not_allowed", caller)
        case 404:
            return _failed("not_found", caller)
        case 409 | 400 | 422:
            return _failed("not_accepted", caller)
        case 429:
            return _failed("busy", caller)
        case _:
            return _failed("unavailable", caller, is_doubtful=is_action)


def _failed(code: str, caller: Caller, *, is_doubtful: bool = False) -> ToolFailed:
    texts = _TEXTS[code]
    public = texts.get(caller.locale.partition("-")[0], texts["en"])
    return ToolFailed(public, code=code, happened=None if is_doubtful else False)


_TEXTS: Final[Mapping[str, Mapping[str, str]]] = {
    SIGN_IN_REQUIRED: {
        "en": "Your sign-in has ended. Please sign in again.",
        "es": "Su sesión ha terminado. Inicie sesión de nuevo.",
    },
    "not_allowed": {
        "en": "Your sign-in does not allow this.",
        "es": "Su sesión no permite esto.",
    },
    "not_found": {
        "en": "There is nothing with this reference in your file.",
        "es": "No hay nada con esa referencia en su expediente.",
    },
    "not_accepted": {
        "en": "The portal did not accept these details.",
        "es": "El portal no ha aceptado esos datos.",
    },
    "busy": {
        "en": "The portal is busy. Please try again in a moment.",
        "es": "El portal está ocupado. Inténtelo de nuevo en un momento.",
    },
    "unavailable": {
        "en": "The portal did not answer. Please try again later.",
        "es": "El portal no ha respondido. Inténtelo de nuevo más tarde.",
    },
}


def _reads(portal: _Portal) -> Sequence[Tool]:
    def read(name: str, description: str, path: str, parameters: Any = _NONE) -> Tool:  # noqa: ANN401
        return Tool(
            name=name,
            description=description,
            parameters=parameters,
            run=portal.reads(path),
            needs_sign_in=True,
            scopes=_READ,
        )

    reference: dict[str, JsonValue] = {
        "type": "string",
        "pattern": "^[A-Za-z0-9][A-Za-z0-9-]{2,39}$",
        "description": "The claim's reference, such as CLM-2026-1041.",
    }
    return (
        read(
            "get_plan_details",
            "Read the member's own plan: its name, premium, excess and yearly limit, the member "
            "number, whom it covers, when it began and when it renews.",
            "/me/plan",
        ),
        read(
            "get_covered_benefits",
            "Read what the member's own plan covers: each benefit with its limit, what of it is "
            "used and left, the member's share of bills, and waiting periods.",
            "/me/benefits",
        ),
        read(
            "get_my_details",
            "Read how the member stands in the file: name, member number, mobile number, email "
            "and postal address.",
            "/me",
        ),
        read(
            "get_callbacks",
            "List the call-backs that the member has asked for: when, about what, and for which "
            "time. It does not tell whether a call was made.",
            "/me/callbacks",
        ),
        read("get_claims", "List the claims that the member has made.", "/me/claims"),
        read(
            "get_claim_status",
            "Read how far one of the member's claims is, by its reference.",
            "/me/claims/{reference}",
            {**_NONE, "required": ["reference"], "properties": {"reference": reference}},
        ),
        read(
            "list_documents",
            "List the documents that lie in the portal for the member, such as the policy wording, "
            "the membership card and letters.",
            "/me/documents",
        ),
    )


def _actions(portal: _Portal) -> Sequence[Tool]:
    def text(longest: int, about: str) -> JsonValue:
        return {"type": "string", "minLength": 1, "maxLength": longest, "description": about}

    callback = Tool(
        name="request_callback",
        description="Ask an adviser to call the member back about something.",
        parameters={
            **_NONE,
            "required": ["reason"],
            "properties": {
                "reason": text(500, "What the call is about, in the member's words."),
                "preferred_time": text(100, "When the member would like to be called."),
            },
        },
        run=portal.acts("POST", "/me/callbacks"),
        risk="send",
        needs_sign_in=True,
        scopes=_WRITE,
        idempotent=True,
        receipt="callback_id",
        summary={
            "en": "Ask an adviser to call you back about: {reason}"
            "[ (preferred time: {preferred_time})]",
            "es": "Pedir que un asesor le llame por: {reason}[ (hora preferida: {preferred_time})]",
        },
    )
    address = Tool(
        name="change_address",
        description="Change the member's postal address.",
        parameters={
            **_NONE,
            "required": ["line1", "city", "postcode", "country"],
            "properties": {
                "line1": text(100, "Street and number."),
                "line2": text(100, "Flat, floor or building."),
                "city": text(100, "Town."),
                "postcode": text(16, "Postcode."),
                "country": text(60, "Country, by its English name."),
            },
        },
        run=portal.acts("PUT", "/me/address"),
        risk="write",
        needs_sign_in=True,
        scopes=_WRITE,
        idempotent=True,
        receipt="change_id",
        summary={
            "en": "Change your address to: [{line2}, ]{line1}, {city} {postcode}, {country}",
            "es": "Cambiar su dirección a: {line1}[, {line2}], {city} {postcode}, {country}",
        },
        in_words={"country": country_in},
    )
    return callback, address
