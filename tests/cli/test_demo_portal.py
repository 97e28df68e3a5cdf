"""``turnwire demo-portal``, and where a demo portal is started beside a server."""

import threading
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from tests.cli.demo_command import demo_command
from turnwire.app import portal_beside
from turnwire.cli.main import app
from turnwire.errors import SetupError
from turnwire.portal.address import PortalAddress
from turnwire.settings import read

ANA = "+447700900101"


def known(url: str, key: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.post(f"{url}/service/members", json={"mobile": ANA}, headers=headers)


def is_up(url: str) -> bool:
    try:
        return healthz(url).status_code == 200
    except httpx.HTTPError:
        return False


def healthz(url: str) -> httpx.Response:
    return httpx.get(f"{url}/healthz")


def demo(*arguments: str) -> AbstractContextManager[tuple[str, list[str]]]:
    """Run the command; its address and what it says."""
    return demo_command("demo-portal", *arguments, tells="portal_url", is_up=healthz)


def test_the_command_serves_a_portal_that_keeps_its_ledger_through_a_kill(tmp_path: Path):
    arguments = ("--data-dir", str(tmp_path), "--service-key", "canary-key")
    with demo(*arguments) as (url, said):
        assert known(url, "canary-key").json() == {"known": True}
        assert known(url, "demo-service-key").status_code == 401
        headers = {"Authorization": "Bearer canary-key"}
        token = httpx.post(f"{url}/service/tokens", json={"mobile": ANA}, headers=headers).json()
        member = {"Authorization": f"Bearer {token['token']}"}
        assert httpx.post(
            f"{url}/me/callbacks", json={"reason": "canary-reason"}, headers=member
        ).is_success
    told = "".join(said)
    assert "POST /me/callbacks 201" in told
    for secret in ("canary", token["token"], ANA):
        assert secret not in told
    with demo(*arguments) as (url, _):
        assert len(httpx.get(f"{url}/demo/actions").json()) == 1


def test_a_port_that_is_taken_or_none_is_told_with_what_to_do():
    with portal_beside(read()) as portal:
        assert portal is not None
        port = portal.url.rpartition(":")[2]
        for command in ("demo-portal", "demo-provider"):
            for each in (port, "70000"):
                done = CliRunner().invoke(app, [command, "--port", each])
                assert isinstance(done.exception, SetupError)
                assert "--port" in str(done.exception)


def test_an_empty_service_key_opens_nothing():
    done = CliRunner().invoke(app, ["demo-portal", "--service-key", ""])
    assert isinstance(done.exception, SetupError)
    assert "portal_service_key" in str(done.exception)


def test_a_demo_portal_is_beside_a_development_server_of_the_shipped_agents_only():
    with portal_beside(read(portal_service_key="k")) as portal:
        assert portal is not None
        assert known(portal.url, "k").json() == {"known": True}
    assert not is_up(portal.url)
    elsewhere: list[dict[str, object]] = [
        {"environment": "production"},
        {"agent": "tests.server.graphs:stage"},
        {"docs": "handbook"},
    ]
    for each in elsewhere:
        with portal_beside(read(**each)) as portal:
            assert portal is None


@pytest.mark.parametrize("environment", ["development", "production"])
def test_a_portal_of_the_operators_own_is_taken_and_none_is_started(environment: str):
    settings = read(
        portal_url="https://portal.example.org/api/",
        portal_service_key="k",
        environment=environment,
    )
    before = threading.active_count()
    with portal_beside(settings) as portal:
        assert portal == PortalAddress("https://portal.example.org/api", "k")
        assert threading.active_count() == before
    assert "'k'" not in repr(settings)


@pytest.mark.parametrize("url", ["portal.example.org", "ftp://portal.example.org", "http://a/?b"])
def test_a_portal_url_that_is_none_is_named(url: str):
    with pytest.raises(SetupError, match="portal_url"):
        read(portal_url=url)
