"""What the doctor finds, says and leaves alone."""

import json
import re
import socket
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.cli.scripted_server import ScriptedServer, as_json
from turnwire.cli import doctor
from turnwire.cli.check import Check
from turnwire.cli.check_traces import traces
from turnwire.cli.doctor import examine
from turnwire.cli.main import app
from turnwire.cli.serving import Serving, announced
from turnwire.retrieval.encoder import EmbeddedEncoder
from turnwire.retrieval.index import Index
from turnwire.settings import Settings

SECRET = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def free_port(monkeypatch: pytest.MonkeyPatch) -> int:
    """A port that nobody else in this test run listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    monkeypatch.setenv("TURNWIRE_PORT", str(port))
    return port


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory as a server of one's own documents leaves it, with a key."""
    data_dir, docs = tmp_path / "data", tmp_path / "docs"
    docs.mkdir()
    monkeypatch.setenv("TURNWIRE_DOCS", str(docs))
    made = CliRunner().invoke(
        app, ["keys", "create", "--name", "me", "--scope", "chat", "--data-dir", str(data_dir)]
    )
    assert made.exit_code == 0
    with closing(sqlite3.connect(data_dir / "checkpoints.db")) as db:
        db.execute("CREATE TABLE checkpoints (thread_id TEXT)")
    Index(data_dir / "index.db").close()
    with closing(sqlite3.connect(data_dir / "index.db")) as db:
        db.execute("INSERT INTO documents VALUES ('d', 'docs', 'a.md', '', 'A', 'en', '', '', '')")
        db.execute("INSERT INTO passages VALUES (1, 'p', 'd', '', 0, 'text', x'00', x'')")
        db.execute("INSERT INTO facts VALUES ('encoder', ?)", [EmbeddedEncoder.name])
        db.execute("INSERT INTO facts VALUES ('dims', ?)", [str(EmbeddedEncoder.dims)])
        db.execute("INSERT INTO facts VALUES ('generation', '4')")
        db.commit()
    return data_dir


def look(data_dir: Path) -> tuple[int, dict[str, Mapping[str, Any]]]:
    """Return the exit status, and the checks by their names."""
    result = CliRunner().invoke(app, ["doctor", "--json", "--data-dir", str(data_dir)])
    said = json.loads(result.stdout)
    assert said["ok"] is (result.exit_code == 0)
    return result.exit_code, {each["name"]: each for each in said["checks"]}


def test_before_the_first_start_it_says_what_is_missing_and_makes_nothing(tmp_path: Path) -> None:
    status, checks = look(tmp_path / "data")
    assert status == 1
    missing = {name for name, each in checks.items() if each["status"] == "missing"}
    assert missing == {"data directory", "turnwire.db", "checkpoints.db", "index.db"}
    assert all(checks[name]["next_step"].startswith("turnwire serve") for name in missing)
    assert checks["API keys"]["next_step"].startswith("turnwire keys create --name me")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_directory_stays_empty(tmp_path: Path) -> None:
    status, checks = look(tmp_path)
    assert (status, checks["data directory"]["status"]) == (1, "ok")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_was_served_from_passes(served: Path, free_port: int) -> None:
    before = sorted(each.name for each in served.iterdir())
    status, checks = look(served)
    assert status == 0, checks
    assert checks["turnwire.db"]["found"] == (
        "tables of version 3; 0 turns running, 0 paused, 0 reviews open"
    )
    assert checks["index.db"]["found"] == (
        "docs: 1 documents, 1 passages; use-multilingual-v3, generation 4"
    )
    assert checks["API keys"]["found"] == "1 valid (test): chat"
    assert checks["model"]["found"] == "quoting: offline, quotes the evidence"
    assert checks["policy"]["status"] == "ok"
    assert checks["server"]["status"] == "warning"
    assert f"127.0.0.1:{free_port} is free" in checks["server"]["found"]
    assert sorted(each.name for each in served.iterdir()) == before


