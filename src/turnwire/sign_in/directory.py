"""Who the members are: asked of the service that knows them."""

import json
from typing import Annotated, Protocol, TypeVar

import httpx
from pydantic import BaseModel, Field, StrictBool, ValidationError

from turnwire.clock import Now
from turnwire.nodes.tools.tool import Credential
from turnwire.sign_in.http import Unreachable, client, post

M = TypeVar("M", bound=BaseModel)


class Directory(Protocol):
    """Knows members by their mobile numbers, in E.164 form."""

    async def knows(self, mobile: str, /) -> bool:
        """Whether the number is a member's, or raise :class:`Unreachable`."""
        ...

    async def token(self, mobile: str, /) -> Credential | None:
        """Return what acts for the member; none: nobody has the number. Raises as ``knows``."""
        ...

    async def close(self) -> None:
        """Let go of all connections."""
        ...


class _Known(BaseModel):
    known: StrictBool


class _Token(BaseModel):
    # RFC 6750, section 2.1: what a header can carry.
    token: Annotated[str, Field(pattern=r"^[A-Za-z0-9._~+/=-]{1,8192}$")]
    scopes: frozenset[str] = frozenset()
    expires_in: Annotated[float, Field(gt=0, allow_inf_nan=False, le=10**9)] | None = None
    """Seconds."""


class PortalDirectory:
    """The portal's service calls."""

    def __init__(
        self,
        url: str,
        service_key: str,
        *,
        now: Now,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._http = http or client(url)
        self._headers = {"authorization": f"Bearer {service_key}"}
        self._now = now

    async def knows(self, mobile: str, /) -> bool:
        """See :class:`Directory`."""
        return _read(_Known, await self._post("/service/members", mobile)).known

    async def token(self, mobile: str, /) -> Credential | None:
        """See :class:`Directory`."""
        response = await self._post("/service/tokens", mobile)
        if response.status_code == 404:
            return None
        found = _read(_Token, response)
        lasts = None if found.expires_in is None else self._now() + round(found.expires_in * 1000)
        return Credential(token=found.token, scopes=found.scopes, expires_ms=lasts)

    async def close(self) -> None:
        """See :class:`Directory`."""
        await self._http.aclose()

    async def _post(self, path: str, mobile: str) -> httpx.Response:
        content = json.dumps({"mobile": mobile}).encode()
        try:
            return await post(self._http, path, content, self._headers)
        except Unreachable as error:
            raise Unreachable(f"the portal does not answer ({error})") from None


def _read(kind: type[M], response: httpx.Response) -> M:
    if response.status_code != 200:
        raise Unreachable(f"the portal answers with {response.status_code}")
    try:
        return kind.model_validate_json(response.content)
    except ValidationError:
        raise Unreachable("the portal's answer is not as agreed") from None
