"""Who may open a socket: each check of a token, in its order, and a refusal that is an answer."""

import asyncio
import hmac
import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets.asyncio.client import connect as connect_async
from websockets.exceptions import InvalidStatus

from tests.server.running import InThread, Process, eventually
from tests.server.sockets import Socket, Staff, opened_with, refused
from turnwire.admission.ws_tokens import SECONDS, Issuer, LocalUses, read, sign
from turnwire.clock import system_now
from turnwire.errors import InvalidToken

SECRET = "a secret of the tests, 32 bytes or more"
ORIGIN = "https://studio.example.org"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InThread]:
    data_dir = tmp_path_factory.mktemp("server")
    with InThread(data_dir, ws_secret=SECRET, cors_origins=[ORIGIN]) as running:
        yield running


def in_seconds(seconds: float) -> int:
    return int(system_now() / 1000 + seconds)


def signed(username: str = "ana", *, expires: str | None = None, secret: str = SECRET) -> str:
    text = f"{username}:{expires or in_seconds(100)}"
    return f"{text}:{hmac.new(secret.encode(), text.encode(), 'sha256').hexdigest()}"


def test_a_token_has_the_form_that_was_agreed_on(server: InThread):
    staff = Staff(server)
    answer = staff.http("GET", "/studio/ws-token")
    assert answer.json()["expires_in"] == 300
    assert answer.headers["cache-control"] == "no-store"
    username, expiry, signature = answer.json()["token"].rsplit(":", 2)
    assert username == "ana"
    assert 295 <= int(expiry) - system_now() / 1000 <= 310
    expected = hmac.new(SECRET.encode(), f"{username}:{expiry}".encode(), "sha256").hexdigest()
    assert signature == expected


def test_a_token_that_the_portal_signed_opens_a_socket_too(server: InThread):
    with Socket(opened_with(server, "s1", signed("bo"))) as socket:
        assert socket.next()["user"] == "staff:bo"


_WRONG = (
    None,
    "",
    ":",
    "::",
    "ana",
    "ana:1",
    signed(expires=str(in_seconds(-1))),
    signed(expires=str(in_seconds(7200))),
    signed(expires=f"+{in_seconds(100)}"),
    signed(expires=f"{in_seconds(100)}.0"),
    signed(secret="another secret that is 32 bytes long"),
    signed(secret=""),
    signed()[:-1],
    signed() + "0",
    signed().upper(),
    signed("ana:bo"),
    signed(""),
    signed("a%20b"),
    signed("x" * 129),
    signed("../x"),
    signed("*"),
    "none" + signed(),
    signed().replace("ana", "anb"),
    signed().replace(":1", ":2"),
    "x" * 10_000,
    "%00",
    "%F0%9F%98%80:1:2",
)


@pytest.mark.parametrize("token", _WRONG, ids=range(len(_WRONG)))
def test_a_token_that_is_not_right_in_every_part_is_401(server: InThread, token: str | None):
    status, error = refused(lambda: opened_with(server, "s1", token))
    assert (status, error["code"]) == (401, "invalid_token")


def test_a_token_that_is_given_twice_is_refused(server: InThread):
    status, _ = refused(lambda: opened_with(server, "s1", f"{signed()}&token={signed()}"))
    assert status == 401


def test_a_token_opens_one_socket_of_a_hundred_at_once(server: InThread):
    host, port = server.address
    url = f"ws://{host}:{port}/ws/s1?token={Staff(server).token()}"

    async def attempt() -> int:
        try:
            async with connect_async(url, compression=None) as opened:
                connected = json.loads(await opened.recv())
                assert connected["type"] == "connected"
                return 101
        except InvalidStatus as refusal:
            return refusal.response.status_code

    async def all_at_once() -> list[int]:
        return list(await asyncio.gather(*(attempt() for _ in range(100))))

    assert sorted(asyncio.run(all_at_once())) == [101, *[401] * 99]


def test_tokens_that_are_asked_for_at_once_are_different(server: InThread):
    staff = Staff(server)
    tokens = [staff.token() for _ in range(5)]
    assert len(set(tokens)) == 5
    for each in tokens:
        opened_with(server, "s1", each).close()


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.test",
        "null",
        "https://studio.example.org.evil.test",
        "https://studio.example.org:444",
        "http://studio.example.org",
        "",
    ],
)
def test_a_page_of_another_origin_is_403_and_its_token_is_spent(server: InThread, origin: str):
    token = Staff(server).token()
    status, error = refused(lambda: opened_with(server, "s1", token, headers={"Origin": origin}))
    assert (status, error["code"]) == (403, "forbidden")
    assert refused(lambda: opened_with(server, "s1", token))[0] == 401


@pytest.mark.parametrize("origin", [ORIGIN, "http://{host}:{port}"])
def test_a_page_of_ours_and_one_of_the_settings_may_open_a_socket(server: InThread, origin: str):
    host, port = server.address
    headers = {"Origin": origin.format(host=host, port=port)}
    opened_with(server, "s1", Staff(server).token(), headers=headers).close()