def test_the_table_shows_each_check_with_its_next_step(served: Path) -> None:
    (served / "checkpoints.db").unlink()
    result = CliRunner().invoke(app, ["doctor", "--data-dir", str(served)])
    assert result.exit_code == 1
    assert re.search(r"^ok +python +3\.", result.stdout, re.M)
    assert re.search(r"^missing +checkpoints\.db ", result.stdout, re.M)
    assert "→ turnwire serve  (makes it)" in result.stdout


@pytest.mark.parametrize("name", ["turnwire.db", "checkpoints.db", "index.db"])
def test_a_file_that_is_no_database_is_broken(served: Path, name: str) -> None:
    (served / name).write_bytes(b"not a database, and long enough to be read as one" * 100)
    status, checks = look(served)
    assert (status, checks[name]["status"]) == (1, "broken")
    assert "file is not a database" in checks[name]["found"]
    assert "move" in checks[name]["next_step"]


@pytest.mark.parametrize("name", ["turnwire.db", "index.db"])
def test_damage_in_the_middle_is_found(served: Path, name: str) -> None:
    whole = (served / name).read_bytes()
    (served / name).write_bytes(whole[:4096] + b"\xff" * 8192 + whole[12288:])
    status, checks = look(served)
    assert (status, checks[name]["status"]) == (1, "broken")


def test_tables_of_an_earlier_version_are_fine_and_stay_as_they_are(served: Path) -> None:
    path = served / "turnwire.db"
    path.unlink()
    script = (Path(__file__).parents[1] / "storage" / "tables_1.sql").read_text("utf-8")
    with closing(sqlite3.connect(path)) as db:
        db.executescript(script)
    status, checks = look(served)
    assert status == 0, checks
    for name in ("turnwire.db", "API keys"):
        assert "brought up to date" in checks[name]["found"]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT value FROM meta WHERE name = 'version'").fetchone() == ("1",)


def test_tables_of_another_version_are_told_apart(served: Path) -> None:
    with closing(sqlite3.connect(served / "turnwire.db")) as db:
        db.execute("UPDATE meta SET value = '99' WHERE name = 'version'")
        db.commit()
    status, checks = look(served)
    assert (status, checks["turnwire.db"]["status"]) == (1, "broken")
    assert "made by another version" in checks["turnwire.db"]["found"]


def test_an_index_of_another_encoder_says_how_to_make_it_anew(served: Path) -> None:
    with closing(sqlite3.connect(served / "index.db")) as db:
        db.execute("UPDATE facts SET value = 'old' WHERE name = 'encoder'")
        db.commit()
    _, checks = look(served)
    assert checks["index.db"]["status"] == "broken"
    assert "turnwire ingest --reset" in checks["index.db"]["next_step"]


def test_documents_that_are_gone_are_missing(served: Path, tmp_path: Path) -> None:
    (tmp_path / "docs").rmdir()
    status, checks = look(served)
    assert (status, checks["index.db"]["status"]) == (1, "missing")


def test_a_revoked_key_does_not_count(served: Path) -> None:
    with closing(sqlite3.connect(served / "turnwire.db")) as db:
        db.execute("UPDATE api_keys SET revoked_ms = 1")
        db.commit()
    _, checks = look(served)
    assert checks["API keys"]["status"] == "warning"


def test_away_from_loopback_nobody_gets_in_without_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNWIRE_HOST", "0.0.0.0")
    assert look(tmp_path)[1]["API keys"]["status"] == "missing"


