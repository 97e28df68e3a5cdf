"""The reference says what the code says, and the check notices where it does not."""

from pathlib import Path

import pytest

from tools.reference import main, pages, write


def test_the_committed_reference_is_up_to_date():
    assert main(["--check"]) == 0


def test_a_page_that_was_written_is_up_to_date(tmp_path: Path):
    assert main([], folder=tmp_path) == 0
    assert main(["--check"], folder=tmp_path) == 0


def test_the_check_names_a_page_that_was_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    write(tmp_path)
    page = tmp_path / "events.md"
    page.write_text(page.read_text("utf-8").replace("turn.paused", "turn.stopped"), "utf-8")
    assert main(["--check"], folder=tmp_path) == 1
    assert capsys.readouterr().err == (
        "docs/reference/events.md is out of date; run: python -m tools.reference\n"
    )


def test_the_check_names_a_page_that_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write(tmp_path)
    (tmp_path / "errors.md").unlink()
    assert main(["--check"], folder=tmp_path) == 1
    assert capsys.readouterr().err == (
        "docs/reference/errors.md is missing; run: python -m tools.reference\n"
    )


def test_the_check_names_a_page_that_nothing_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    write(tmp_path)
    (tmp_path / "studio.md").write_text("# Studio\n", "utf-8")
    assert main(["--check"], folder=tmp_path) == 1
    assert capsys.readouterr().err == (
        "docs/reference/studio.md is written by nothing; run: python -m tools.reference\n"
    )


def test_writing_removes_a_page_that_nothing_writes(tmp_path: Path):
    (tmp_path / "studio.md").write_text("# Studio\n", "utf-8")
    write(tmp_path)
    assert not (tmp_path / "studio.md").exists()


def test_an_unknown_option_is_a_wrong_usage(capsys: pytest.CaptureFixture[str]):
    assert main(["--chek"]) == 2
    assert "usage" in capsys.readouterr().err


def test_what_is_written_depends_on_no_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    before = pages()
    monkeypatch.setenv("TURNWIRE_PORT", "9999")
    monkeypatch.setenv("TURNWIRE_STORE", "no such store")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.chdir(tmp_path)
    assert pages() == before


def test_no_page_names_a_path_of_this_machine():
    here = str(Path(__file__).parents[2])
    assert [
        name for name, text in pages().items() if here in text or str(Path.home()) in text
    ] == []
