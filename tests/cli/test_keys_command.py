"""``turnwire keys`` and ``turnwire link``."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from turnwire.cli.main import app
from turnwire.cli.serving import Serving, announced
from turnwire.errors import SetupError


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in an empty folder, so that no `turnwire.toml` of a checkout is read."""
    monkeypatch.chdir(tmp_path)


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def _create(*arguments: str) -> str:
    done = _run("keys", "create", "--name", "my app", "--scope", "chat", *arguments)
    assert done.exit_code == 0, done.output
    return done.stdout.strip()


def _listed() -> list[dict[str, str | None]]:
    return json.loads(_run("keys", "list", "--json").stdout)


def test_a_key_is_printed_once_alone_on_its_line():
    key = _create()
    assert re.fullmatch(r"tw_test_[0-9a-f]{16}_[A-Za-z0-9_-]{43}", key)
    assert key.rpartition("_")[2] not in _run("keys", "list").stdout


def test_the_list_tells_everything_but_the_secret():
    key = _create("--scope", "review")
    (row,) = _listed()
    assert row["id"] == key.split("_")[2]
    assert (row["name"], row["environment"], row["scopes"]) == ("my app", "test", "chat review")
    assert row["revoked_at"] is None
    assert "my app" in _run("keys", "list").stdout


def test_the_database_holds_no_secret(tmp_path: Path):
    key = _create()
    for file in (tmp_path / ".turnwire").iterdir():
        assert key[-43:].encode() not in file.read_bytes()


def test_json_tells_the_key_with_what_it_may_do():
    shown = json.loads(_create("--json"))
    assert shown["key"].startswith("tw_test_")
    assert shown["scopes"] == "chat"


def test_a_live_key_is_made_in_production(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TURNWIRE_ENVIRONMENT", "production")
    assert _create().startswith("tw_live_")


def test_a_key_is_revoked_once():
    key_id = _create().split("_")[2]
    assert _run("keys", "revoke", key_id).exit_code == 0
    assert _listed()[0]["revoked_at"] is not None
    again = _run("keys", "revoke", key_id)
    assert again.exit_code == 1
    assert key_id in again.stderr


def test_a_rotated_key_is_the_same_one_with_another_secret():
    old = _create("--limit", "7")
    key_id = old.split("_")[2]
    done = _run("keys", "rotate", key_id)
    assert done.exit_code == 0
    new = done.stdout.strip()
    assert (new[: len(new) - 43], new != old) == (old[: len(old) - 43], True)
    (row,) = _listed()
    assert (row["id"], row["scopes"], row["per_minute"]) == (key_id, "chat", 7)
    assert row["previous_secret_until"] is None
    assert new[-43:] not in _run("keys", "list", "--json").stdout


def test_json_tells_a_rotated_key_and_until_when_the_one_before_opens():
    key_id = _create().split("_")[2]
    shown = json.loads(_run("keys", "rotate", key_id, "--grace", "60", "--json").stdout)
    assert shown["key"].startswith(f"tw_test_{key_id}_")
    assert shown["previous_secret_until"] == _listed()[0]["previous_secret_until"]


def test_a_live_key_is_rotated_as_one_from_anywhere(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TURNWIRE_ENVIRONMENT", "production")
    key_id = _create().split("_")[2]
    monkeypatch.delenv("TURNWIRE_ENVIRONMENT")
    assert _run("keys", "rotate", key_id).stdout.startswith(f"tw_live_{key_id}_")


def test_a_revoked_or_unknown_key_is_not_rotated():
    key_id = _create().split("_")[2]
    _run("keys", "revoke", key_id)
    for each in (key_id, "0123456789abcdef"):
        done = _run("keys", "rotate", each)
        assert (done.exit_code, done.stdout) == (1, "")
        assert each in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("keys", "create", "--scope", "chat"),
        ("keys", "create", "--name", "x"),
        ("keys", "create", "--name", "x", "--scope", "chat", "--limit", "0"),
        ("keys", "create", "--name", "x", "--scope", "chat", "--limit", "many"),
        ("keys", "revoke"),
        ("keys", "rotate"),
        ("keys", "rotate", "0123456789abcdef", "--grace", "-1"),
        ("keys", "limit"),
        ("keys", "limit", "0123456789abcdef", "0"),
        ("keys", "limit", "0123456789abcdef", "many"),
        ("keys", "nonsense"),
        ("nonsense",),
    ],
)
def test_wrong_usage_exits_with_2_and_says_what_is_wrong(arguments: tuple[str, ...]):
    done = _run(*arguments)
    assert done.exit_code == 2
    assert done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("keys", "create"),
        ("keys", "list"),
        ("keys", "rotate"),
        ("keys", "limit"),
        ("keys", "revoke"),
        ("link",),
        ("serve",),
        ("ingest",),
    ],
)
def test_every_command_has_help_with_an_example(arguments: tuple[str, ...]):
    done = _run(*arguments, "--help")
    assert done.exit_code == 0
    assert f"Example: turnwire {' '.join(arguments)}" in " ".join(done.stdout.split())


