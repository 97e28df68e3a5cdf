"""Headers and bodies that no honest client sends: refused, never 500, and nothing is stored."""

import json
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import product
from pathlib import Path

import psutil
import pytest

from tests.server.raw import request
from tests.server.running import InThread, Process, eventually
from turnwire.server import bodies, protocol

BODY = json.dumps({"messages": [{"role": "user", "content": "say hi"}]}).encode()
MEGABYTE = b"x" * 1_000_000


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A real server, as it is started in production."""
    folder = tmp_path_factory.mktemp("process")
    with Process(folder, environment="production", log_format="text") as server:
        yield server


def _say(server: Process | InThread, head: bytes, body: bytes = b"") -> tuple[int, str]:
    """Send bytes; return the status, and everything that came until the server closed."""
    got = b""
    with socket.create_connection(server.address, timeout=10) as raw:
        raw.sendall(head + b"\r\n" + body)
        with suppress(ConnectionResetError):  # it closed on bytes that it did not want to read
            while more := raw.recv(65_536):
                got += more
    status = int(got.split(b" ", 2)[1]) if got else 0
    return status, got.decode("latin-1")


def _post(*headers: bytes, body: bytes = BODY) -> tuple[bytes, bytes]:
    lines = [b"POST /chat HTTP/1.1", b"Host: test", b"Connection: close", *headers]
    if not any(each.lower().startswith((b"content-length", b"transfer")) for each in headers):
        lines.append(b"Content-Length: %d" % len(body))
    return b"".join(each + b"\r\n" for each in lines), body


def _turns(server: Process | InThread) -> int:
    with closing(sqlite3.connect(server.data_dir / "turnwire.db")) as db:
        return db.execute("SELECT count(*) FROM turns").fetchone()[0]


VALUES = {
    "latin": b"\xff\xfe\xe9",
    "utf-8": "Bearer ключ".encode(),
    "megabyte": MEGABYTE,
    "megabyte of a key": b"Bearer tw_live_" + MEGABYTE,
    "NUL": b"Bearer \x00",
    "control": b"Bearer \x01\x1b[31m",
    "DEL": b"Bearer \x7f",
    "bare CR": b"Bearer \rx",
    "session": b"Bearer ses_0123456789abcdef0123456789abcdef",
    "percent": b"Bearer %00%0d%0a",
    "format": b"Bearer {0} %s ${x}",
    "empty": b"",
}
NAMES = (
    "Authorization",
    "Cookie",
    "Origin",
    "Accept",
    "Accept-Language",
    "Content-Type",
    "Idempotency-Key",
    "Last-Event-ID",
    "X-Forwarded-For",
    "X-Turnwire-Session",
    "traceparent",
    "Host",
    "Expect",
)


@pytest.mark.parametrize(
    ("name", "value"), list(product(NAMES, VALUES)), ids=lambda each: each.replace(" ", "-")
)
def test_a_header_with_any_bytes_is_never_500_and_lets_nobody_in(
    process: Process, name: str, value: str
):
    status, said = _say(process, *_post(name.encode() + b": " + VALUES[value]))
    assert status in (400, 401, 431), said[:300]
    assert _turns(process) == 0


def test_any_bytes_beside_a_good_key_are_never_500(shared: InThread):
    key = b"Authorization: Bearer " + shared.key("chat").encode()
    for name, value in product(NAMES[1:], VALUES.values()):
        status, said = _say(shared, *_post(key, name.encode() + b": " + value))
        assert status in (200, 400, 401, 422, 431), (name, value[:20], said[:300])


@pytest.mark.parametrize(
    "heads",
    [
        [b"Authorization: Bearer " + MEGABYTE],
        [b"X: y"] * 4,
        [b"X-%d: y" % n for n in range(20_000)],
    ],
    ids=["one of a megabyte", "a few", "twenty thousand"],
)
def test_a_head_within_its_limit_is_refused_for_its_key(process: Process, heads: list[bytes]):
    status, said = _say(process, *_post(*heads))
    assert (status, "invalid_api_key" in said) == (401, True)


@pytest.mark.parametrize("what", ["one header", "many headers", "the path", "the name"])
def test_a_head_over_its_limit_is_431_and_not_kept(process: Process, what: str):
    many = b"".join(b"X-%d: %s\r\n" % (n, b"y" * 1000) for n in range(3000))
    head = {
        "one header": b"GET /chat HTTP/1.1\r\nX: " + MEGABYTE * 3,
        "many headers": b"GET /chat HTTP/1.1\r\n" + many,
        "the path": b"GET /" + MEGABYTE * 3,
        "the name": b"GET / HTTP/1.1\r\n" + MEGABYTE * 3,
    }[what]
    memory = psutil.Process(process.process.pid).memory_info().rss
    status, said = _say(process, head)
    assert status in (431, 0), said[:300]  # none: the answer was lost with the reset
    if said:
        refused = json.loads(said.partition("\r\n\r\n")[2])["error"]
        assert (refused["code"], refused["retryable"]) == ("request_too_large", False)
        assert f"x-request-id: {refused['request_id']}" in said
    assert psutil.Process(process.process.pid).memory_info().rss < memory + 30 * 2**20
    assert _say(process, b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n")[0] == 200


def test_the_refusal_of_a_large_head_is_read_by_a_client_that_stops_there(shared: InThread):
    got = b""
    with socket.create_connection(shared.address, timeout=5) as raw:
        raw.sendall(b"GET /chat HTTP/1.1\r\nX: ")
        raw.sendall(b"x" * (protocol.MAX_HEAD - 10))
        while more := raw.recv(65_536):
            got += more
    assert got.startswith(b"HTTP/1.1 431 ")
    assert json.loads(got.partition(b"\r\n\r\n")[2])["error"]["code"] == "request_too_large"


@pytest.mark.parametrize("begun", [b"", b"POST /chat HTTP/1.1\r\nX: "])
def test_a_head_that_comes_too_slowly_is_408_and_an_idle_connection_is_closed(
    shared: InThread, monkeypatch: pytest.MonkeyPatch, begun: bytes
):
    monkeypatch.setattr(protocol, "MAX_HEAD_SECONDS", 0.4)
    got, since = b"", time.monotonic()
    with socket.create_connection(shared.address, timeout=5) as raw:
        raw.sendall(begun)
        while begun and time.monotonic() - since < 0.3:
            raw.sendall(b"x")
            time.sleep(0.05)
        while more := raw.recv(65_536):
            got += more
    assert time.monotonic() - since < 2
    assert got.startswith(b"HTTP/1.1 408 ") if begun else got == b""


def test_a_head_that_is_slow_after_an_answer_is_bounded_too(
    shared: InThread, monkeypatch: pytest.MonkeyPatch
):
    with socket.create_connection(shared.address, timeout=5) as raw:
        raw.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert raw.recv(65_536).startswith(b"HTTP/1.1 200 ")
        monkeypatch.setattr(protocol, "MAX_HEAD_SECONDS", 0.3)
        raw.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert raw.recv(65_536).startswith(b"HTTP/1.1 408 ")
        assert raw.recv(65_536) == b""


def test_a_stream_is_not_broken_into_by_what_is_no_request(shared: InThread):
    with socket.create_connection(shared.address, timeout=5) as raw:
        raw.sendall(request(shared.key("chat"), "slow 100 0.05"))
        got = raw.recv(65_536)
        raw.sendall(b"\x00 no request \r\n\r\n")
        with suppress(ConnectionResetError):
            while more := raw.recv(65_536):
                got += more
    assert got.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 400" not in got


def test_two_authorization_headers_are_401_whichever_is_good(shared: InThread):
    before = _turns(shared)
    good = b"Authorization: Bearer " + shared.key("chat").encode()
    bad = b"authorization: Bearer x"
    for headers in ((good, bad), (bad, good), (good, good)):
        status, said = _say(shared, *_post(*headers))
        assert (status, "invalid_api_key" in said) == (401, True)
    assert _turns(shared) == before


@pytest.mark.parametrize(
    "line", [b"Content-Length: -1", b"Content-Length: 1e3", b"Content-Length: 0x10"]
)
def test_a_length_that_is_none_is_400(process: Process, line: bytes):
    assert _say(process, *_post(line))[0] == 400


def test_a_body_with_both_lengths_is_not_two_requests(process: Process):
    smuggled = b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: test\r\n\r\n"
    head, _ = _post(b"Content-Length: %d" % len(smuggled), b"Transfer-Encoding: chunked")
    status, said = _say(process, head, smuggled)
    assert (status, said.count("HTTP/1.1 ")) == (400, 1)


def test_a_length_over_the_limit_is_413_before_any_of_it_is_sent(shared: InThread):
    key = b"Authorization: Bearer " + shared.key("chat").encode()
    for length in (bodies.MAX_BODY + 1, 10**15):
        status, said = _say(shared, *_post(key, b"Content-Length: %d" % length, body=b""))
        assert (status, "request_too_large" in said) == (413, True)
    status, said = _say(
        shared, *_post(key, b"Expect: 100-continue", b"Content-Length: 99999999", body=b"")
    )
    assert (status, "100 Continue" in said) == (413, False)


def test_a_body_that_is_shorter_than_it_says_begins_no_turn(shared: InThread):
    before = _turns(shared)
    key = b"Authorization: Bearer " + shared.key("chat").encode()
    head, body = _post(key, b"Content-Length: %d" % (len(BODY) + 1))
    with socket.create_connection(shared.address, timeout=5) as raw:
        raw.sendall(head + b"\r\n" + body)
        raw.shutdown(socket.SHUT_WR)
        time.sleep(0.3)
    assert _turns(shared) == before


def test_a_body_that_is_longer_than_it_says_is_not_another_request(shared: InThread):
    key = b"Authorization: Bearer " + shared.key("chat").encode()
    head, _ = _post(key)
    before = _turns(shared)
    status, said = _say(shared, head, BODY + b'{"messages": []}')
    assert (status in (200, 400), said.count("HTTP/1.1 ")) == (True, 1)
    assert _turns(shared) <= before + 1


@pytest.mark.parametrize("lengths", [(b"Content-Length: 500",), (b"Transfer-Encoding: chunked",)])
def test_a_body_that_comes_too_slowly_is_408_and_the_connection_is_closed(
    shared: InThread, monkeypatch: pytest.MonkeyPatch, lengths: tuple[bytes, ...]
):
    before = _turns(shared)
    monkeypatch.setattr(bodies, "MAX_BODY_SECONDS", 0.5)
    head = _post(*lengths)[0].replace(b"Connection: close\r\n", b"")
    got, began = b"", time.monotonic()
    with socket.create_connection(shared.address, timeout=5) as raw:
        raw.sendall(head + b"\r\n")
        piece = b"1\r\n \r\n" if b"chunked" in lengths[0] else b" "
        while time.monotonic() - began < 0.4:
            raw.sendall(piece)
            time.sleep(0.05)
        while more := raw.recv(65_536):
            got += more
    assert time.monotonic() - began < 3
    assert got.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in got.lower()
    assert json.loads(got.partition(b"\r\n\r\n")[2])["error"]["code"] == "request_timeout"
    assert _turns(shared) == before


def test_nothing_of_a_hostile_request_is_in_the_log(process: Process):
    canary = b"canary-7f3a"
    _say(process, *_post(b"Authorization: Bearer " + canary, b"Cookie: a=" + canary))
    _say(process, *_post(b"X-Forwarded-For: " + canary))
    _say(process, *_post(b"Authorization: \x00" + canary))
    eventually(lambda: process.log.count("refused: invalid_api_key") >= 2)
    assert canary.decode() not in process.log
    assert "Traceback" not in process.log
    assert "x" * 100 not in process.log


def test_after_all_that_the_server_answers(process: Process, data_dir: Path):
    status, _ = _say(process, b"GET /readyz HTTP/1.1\r\nHost: test\r\nConnection: close\r\n")
    assert status == 200
