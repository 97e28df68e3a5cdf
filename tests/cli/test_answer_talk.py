"""``turnwire chat --wire answer``, driven as a person drives it, with a real server."""

import json
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.server.answering import Members
from tests.server.running import InThread, Server
from turnwire.cli.answer_transcript import AnswerTranscript
from turnwire.cli.main import app, main
from turnwire.client import Event, TokenDelta


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Members]:
    with Members(tmp_path_factory.mktemp("members")) as server:
        yield server


def run(server: Server, *args: str, typed: str | None = None) -> Result:
    about = ["chat", "--wire", "answer", "--url", server.url, "--key", server.key("chat")]
    return CliRunner().invoke(app, [*about, *args], input=typed)


def test_the_answer_and_its_sources_stand_on_stdout(members: Members) -> None:
    result = run(members, "searches")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == "Two days [1], then easy [2]."
    assert [each[:3] for each in result.stdout.splitlines()[1:]] == ["[1]", "[2]"]
    assert re.search(r"· search ok \d+ ms", result.stderr)
    assert "· searched: 2 passages" in result.stderr


@pytest.mark.parametrize(
    ("typed", "said", "status"),
    [
        ("a\n", "They will call you.\n", "ok"),
        ("y\n", "They will call you.\n", "ok"),
        ("what\nreject\n", "Nobody will call you.\n", "rej"),
    ],
)
def test_an_action_is_shown_and_decided(members: Members, typed: str, said: str, status: str):
    result = run(members, "confirm", typed=typed)
    assert (result.exit_code, result.stdout) == (0, said)
    assert "Ask an advisor to call you back" in result.stderr
    assert '"reason": "my claim is stuck"' in result.stderr
    assert f"· the action: {status}" in result.stderr


def test_a_rejection_is_given_with_what_should_be_different(members: Members) -> None:
    result = run(members, "confirm", typed="n\nnot before five\n")
    assert (result.exit_code, result.stdout) == (0, "Nobody will call you.\n")
    assert "what should be different" in result.stderr


def test_without_a_decision_the_turn_keeps_waiting(members: Members) -> None:
    result = run(members, "confirm", typed="\n")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "The turn keeps waiting." in result.stderr


def test_a_sign_in_is_asked_for_until_it_is_done(members: Members) -> None:
    result = run(members, "sign-in", typed="\n")
    assert (result.exit_code, result.stdout) == (0, "In general, two days. \n")
    assert "I need you to sign in." in result.stderr
    assert "You are not signed in yet." in result.stderr
    members.sign_ins.everybody = True
    try:
        result = run(members, "sign-in", typed="\n")
    finally:
        members.sign_ins.everybody = False
    assert result.stdout.startswith("In general, two days. \nYou have ten days. [2]\n[2] ")


def test_a_question_of_the_graphs_is_asked_until_its_answer_fits(tmp_path: Path) -> None:
    with InThread(tmp_path) as server:
        result = run(server, "ask", typed='much\n{"amount": 7}\n')
    assert (result.exit_code, result.stdout) == (0, "You gave 7.\n")
    assert '"question": "How much?"' in result.stderr
    assert "An answer has to pass:" in result.stderr
    assert "This does not fit:" in result.stderr


def test_without_an_answer_a_question_waits_and_json_tells_it(members: Members) -> None:
    result = run(members, "input", typed="\n")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "The turn keeps waiting." in result.stderr
    told = json.loads(run(members, "--json", "input").stdout)
    assert [each["kind"] for each in told["questions"]] == ["input"]


def test_what_only_others_can_answer_waits(members: Members) -> None:
    result = run(members, "review")
    assert result.exit_code == 0
    assert "The turn waits (review)" in result.stderr


def test_an_answer_that_was_taken_back_is_said_to_be(members: Members) -> None:
    result = run(members, "replaced")
    assert result.stdout.endswith("\nNo.\n")
    assert "the answer was replaced" in result.stderr


def test_a_failure_is_told_and_fails(members: Members) -> None:
    result = run(members, "raise")
    assert (result.exit_code, result.stdout) == (1, "one two \n")
    assert "agent_error, err_" in result.stderr


def test_a_conversation_goes_on_with_its_member(members: Members) -> None:
    result = run(members, typed="plain\n\ntools\n")
    assert result.stdout == "Rest for two days.\nThey will call.\n"
    told = re.search(r"TURNWIRE_SESSION=(\S+) turnwire chat .*--thread (\S+)", result.stderr)
    assert told is not None
    later = run(members, "--session", told[1], "--thread", told[2], "--json", "plain")
    answer = json.loads(later.stdout)
    assert answer.pop("message_id").startswith("trn_")
    assert answer == {
        "conversation_id": told[2],
        "finish_reason": "stop",
        "text": "Rest for two days.",
        "citations": [],
    }


def test_json_tells_what_the_turn_waits_for_or_why_it_failed(members: Members) -> None:
    waits = json.loads(run(members, "--json", "confirm").stdout)
    assert waits["finish_reason"] == "awaiting_confirmation"
    assert [each["risk"] for each in waits["confirmations"]] == ["send"]
    failed = run(members, "--json", "raise")
    assert (failed.exit_code, json.loads(failed.stdout)["error"]) == (1, "agent_error")


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("--thread", ["--thread", "conv_1"]),
        ("--session", ["--session", "é"]),
        ("--url", ["--url", "ftp://host"]),
        ("--key", ["--key", "é"]),
    ],
)
def test_options_that_can_not_be_used_are_wrong_usage(
    option: str,
    given: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    about = ["chat", "--wire", "answer", "--url", "http://127.0.0.1:9", "--key", "k"]
    monkeypatch.setattr(sys, "argv", ["turnwire", *about, *given, "hello"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert capsys.readouterr().err.startswith(f"turnwire: {option}: ")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A shell's background jobs ignore Ctrl-C, and so may the one that runs these tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_stops_the_turn_and_the_prompt_goes_on(
    members: Members, monkeypatch: pytest.MonkeyPatch
) -> None:
    show, words = AnswerTranscript.show, list[Event]()

    def show_and_press(transcript: AnswerTranscript, event: Event) -> None:
        show(transcript, event)
        if isinstance(event, TokenDelta):
            words.append(event)
            if len(words) == 3:
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(AnswerTranscript, "show", show_and_press)
    result = run(members, typed="slow\nplain\n")
    assert result.exit_code == 0
    assert "Stopped." in result.stderr
    assert result.stdout == "w0 w1 w2 \nRest for two days.\n"


def test_a_wrong_key_and_a_server_that_is_not_there_say_what_to_do(
    members: Members, tmp_path: Path
) -> None:
    about = ["chat", "--wire", "answer", "hello", "--data-dir", str(tmp_path)]
    wrong = CliRunner().invoke(app, [*about, "--url", members.url, "--key", "tw_test_wrong"])
    assert wrong.exit_code == 1
    assert "turnwire keys create" in wrong.stderr
    nobody = CliRunner().invoke(app, [*about, "--url", "http://127.0.0.1:9", "--key", "k"])
    assert nobody.exit_code == 1
    assert "turnwire serve" in nobody.stderr