def test_a_link_names_the_port_and_a_code_of_256_bits():
    done = _run("link", "--port", "8123")
    assert re.fullmatch(r"http://127\.0\.0\.1:8123/open\?code=[A-Za-z0-9_-]{43}\n", done.stdout)
    assert _run("link").stdout != done.stdout


def test_a_link_that_no_server_would_take_is_not_made(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TURNWIRE_ENVIRONMENT", "production")
    done = CliRunner().invoke(app, ["link"])
    assert isinstance(done.exception, SetupError)
    assert "turnwire keys create" in str(done.exception)


def test_a_link_leads_to_the_server_that_runs_unless_a_port_is_named(tmp_path: Path):
    (tmp_path / ".turnwire").mkdir()
    with announced(tmp_path / ".turnwire", Serving("http://127.0.0.1:8477", None)):
        assert _run("link").stdout.startswith("http://127.0.0.1:8477/open?code=")
        assert _run("link", "--port", "9").stdout.startswith("http://127.0.0.1:9/open?code=")
    after = _run("link")
    assert after.stdout.startswith("http://127.0.0.1:8000/open?code=")
    assert "No server runs" in after.stderr


def test_a_server_that_crashed_counts_no_more(tmp_path: Path):
    (tmp_path / ".turnwire").mkdir()
    left = tmp_path / ".turnwire" / "serving.json"
    left.write_text('{"address": "http://127.0.0.1:8477", "no_page": null}')
    assert _run("link").stdout.startswith("http://127.0.0.1:8000/")
    with announced(left.parent, Serving("http://127.0.0.1:8478", None)):
        assert _run("link").stdout.startswith("http://127.0.0.1:8478/")
    assert not left.exists()


def test_a_link_to_a_server_without_a_page_is_refused_with_the_reason(tmp_path: Path):
    (tmp_path / ".turnwire").mkdir()
    why = "it listens on 0.0.0.0, where others can reach it"
    with announced(tmp_path / ".turnwire", Serving("http://127.0.0.1:8477", why)):
        done = CliRunner().invoke(app, ["link"])
    assert isinstance(done.exception, SetupError)
    assert why in str(done.exception)


def test_ids_and_days_are_listed_whole_at_80_columns():
    done = _run("keys", "create", "--name", "a long name " * 9, "--scope", "chat")
    assert done.exit_code == 0
    _run("keys", "revoke", done.stdout.split("_")[2])
    lines = _run("keys", "list").stdout.splitlines()
    assert done.stdout.split("_")[2] in lines[1]
    assert len(re.findall(r"\b20\d\d-\d\d-\d\d\b", lines[1])) == 2
    assert max(map(len, lines)) <= 80


def test_a_link_to_an_ipv6_address_has_brackets(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TURNWIRE_HOST", "::1")
    assert _run("link").stdout.startswith("http://[::1]:8000/open?code=")


def test_a_name_cannot_mark_up_the_list():
    done = _run("keys", "create", "--name", "[red]mine[/red]", "--scope", "chat")
    assert done.exit_code == 0
    assert "[red]mine" in _run("keys", "list").stdout.replace("\n", "")