def test_a_graph_of_ones_own_needs_no_index_no_model_and_no_policy(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (served / "index.db").unlink()
    monkeypatch.setenv("TURNWIRE_AGENT", "mine:graph")
    monkeypatch.setenv("TURNWIRE_MODEL", "nonsense")
    status, checks = look(served)
    assert status == 0
    for name in ("index.db", "model", "policy"):
        assert checks[name]["found"] == "not used: you serve a graph of your own"


class TestSettings:
    def test_those_that_are_set_are_shown_and_secrets_are_not(
        self, served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "turnwire.toml").write_text("max_turns = 12\n")
        monkeypatch.setenv("TURNWIRE_MODEL_API_KEY", SECRET)
        monkeypatch.setenv(
            "TURNWIRE_MODEL_BASE_URL", "http://me:hunter2@127.0.0.1:9/v1?key=hunter2"
        )
        monkeypatch.setenv("TURNWIRE_MODEL", "openai:gpt-5")
        monkeypatch.setenv("TURNWIRE_API_KEY", "tw_test_secret")
        _, checks = look(served)
        found = checks["settings"]["found"]
        assert found.startswith("turnwire.toml; ")
        assert "max_turns = 12" in found
        assert "model_api_key = (hidden)" in found
        assert "model_base_url = http://127.0.0.1:9/v1" in found
        said = CliRunner().invoke(app, ["doctor", "--data-dir", str(served)]).output
        for secret in (SECRET, "hunter2", "tw_test_secret"):
            assert secret not in json.dumps(checks)
            assert secret not in said

    def test_one_that_is_wrong_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TURNWIRE_PORT", "seventy")
        status, checks = look(tmp_path)
        assert (status, checks["settings"]["status"]) == (1, "broken")
        assert "port" in checks["settings"]["found"]

    def test_a_file_that_is_not_toml_is_broken(self, tmp_path: Path) -> None:
        (tmp_path / "turnwire.toml").write_text("port = \n")
        status, checks = look(tmp_path)
        assert (status, checks["settings"]["status"]) == (1, "broken")


class TestModel:
    def test_a_provider_that_answers_is_reachable_and_hears_no_key_and_no_prompt(
        self, served: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TURNWIRE_MODEL", "openai:gpt-5")
        monkeypatch.setenv("TURNWIRE_MODEL_API_KEY", SECRET)
        monkeypatch.setenv("TURNWIRE_MODEL_BASE_URL", f"{server.url}/v1")
        _, checks = look(served)
        assert checks["model"]["status"] == "ok"
        assert checks["model"]["found"] == f"openai:gpt-5 at {server.url}/v1, reachable"
        assert [(each.method, each.body) for each in server.seen] == [("HEAD", None)]
        assert "authorization" not in server.seen[0].headers

    def test_a_provider_that_does_not_is_broken(
        self, served: Path, free_port: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TURNWIRE_MODEL", "openai:gpt-5")
        monkeypatch.setenv("TURNWIRE_MODEL_BASE_URL", f"http://127.0.0.1:{free_port}/v1")
        status, checks = look(served)
        assert (status, checks["model"]["status"]) == (1, "broken")

    def test_a_name_that_is_none_says_what_to_write(
        self, served: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TURNWIRE_MODEL", "gpt-5")
        monkeypatch.setenv("TURNWIRE_MODEL_API_KEY", SECRET)
        status, checks = look(served)
        assert (status, checks["model"]["status"]) == (1, "broken")
        assert "provider:name" in checks["model"]["found"]

    def test_a_chain_is_shown_with_its_keys_and_a_missing_one_is_named(
        self,
        served: Path,
        tmp_path: Path,
        server: ScriptedServer,
        free_port: int,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        (tmp_path / "turnwire.toml").write_text(
            f"""
            [[roles.answer]]
            provider = "openai"
            model = "gpt-5"
            base_url = "http://me:hunter2@{server.url.removeprefix("http://")}/v1"
            api_key_env = "FIRST_KEY"
            [[roles.answer]]
            provider = "anthropic"
            model = "claude-x"
            base_url = "http://127.0.0.1:{free_port}"
            api_key_env = "SECOND_KEY"
            [[roles.judge]]
            provider = "quoting"
            """
        )
        monkeypatch.setenv("FIRST_KEY", SECRET)
        status, checks = look(served)
        assert (status, checks["model"]["status"]) == (1, "missing")
        assert "1. openai:gpt-5" in checks["model"]["found"]
        assert "reachable, FIRST_KEY is set" in checks["model"]["found"]
        assert "2. anthropic:claude-x: SECOND_KEY is not set" in checks["model"]["found"]
        assert checks["model judge"]["found"].startswith("quoting: offline")
        monkeypatch.setenv("SECOND_KEY", SECRET)
        status, checks = look(served)
        assert (status, checks["model"]["status"]) == (0, "warning"), "one of two is reachable"
        assert "ConnectError, SECOND_KEY is set" in checks["model"]["found"]
        assert "roles = answer and judge" in checks["settings"]["found"]
        for secret in (SECRET, "hunter2"):
            assert secret not in json.dumps(checks)


def test_a_policy_that_is_wrong_is_named_with_its_line(
    served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.yaml").write_text("name: mine\ndefault_locale: en\ntexts: {}\n")
    monkeypatch.setenv("TURNWIRE_POLICY", str(tmp_path / "mine.yaml"))
    status, checks = look(served)
    assert (status, checks["policy"]["status"]) == (1, "broken")
    assert "mine.yaml:1" in checks["policy"]["found"]


class TestServer:
    def test_one_that_is_ready_is_ok(
        self, served: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.say("/readyz", as_json({"status": "ready"}))
        monkeypatch.setenv("TURNWIRE_PORT", server.url.rpartition(":")[2])
        check = look(served)[1]["server"]
        assert (check["status"], check["found"]) == ("ok", f"{server.url} is ready")

    def test_the_one_that_runs_from_the_data_directory_counts_whatever_the_settings_say(
        self, served: Path, server: ScriptedServer
    ) -> None:
        server.say("/readyz", as_json({"status": "ready"}))
        with announced(served, Serving(server.url, None)):
            check = look(served)[1]["server"]
        assert (check["status"], check["found"]) == ("ok", f"{server.url} is ready")
        assert look(served)[1]["server"]["status"] == "warning"

    def test_one_that_runs_and_does_not_answer_is_a_warning(
        self, served: Path, free_port: int
    ) -> None:
        with announced(served, Serving(f"http://127.0.0.1:{free_port}", None)):
            status, checks = look(served)
        assert (status, checks["server"]["status"]) == (0, "warning")
        assert "can't be reached" in checks["server"]["found"]

    def test_one_that_drains_is_a_warning(
        self, served: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.say("/readyz", as_json({"status": "draining"}, 503))
        monkeypatch.setenv("TURNWIRE_PORT", server.url.rpartition(":")[2])
        status, checks = look(served)
        assert (status, checks["server"]["status"]) == (0, "warning")

    def test_somebody_elses_is_in_the_way(
        self, served: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.say("/readyz", as_json(["hello"]))
        monkeypatch.setenv("TURNWIRE_PORT", server.url.rpartition(":")[2])
        status, checks = look(served)
        assert (status, checks["server"]["status"]) == (1, "broken")
        assert "--port" in checks["server"]["next_step"]


def test_a_check_that_fails_itself_does_not_hide_the_others(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(settings: Settings) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr(doctor, "_policy", fail)
    found = {each.name: each for each in examine(served)}
    assert found["policy"].found == "the check itself failed: RuntimeError"
    assert found["server"].status == "warning"


def test_help_shows_an_example() -> None:
    result = CliRunner().invoke(app, ["doctor", "--help"])
    assert result.exit_code == 0
    assert "Example: turnwire doctor" in result.stdout


def test_it_says_what_becomes_of_traces(monkeypatch: pytest.MonkeyPatch, free_port: int) -> None:
    def found() -> Check:
        return traces(Settings())

    assert (found().status, found().found[:3]) == ("ok", "off")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{free_port}")
    assert (found().status, found().found) == (
        "warning",
        f"nobody takes them at 127.0.0.1:{free_port}",
    )
    with socket.create_server(("127.0.0.1", free_port)):
        assert (found().status, found().found) == ("ok", f"sent to 127.0.0.1:{free_port}")
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "zipkin")
    assert found().status == "broken"
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    assert found().found.startswith("off")
