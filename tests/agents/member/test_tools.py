"""The portal's tools: what a failure means, and what nobody is told."""

import socket
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from pydantic import JsonValue

from turnwire.agents.member.tools import portal_client, portal_tools
from turnwire.nodes.tools.registry import Registry
from turnwire.nodes.tools.tool import Caller, ToolFailed

pytestmark = pytest.mark.anyio
WHO = Caller(principal="member:1", locale="en", token="CANARY-token", idempotency_key="cnf_1")
REASON: dict[str, JsonValue] = {"reason": "my claim"}


async def failed(
    name: str, arguments: Mapping[str, JsonValue], client: httpx.AsyncClient, caller: Caller = WHO
) -> ToolFailed:
    tool = next(each for each in portal_tools(client) if each.name == name)
    async with client:
        with pytest.raises(ToolFailed) as raised:
            await tool.run(arguments, caller)
    assert "CANARY" not in str(raised.value)
    return raised.value


def answering(status: int, **more: Any) -> httpx.AsyncClient:  # noqa: ANN401
    transport = httpx.MockTransport(lambda _: httpx.Response(status, **more))
    return httpx.AsyncClient(transport=transport, base_url="http://portal")


def raising(error: Exception) -> httpx.AsyncClient:
    def raises(_: httpx.Request) -> httpx.Response:
        raise error

    return httpx.AsyncClient(transport=httpx.MockTransport(raises), base_url="http://portal")


@pytest.mark.parametrize(
    ("status", "code", "happened"),
    [
        (400, "not_accepted", False),
        (401, "sign_in_required", False),
        (403, "not_allowed", False),
        (404, "not_found", False),
        (409, "not_accepted", False),
        (422, "not_accepted", False),
        (429, "busy", False),
        (302, "unavailable", None),
        (500, "unavailable", None),
        (503, "unavailable", None),
    ],
)
async def test_a_status_of_an_action_says_whether_it_may_have_happened(
    status: int, code: str, happened: bool | None
):
    found = await failed("request_callback", REASON, answering(status, text="CANARY of the portal"))
    assert (found.code, found.happened) == (code, happened)


@pytest.mark.parametrize(
    ("error", "happened"),
    [
        (httpx.ConnectError("CANARY"), False),
        (httpx.ConnectTimeout("CANARY"), False),
        (httpx.PoolTimeout("CANARY"), False),
        (httpx.ReadTimeout("CANARY"), None),
        (httpx.WriteError("CANARY"), None),
        (httpx.RemoteProtocolError("CANARY"), None),
    ],
)
async def test_what_was_never_sent_did_not_happen_and_of_the_rest_nobody_knows(
    error: Exception, happened: bool | None
):
    found = await failed("change_address", {"line1": "x"}, raising(error))
    assert (found.code, found.happened) == ("unavailable", happened)


async def test_a_read_that_fails_has_done_nothing():
    found = await failed("get_claims", {}, raising(httpx.ReadTimeout("late")))
    assert found.happened is False


async def test_failures_are_told_in_the_members_language():
    spanish = Caller(principal="member:1", locale="es-MX", token="x")
    found = await failed("get_claims", {}, answering(429), spanish)
    assert found.public.startswith("El portal está ocupado")


async def test_an_answer_that_is_no_json_is_a_failed_read_and_a_done_action():
    found = await failed("get_claims", {}, answering(200, text="<html>"))
    assert found.code == "unavailable"
    async with answering(200, text="<html>") as client:
        (act,) = [each for each in portal_tools(client) if each.name == "request_callback"]
        assert await act.run(REASON, WHO) == {}


async def test_token_and_key_travel_in_headers_and_a_reference_can_leave_no_path():
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json={})

    transport = httpx.MockTransport(answer)
    async with httpx.AsyncClient(transport=transport, base_url="http://portal") as client:
        tools = {each.name: each for each in portal_tools(client)}
        await tools["request_callback"].run(REASON, WHO)
        await tools["get_claim_status"].run({"reference": "../documents"}, WHO)
    assert asked[0].headers["authorization"] == "Bearer CANARY-token"
    assert asked[0].headers["idempotency-key"] == "cnf_1"
    assert asked[1].url.raw_path == b"/me/claims/..%2Fdocuments"


async def test_the_tools_pass_the_registry_and_need_the_members_sign_in():
    async with portal_client("http://portal.invalid") as client:
        tools = portal_tools(client)
        assert len(Registry(tools, locales=("en", "es"))) == 9
        assert all(each.needs_sign_in and each.scopes for each in tools)
        assert {each.name for each in tools if each.risk != "read"} == {
            "request_callback",
            "change_address",
        }


@contextmanager
def silent() -> Generator[str]:
    """Listen, take what comes and say nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        kept: list[socket.socket] = []

        def take() -> None:
            try:
                kept.append(listening.accept()[0])
            except OSError:
                return

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    for each in kept:
        each.close()


async def test_a_portal_that_says_nothing_is_left_in_time():
    with silent() as url:
        found = await failed("request_callback", REASON, portal_client(url, seconds=0.1))
    assert (found.code, found.happened) == ("unavailable", None)
