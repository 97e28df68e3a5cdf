"""Clients for the services that sign-in speaks to."""

import asyncio
import ipaddress
from collections.abc import Mapping
from typing import Final

import httpx

SECONDS: Final = 5.0
"""How long one call may take."""


class Unreachable(Exception):
    """A service did not do what it was asked; has no word of the request or of the answer."""


def client(base_url: str = "", *, target: str = "") -> httpx.AsyncClient:
    """Return a client for calls to ``base_url``, or to ``target``.

    A proxy that the environment names can't reach this machine's own loopback.
    """
    host = httpx.URL(base_url or target).host
    return httpx.AsyncClient(base_url=base_url, timeout=SECONDS, trust_env=not _is_loopback(host))


async def post(
    http: httpx.AsyncClient, url: str, content: bytes, headers: Mapping[str, str]
) -> httpx.Response:
    """Return the whole answer to one call.

    Raises:
        Unreachable: there is none within :data:`SECONDS`.
    """
    typed = {"content-type": "application/json", **headers}
    try:
        async with asyncio.timeout(SECONDS):
            return await http.post(url, content=content, headers=typed)
    except (httpx.HTTPError, TimeoutError) as error:
        raise Unreachable(type(error).__name__) from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
