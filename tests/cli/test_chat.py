"""The terminal client, driven as a person drives it."""

import json
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import cast

import pytest
import uvicorn
from typer.testing import CliRunner, Result

from tests.cli.scripted_server import (
    EVENTS,
    THREAD,
    ScriptedServer,
    as_json,
    completed,
    frame,
    paused_for_input,
    paused_for_review,
    refusal,
    response,
    stream,
    token,
    topology,
)
from tests.server.running import eventually
from turnwire.admission.api_keys import new_key
from turnwire.app import access_policy, create
from turnwire.cli.main import app, main
from turnwire.cli.reattach import ServerAway
from turnwire.cli.serving import Serving, announced
from turnwire.cli.store import with_store
from turnwire.cli.stream_client import StreamClient
from turnwire.settings import Settings

NOBODY = as_json({"reviews": []})


def run(server: ScriptedServer, *args: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(app, ["chat", "--url", server.url, "--key", "k", *args], input=typed)


def test_one_message_is_one_turn_and_its_answer_is_all_that_stands_on_stdout(
    server: ScriptedServer,
) -> None:
    server.say(
        "/chat",
        stream(topology(), token(2, "Drink "), token(3, "water."), completed(4, "Drink water.")),
    )
    result = run(server, "--agent", "guarded", "--locale", "es", "fever?")
    assert (result.exit_code, result.stdout) == (0, "Drink water.\n")
    [asked] = server.asked("/chat")
    assert asked.body == {
        "messages": [{"role": "user", "content": "fever?"}],
        "agent": "guarded",
        "locale": "es",
    }
    assert asked.query == "tokens=true"
    assert asked.headers["authorization"] == "Bearer k"
    assert asked.headers["accept"] == "text/event-stream"


def test_the_key_comes_from_the_environment_too(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNWIRE_API_KEY", "from-outside")
    server.say("/chat", stream(topology(), completed(2, "Yes.")))
    result = CliRunner().invoke(app, ["chat", "--url", server.url, "hello"])
    assert result.exit_code == 0
    assert server.seen[0].headers["authorization"] == "Bearer from-outside"


def test_without_a_key_it_says_how_to_make_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["turnwire", "chat", "hello"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert "turnwire keys create --name me --scope chat --scope review" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host", "http://", "http://a:b"])
def test_an_address_that_is_none_is_wrong_usage(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["turnwire", "chat", "--url", url, "--key", "k", "hello"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert "--url" in capsys.readouterr().err


def test_help_shows_an_example() -> None:
    result = CliRunner().invoke(app, ["chat", "--help"])
    assert result.exit_code == 0
    assert "Example: turnwire chat" in result.stdout


def test_an_unknown_locale_is_wrong_usage(server: ScriptedServer) -> None:
    assert run(server, "--locale", "tlh", "hello").exit_code == 2


def test_an_answer_can_neither_move_the_cursor_nor_mark_up(server: ScriptedServer) -> None:
    evil = "[red]\x1b[2J\x07 :smile: a\r\nb \x9b31m \u202eabc"
    server.say("/chat", stream(topology(), token(2, evil), completed(3, evil)))
    result = run(server, "hello")
    assert result.stdout == "[red]␛[2J␇ :smile: a\nb �31m �abc\n"


def test_what_is_said_about_the_answer_can_not_either(server: ScriptedServer) -> None:
    cited = [{"marker": 1, "title": "[bold]\x1b]0;x\x07"}]
    server.say("/chat", stream(topology(), completed(2, "A [1].", citations=cited)))
    result = run(server, "hello")
    assert result.stdout == "A [1].\n[1] [bold]␛]0;x␇\n"


def test_nodes_are_shown_quietly_and_only_when_wanted(server: ScriptedServer) -> None:
    done = frame(
        2, "node_completed", {"node": "guardrail_pre", "status": "executed", "duration_ms": 3}
    )
    skipped = frame(
        3, "node_completed", {"node": "retrieve", "status": "skipped", "duration_ms": 0}
    )
    server.say("/chat", stream(topology(), done, skipped, completed(4, "Yes.")))
    assert run(server, "hello").stderr == "· guardrail_pre 3 ms\n· retrieve skipped\n"
    assert run(server, "--no-nodes", "hello").stderr == ""


def test_citations_guards_and_an_unusual_ending_follow_the_answer(server: ScriptedServer) -> None:
    decisions = [
        {"stage": "pre", "check": "pii", "outcome": "redact", "reason": "email"},
        {"stage": "pre", "check": "escalation", "outcome": "pass"},
    ]
    ending = completed(
        3,
        "Yes [1].",
        finish_reason="insufficient_evidence",
        citations=[{"marker": 1, "title": "Fever"}],
        guardrail_decisions=decisions,
    )
    server.say("/chat", stream(topology(), token(2, "Yes [1]."), ending))
    result = run(server, "hello")
    assert result.stdout == "Yes [1].\n[1] Fever\n"
    assert result.stderr == (
        "guard pre/pii: redact (email)\nfinish reason: insufficient evidence\n"
    )


def test_a_rewritten_answer_is_shown_anew(server: ScriptedServer) -> None:
    rewritten = frame(3, "text_replaced", {"text": "No.", "reason": "persona"})
    server.say("/chat", stream(topology(), token(2, "Yes."), rewritten, completed(4, "No.")))
    result = run(server, "hello")
    assert result.output == "Yes.\n— replaced (persona) —\nNo.\n"


def test_what_a_reviewer_changed_is_told_in_words(server: ScriptedServer) -> None:
    rewritten = frame(3, "text_replaced", {"text": "No.", "reason": "reviewer_edit"})
    server.say("/chat", stream(topology(), token(2, "Yes."), rewritten, completed(4, "No.")))
    assert run(server, "hello").output == "Yes.\n— a reviewer changed the answer —\nNo.\n"


def test_without_a_url_it_asks_the_server_that_runs_from_the_data_directory(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.say("/chat", stream(topology(), token(2, "Yes."), completed(3, "Yes.")))
    with announced(tmp_path, Serving(server.url, None)):
        arguments = ["chat", "--key", "k", "--data-dir", str(tmp_path), "hello"]
        assert CliRunner().invoke(app, arguments).stdout == "Yes.\n"


def test_an_answer_that_outgrew_its_frame_is_fetched_whole(server: ScriptedServer) -> None:
    server.say("/chat", stream(topology(), completed(2, "Lo", content_url="http://evil.test/x")))
    server.say(EVENTS.removesuffix("/events"), as_json({"content": "Long."}))
    assert run(server, "hello").stdout == "Long.\n"


def test_a_failed_turn_is_a_failure(server: ScriptedServer) -> None:
    failed = {"code": "upstream_timeout", "message": "Too long.", "error_id": "err_1"}
    server.say("/chat", stream(topology(), token(2, "Dri"), frame(3, "error", failed)))
    result = run(server, "hello")
    assert result.exit_code == 1
    assert result.stdout == "Dri\n"
    assert "Too long. (upstream_timeout, err_1)" in result.stderr


def test_a_refusal_says_why_and_a_bad_key_what_to_do(server: ScriptedServer) -> None:
    server.say("/chat", refusal(401, "invalid_api_key", "This API key is not valid."))
    result = run(server, "hello")
    assert result.exit_code == 1
    assert "This API key is not valid. (401 invalid_api_key)" in result.stderr
    assert "turnwire keys create" in result.stderr
    assert len(server.seen) == 1


def test_where_no_server_is_it_says_so_at_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        result = CliRunner().invoke(app, ["chat", "--url", url, "--key", "k", "hello"])
    assert result.exit_code == 1
    assert f"no server answers at {url}; start one with: turnwire serve" in result.stderr


def test_another_kind_of_server_is_recognised(server: ScriptedServer) -> None:
    server.say("/chat", as_json({"hello": "world"}))
    result = run(server, "hello")
    assert result.exit_code == 1
    assert "is not a turnwire server" in result.stderr


def test_the_prompt_stays_in_one_conversation_until_there_is_no_more_to_say(
    server: ScriptedServer,
) -> None:
    server.say(
        "/chat", stream(topology(), completed(2, "One.")), stream(topology(), completed(2, "Two."))
    )
    server.say(f"/conversations/{THREAD}", as_json({"agent": "guarded"}))
    result = run(server, typed="first\n\nsecond\n")
    assert (result.exit_code, result.stdout) == (0, "One.\nTwo.\n")
    assert f"turnwire chat --thread {THREAD}" in result.stderr
    first, second = server.asked("/chat")
    assert "thread_id" not in first.body
    assert (second.body["thread_id"], second.body["agent"]) == (THREAD, "guarded")


def test_the_prompt_outlives_a_refused_turn(server: ScriptedServer) -> None:
    server.say(
        "/chat", refusal(503, "overloaded", "Busy."), stream(topology(), completed(2, "Now."))
    )
    result = run(server, typed="first\nsecond\n")
    assert (result.exit_code, result.stdout) == (0, "Now.\n")
    assert "Busy. (503 overloaded)" in result.stderr


def test_json_is_the_whole_response_and_nothing_else(server: ScriptedServer) -> None:
    server.say("/chat", as_json(response("Sí.")))
    result = run(server, "--json", "hello")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == response("Sí.")
    assert result.stderr == ""
    assert server.seen[0].headers["accept"] == "application/json"


class TestReview:
    def test_an_approved_draft_goes_on(self, server: ScriptedServer) -> None:
        server.say(
            "/chat", stream(topology(), token(2, "Take two."), paused_for_review(3, "Take two."))
        )
        server.say("/reviews", NOBODY)
        server.say("/chat/resume", stream(topology(4), completed(5, "Take two.")))
        result = run(server, "how much?", typed="approve\n")
        assert (result.exit_code, result.stdout) == (0, "Take two.\n")
        assert "Reasons: dosage" in result.stderr
        assert server.asked("/chat/resume")[0].body == {
            "thread_id": THREAD,
            "review_id": "rev_1",
            "decision": "approve",
        }

    def test_a_draft_that_was_not_streamed_is_shown(self, server: ScriptedServer) -> None:
        server.say("/chat", stream(topology(), paused_for_review(2, "Take two.")))
        server.say("/reviews", NOBODY)
        result = run(server, "how much?", typed="")
        assert (result.exit_code, result.stdout) == (0, "Take two.\n")
        assert "The turn keeps waiting." in result.stderr

    def test_an_edit_takes_several_lines(self, server: ScriptedServer) -> None:
        replaced = frame(4, "text_replaced", {"text": "Ask\n\nfirst.", "reason": "reviewer_edit"})
        server.say("/chat", stream(topology(), paused_for_review(2, "Take two.")))
        server.say("/reviews", NOBODY)
        server.say("/chat/resume", stream(topology(3), replaced, completed(5, "Ask\n\nfirst.")))
        result = run(server, "how much?", typed="what\ne\nAsk\n\nfirst.\n.\n")
        assert result.exit_code == 0
        assert "Type approve, edit or reject" in result.stderr
        assert result.stdout.endswith("Ask\n\nfirst.\n")
        assert server.asked("/chat/resume")[0].body == {
            "thread_id": THREAD,
            "review_id": "rev_1",
            "decision": "edit",
            "edited_text": "Ask\n\nfirst.",
        }

    def test_only_a_reviewer_is_asked(self, server: ScriptedServer) -> None:
        server.say("/chat", stream(topology(), paused_for_review(2, "Take two.")))
        server.say("/reviews", refusal(403, "forbidden", "No."))
        result = run(server, "how much?", typed="approve\n")
        assert result.exit_code == 0
        assert "your key lacks the scope 'review'" in result.stderr
        assert server.asked("/chat/resume") == []

    def test_somebody_who_was_faster_is_reported(self, server: ScriptedServer) -> None:
        server.say("/chat", stream(topology(), paused_for_review(2, "Take two.")))
        server.say("/reviews", NOBODY)
        server.say("/chat/resume", refusal(409, "already_decided", "Decided before: reject."))
        result = run(server, "how much?", typed="approve\n")
        assert result.exit_code == 1
        assert "Decided before: reject." in result.stderr


class TestInput:
    def test_an_answer_is_json_where_it_can_be(self, server: ScriptedServer) -> None:
        server.say("/chat", stream(topology(), paused_for_input(2, {"question": "How many?"})))
        server.say("/chat/resume", stream(topology(3), completed(4, "Two.")))
        result = run(server, "hello", typed="2\n")
        assert (result.exit_code, result.stdout) == (0, "Two.\n")
        assert '"question": "How many?"' in result.stderr
        assert server.asked("/chat/resume")[0].body == {
            "thread_id": THREAD,
            "answers": {"pse_1": 2},
        }

    def test_an_answer_that_does_not_fit_is_asked_for_again(self, server: ScriptedServer) -> None:
        server.say("/chat", stream(topology(), paused_for_input(2, "Which?")))
        server.say(
            "/chat/resume",
            refusal(422, "validation_error", "answers.pse_1: too short"),
            stream(topology(3), completed(4, "Good.")),
        )
        result = run(server, "hello", typed="x\nthe red one\n")
        assert (result.exit_code, result.stdout) == (0, "Good.\n")
        assert "too short" in result.stderr
        assert server.asked("/chat/resume")[1].body["answers"] == {"pse_1": "the red one"}


class TestBrokenStream:
    @pytest.mark.parametrize("cut", [True, False])
    def test_it_goes_on_after_the_last_frame_that_was_heard(
        self, server: ScriptedServer, *, cut: bool
    ) -> None:
        server.say("/chat", stream(topology(), token(2, "Drink "), cut=cut))
        server.say(EVENTS, stream(token(3, "water."), completed(4, "Drink water.")))
        result = run(server, "fever?")
        assert (result.exit_code, result.stdout) == (0, "Drink water.\n")
        [again] = server.asked(EVENTS)
        assert again.headers["last-event-id"] == "trn_1.2"
        assert again.query == "wire=execution&tokens=true"
        assert again.headers["authorization"] == "Bearer k"

    def test_half_a_frame_is_not_a_frame(self, server: ScriptedServer) -> None:
        server.say("/chat", stream(topology(), token(2, "Drink"), token(3, " wat")[:-9], cut=True))
        server.say(EVENTS, stream(token(3, " water."), completed(4, "Drink water.")))
        assert run(server, "fever?").stdout == "Drink water.\n"
        assert server.asked(EVENTS)[0].headers["last-event-id"] == "trn_1.2"

    def test_before_the_first_frame_the_same_request_is_sent_again(
        self, server: ScriptedServer
    ) -> None:
        server.say("/chat", stream(cut=True), stream(topology(), completed(2, "Yes.")))
        assert run(server, "fever?").stdout == "Yes.\n"
        first, second = server.asked("/chat")
        assert first.body == second.body
        assert first.headers["idempotency-key"] == second.headers["idempotency-key"]

    def test_a_decision_that_arrived_is_not_sent_twice(self, server: ScriptedServer) -> None:
        server.say("/chat", stream(topology(), paused_for_review(2, "Draft.")))
        server.say("/reviews", NOBODY)
        decided = refusal(409, "already_decided", "Decided before.")
        server.say("/chat/resume", stream(cut=True), decided)
        server.say(EVENTS, stream(topology(3), completed(4, "Draft.")))
        result = run(server, "hello", typed="approve\n")
        assert (result.exit_code, result.stdout) == (0, "Draft.\n")
        assert server.asked(EVENTS)[0].headers["last-event-id"] == "trn_1.2"

    def test_five_tries_are_made_each_after_a_longer_wait(self, server: ScriptedServer) -> None:
        waited: list[float] = []
        server.say("/chat", stream(topology(), cut=True))
        server.say(EVENTS, refusal(503, "draining", "Later."))
        with StreamClient(server.url, "k", sleep=waited.append) as client:
            frames = client.begin({})
            assert next(frames).name == "graph_topology"
            with pytest.raises(ServerAway, match="5 tries"):
                next(frames)
        assert waited == [0.5, 1.0, 2.0, 4.0, 8.0]
        assert len(server.asked(EVENTS)) == 5

    def test_whatever_is_heard_makes_it_patient_again(self, server: ScriptedServer) -> None:
        waited: list[float] = []
        one = stream(b": keep-alive\n\n", cut=True)
        server.say("/chat", stream(topology(), cut=True))
        server.say(EVENTS, one, one, stream(token(2, "a"), cut=True), stream(completed(3, "a")))
        with StreamClient(server.url, "k", sleep=waited.append) as client:
            names = [each.name for each in client.begin({})]
        assert names == ["graph_topology", "token", "turn_completed"]
        assert waited == [0.5, 0.5, 0.5, 0.5]

    def test_a_turn_that_is_gone_is_not_asked_for_again(self, server: ScriptedServer) -> None:
        server.say("/chat", stream(topology(), cut=True))
        result = run(server, "hello")
        assert result.exit_code == 1
        assert "Nothing here. (404 not_found)" in result.stderr
        assert len(server.asked(EVENTS)) == 1


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A shell's background jobs ignore Ctrl-C, and so may the one that runs these tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_stops_the_turn_and_the_prompt_goes_on(server: ScriptedServer) -> None:
    main_thread = threading.main_thread().ident
    left = threading.Event()

    def press() -> None:
        shown = cast("BytesIO", sys.stdout.buffer)  # the runner's, while a command runs
        eventually(lambda: b"Once upon" in shown.getvalue())
        assert main_thread is not None
        signal.pthread_kill(main_thread, signal.SIGINT)
        left.wait(5)

    server.say(
        "/chat",
        stream(topology(), token(2, "Once upon"), then=press),
        stream(topology(), completed(2, "Hello.")),
    )
    server.say(f"/conversations/{THREAD}", as_json({"agent": "a"}))
    server.say(f"/conversations/{THREAD}/cancel", as_json({"cancelled": True}))
    result = run(server, typed="tell a story\nhello\n")
    left.set()
    assert (result.exit_code, result.stdout) == (0, "Once upon\nHello.\n")
    assert "Stopped." in result.stderr
    assert [each.method for each in server.asked(f"/conversations/{THREAD}/cancel")] == ["POST"]


@contextmanager
def real_server(data_dir: Path) -> Generator[tuple[str, str]]:
    """Serve the counting graph; yield its address and a key."""
    settings = Settings(data_dir=data_dir, agent="tests.cli.counting_graph:graph", port=0)
    policy = access_policy(settings).keys
    key, record = new_key(policy, name="test", scopes=["chat", "review"], now=0)
    with_store(settings, lambda store: store.add_key(record))
    config = uvicorn.Config(create(settings), log_level="error", ws="none")
    served = uvicorn.Server(config)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=served.run, args=([listening],))
        thread.start()
        try:
            while not served.started:
                assert thread.is_alive()
                time.sleep(0.02)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}", key
        finally:
            served.should_exit = True
            thread.join()


def test_a_real_server_answers_asks_back_and_goes_on(tmp_path: Path) -> None:
    with real_server(tmp_path / "data") as (url, key):
        args = ["chat", "--url", url, "--key", key]
        result = CliRunner().invoke(app, args, input="hello\nhow many?\n41\n")
        assert result.exit_code == 0, result.output
        assert result.stdout == "You said: hello\nThat makes 42.\n"
        assert re.search(r"· count \d+ ms", result.stderr)
        thread = result.stderr.rsplit(maxsplit=1)[-1]
        again = CliRunner().invoke(app, [*args, "--thread", thread, "--json", "bye"])
        assert json.loads(again.stdout)["content"] == "You said: bye"
        reviewed = CliRunner().invoke(app, [*args, "which dose?"], input="reject\n")
        assert reviewed.stdout == "Take two.\nThe reviewer says reject.\n"
        assert "Reasons: dosage" in reviewed.stderr
        refused = CliRunner().invoke(app, [*args[:-1], "tw_test_wrong", "hello"])
        assert refused.exit_code == 1
        assert "401 invalid_api_key" in refused.stderr
