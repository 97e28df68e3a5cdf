"""How many requests a key may make in a minute: exactly so many, and nothing is stored of more."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner, Result

from tests.server.running import InThread, eventually
from turnwire.cli.main import app as command_line
from turnwire.errors import SetupError


def _limited(data_dir: Path, limit: int) -> str:
    arguments = ["keys", "create", "--name", "a", "--scope", "chat", "--limit", str(limit)]
    done = CliRunner().invoke(command_line, [*arguments, "--data-dir", str(data_dir)])
    assert done.exit_code == 0, done.output
    return done.stdout.strip()


def _refused(answer: httpx.Response) -> None:
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["retryable"]) == (429, "rate_limited", True)
    assert 50 <= int(answer.headers["retry-after"]) <= 60
    assert error["request_id"] == answer.headers["x-request-id"]


def test_of_many_requests_at_once_exactly_the_limit_passes_and_the_rest_leaves_no_trace(
    shared: InThread,
):
    api = shared.api(key=_limited(shared.data_dir, 7))
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(api.chat, ["say hi"] * 40))
    assert Counter(each.status_code for each in answers) == {200: 7, 429: 33}
    for each in answers:
        if each.status_code == 429:
            _refused(each)
    _refused(api.http.get("/conversations"))
    assert shared.stranger("chat").chat("say hi").status_code == 200


def test_streams_reads_and_requests_without_the_scope_count_and_what_is_no_json_does_not(
    shared: InThread,
):
    api = shared.api(key=_limited(shared.data_dir, 3))
    for body in (b"{", b"", b"x" * 1_100_000):
        assert api.http.post("/chat", content=body).status_code in (400, 413)
    with api.stream("say hi") as reader:
        assert reader.rest()[-1].event == "turn_completed"
    assert len(api.http.get("/conversations").json()["conversations"]) == 1
    assert api.http.get("/reviews").status_code == 403
    for answer in (
        api.chat("say hi"),
        api.http.get("/reviews"),
        api.http.get("/conversations/conv_1/turns/trn_1/events"),
        api.http.post("/chat", json={"nonsense": 1}),
    ):
        _refused(answer)
    assert api.http.post("/chat", content=b"{").status_code == 400


def test_a_key_that_is_not_valid_counts_for_nobody(shared: InThread):
    key = _limited(shared.data_dir, 1)
    bad = shared.api(key=f"{key[:-4]}AAAA")
    for _ in range(5):
        assert bad.http.get("/conversations").status_code == 401
    assert shared.api(key=key).http.get("/conversations").status_code == 200


def test_a_key_without_a_limit_of_its_own_has_the_servers(data_dir: Path):
    with InThread(data_dir, key_requests_per_minute=2) as server:
        api, own = server.api("chat"), server.api(key=_limited(data_dir, 3))
        assert [api.http.get("/agents").status_code for _ in range(3)] == [200, 200, 429]
        assert [own.http.get("/agents").status_code for _ in range(4)] == [200, 200, 200, 429]


def _change(data_dir: Path, key: str, *to: str) -> Result:
    arguments = ["keys", "limit", key.split("_")[2], *to, "--data-dir", str(data_dir)]
    return CliRunner().invoke(command_line, arguments)


def test_a_limit_is_changed_while_the_server_runs(data_dir: Path):
    with InThread(data_dir, key_requests_per_minute=3) as server:
        key = _limited(data_dir, 1)
        http = server.api(key=key).http
        assert [http.get("/agents").status_code for _ in range(2)] == [200, 429]
        assert _change(data_dir, key, "1000").exit_code == 0
        eventually(lambda: http.get("/agents").status_code == 200, within=4)
        assert {http.get("/agents").status_code for _ in range(5)} == {200}
        assert _change(data_dir, key, "--default").exit_code == 0
        eventually(lambda: http.get("/agents").status_code == 429, within=4)


def test_a_change_of_a_limit_names_the_limit_or_the_default_and_a_key_that_is_valid(
    data_dir: Path,
):
    key = _limited(data_dir, 1)
    for wrong in ((), ("5", "--default")):
        done = _change(data_dir, key, *wrong)
        assert isinstance(done.exception, SetupError)
        assert "--default" in str(done.exception)
    gone = _change(data_dir, "tw_test_0123456789abcdef_x", "5")
    assert (gone.exit_code, "turnwire keys list" in gone.stderr) == (1, True)


def test_a_new_secret_does_not_begin_a_new_minute(shared: InThread):
    key = _limited(shared.data_dir, 1)
    assert shared.api(key=key).http.get("/agents").status_code == 200
    where = ["--data-dir", str(shared.data_dir)]
    done = CliRunner().invoke(command_line, ["keys", "rotate", key.split("_")[2], *where])
    _refused(shared.api(key=done.stdout.strip()).http.get("/agents"))


@pytest.mark.parametrize("open_", ["/healthz", "/readyz", "/"])
def test_what_is_open_to_everybody_does_not_count(shared: InThread, open_: str):
    api = shared.api(key=_limited(shared.data_dir, 1))
    for _ in range(3):
        assert api.http.get(open_).status_code == 200
    assert api.http.get("/agents").status_code == 200
