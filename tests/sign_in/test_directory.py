"""What is asked of the portal about members, and what is made of its answers."""

import json
from collections.abc import Callable

import httpx
import pytest

from turnwire.nodes.tools.tool import Credential
from turnwire.sign_in.directory import PortalDirectory
from turnwire.sign_in.http import Unreachable

pytestmark = pytest.mark.anyio

MOBILE = "+447700900123"
Answer = Callable[[httpx.Request], httpx.Response]


def _portal(answer: Answer, *, url: str = "http://portal.example.org/v1/") -> PortalDirectory:
    http = httpx.AsyncClient(base_url=url, transport=httpx.MockTransport(answer))
    return PortalDirectory(url, "the-service-key", now=lambda: 1000, http=http)


async def test_the_portal_is_asked_with_its_key_and_tells_who_is_known():
    heard: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        heard.append(request)
        return httpx.Response(200, json={"known": json.loads(request.content)["mobile"] == MOBILE})

    portal = _portal(answer)
    assert await portal.knows(MOBILE)
    assert not await portal.knows("+447700900999")
    assert str(heard[0].url) == "http://portal.example.org/v1/service/members"
    assert heard[0].headers["authorization"] == "Bearer the-service-key"
    await portal.close()


async def test_a_token_comes_with_what_it_allows_and_until_when():
    body = {"token": "tok.1", "scopes": ["member.read"], "expires_in": 2, "more": 1}
    portal = _portal(lambda _: httpx.Response(200, json=body))
    assert await portal.token(MOBILE) == Credential(
        token="tok.1", scopes=frozenset({"member.read"}), expires_ms=3000
    )
    endless = _portal(lambda _: httpx.Response(200, json={"token": "tok.1"}))
    assert await endless.token(MOBILE) == Credential(token="tok.1")


async def test_nobodys_number_has_no_token():
    assert await _portal(lambda _: httpx.Response(404)).token(MOBILE) is None


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(500),
        httpx.Response(401),
        httpx.Response(302, headers={"location": "http://elsewhere.example.org"}),
        httpx.Response(200, text="no JSON"),
        httpx.Response(200, json={}),
        httpx.Response(200, json={"known": "yes", "token": "a\r\nX: y"}),
        httpx.Response(200, json={"known": None, "token": ""}),
        httpx.Response(200, json={"known": 1, "token": "t", "expires_in": 0}),
        httpx.Response(200, json={"known": 1, "token": "t", "scopes": "member.read"}),
    ],
    ids=lambda each: f"{each.status_code} {each.text[:40]}",
)
async def test_an_answer_that_is_not_as_agreed_is_none(answer: httpx.Response):
    for call in ("knows", "token"):
        with pytest.raises(Unreachable) as failed:
            await getattr(_portal(lambda _: answer), call)(MOBILE)
        assert "7700900123" not in repr(failed.value)


async def test_a_portal_that_does_not_answer_is_unreachable():
    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout(f"after {request.content!r}")

    with pytest.raises(Unreachable) as failed:
        await _portal(answer).token(MOBILE)
    assert str(failed.value) == "the portal does not answer (ReadTimeout)"
    assert failed.value.__cause__ is None