@pytest.mark.parametrize("session", ["a%20b", "%2A", "x" * 500, "%00", "..%2Fx"])
def test_a_session_whose_id_has_not_the_form_of_one_is_404(server: InThread, session: str):
    status, _ = refused(lambda: opened_with(server, session, Staff(server).token()))
    assert status == 404


def test_only_an_application_with_the_scope_gets_a_token(server: InThread):
    assert Staff(server, "ana", "chat").http("GET", "/studio/ws-token").status_code == 403
    assert Staff(server, None, "chat").http("GET", "/studio/ws-token").status_code == 403
    assert Staff(server, None, "review").http("GET", "/studio/ws-token").status_code == 403
    assert httpx.get(f"{server.url}/studio/ws-token").status_code == 401
    for name in ("", "a b", "a:b", "../x", "x" * 129, "é"):
        headers = {"Authorization": f"Bearer {server.key('studio')}", "X-Turnwire-User": name}
        raw = {key.encode(): value.encode() for key, value in headers.items()}
        answer = httpx.get(f"{server.url}/studio/ws-token", headers=raw)
        assert answer.status_code in (401, 403, 422), name


def test_a_key_may_talk_for_itself_until_it_is_revoked(tmp_path: Path):
    with InThread(tmp_path) as server:
        staff = Staff(server, None)
        token = staff.token()
        with staff.open() as socket:
            assert socket.connected["user"].startswith("key:")
            revoke(tmp_path, staff.key)
            assert socket.closed() == 1008
        status, error = refused(lambda: opened_with(server, "s1", token))
        assert (status, error["code"]) == (401, "invalid_token")


def revoke(data_dir: Path, key: str) -> None:
    from typer.testing import CliRunner  # noqa: PLC0415

    from turnwire.cli.main import app  # noqa: PLC0415

    public = key.split("_")[2]
    listed = CliRunner().invoke(app, ["keys", "list", "--data-dir", str(data_dir)]).stdout
    name = next(each for each in re.findall(r"[0-9a-f]{16}", listed + public))
    done = CliRunner().invoke(app, ["keys", "revoke", name, "--data-dir", str(data_dir)])
    assert done.exit_code == 0, done.output


def test_there_is_room_for_so_many_sockets_and_the_next_is_503(tmp_path: Path):
    with InThread(tmp_path, max_sockets=2) as server:
        staff = Staff(server)
        with staff.open(), staff.open():
            status, error = refused(lambda: opened_with(server, "s1", staff.token()))
            assert (status, error["code"], error["retryable"]) == (503, "overloaded", True)
        eventually(lambda: "turnwire_sockets_open 0.0" in metrics(server))
        staff.open().connection.close()


def metrics(server: InThread) -> str:
    headers = {"Authorization": f"Bearer {server.key('admin')}"}
    return httpx.get(f"{server.url}/metrics", headers=headers).text


def test_no_part_of_a_token_stands_in_the_log(tmp_path: Path):
    with Process(tmp_path) as server:
        staff = Staff(server)
        tokens = [staff.token() for _ in range(3)]
        opened_with(server, "s1", tokens[0]).close()
        refused(lambda: opened_with(server, "s1", tokens[0]))
        headers = {"Origin": "https://evil.test"}
        refused(lambda: opened_with(server, "s1", tokens[1], headers=headers))
        refused(lambda: opened_with(server, "s1", tokens[2][:-3]))
        server.process.terminate()
        server.process.wait(20)
        for token in tokens:
            assert token.rpartition(":")[2][:16] not in server.log
        assert "token=" not in server.log


def test_the_secret_is_made_once_and_for_its_owner_alone(tmp_path: Path):
    with InThread(tmp_path) as server:
        token = Staff(server).token()
    file = tmp_path / "ws.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with InThread(tmp_path) as server:
        opened_with(server, "s1", token).close()


async def _used(uses: LocalUses, token: str, *, at: int) -> bool:
    expires = int(token.split(":")[1])
    return await uses.take(token.rpartition(":")[2], expires=expires, now=at)


def test_a_use_is_remembered_for_as_long_as_its_token_would_be_good():
    uses, token = LocalUses(), sign("ana", b"s" * 32, expires=1000)
    assert asyncio.run(_used(uses, token, at=900_000))
    for at in (900_000, 950_000, 1_000_000):
        assert not asyncio.run(_used(uses, token, at=at))
    with pytest.raises(InvalidToken):
        read(token, b"s" * 32, now=1_000_001)


def test_each_token_of_a_user_expires_in_a_second_of_its_own():
    issuer = Issuer()
    first = [issuer.expiry("ana", now=5_000) for _ in range(3)]
    assert first == [5 + SECONDS, 6 + SECONDS, 7 + SECONDS]
    assert issuer.expiry("bo", now=5_500) == 5 + SECONDS
    assert issuer.expiry("ana", now=6_000) == 8 + SECONDS
    assert issuer.expiry("ana", now=60_000) == 60 + SECONDS
