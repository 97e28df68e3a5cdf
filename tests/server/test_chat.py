"""What ``POST /chat`` promises, as JSON and as a stream."""

import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from httpx_sse import EventSource

from tests.server import graphs
from tests.server.reading import Frame, text_of, unsaid
from tests.server.running import InThread


def test_json_is_the_answer_for_every_accept_that_names_no_stream(shared: InThread):
    api = shared.api()
    for accept in ("*/*", "application/json", "text/html", "text/event-stream;q=0"):
        answer = api.chat("say hello there", headers={"Accept": accept})
        assert answer.headers["content-type"] == "application/json"
        body = answer.json()
        assert body["status"] == "complete"
        assert body["content"] == "hello there"
        assert body["finish_reason"] == "stop"
        assert body["agent"] == "stage"


def test_a_stream_is_the_answer_where_accept_names_it_among_others(shared: InThread):
    accept = "text/html, TEXT/Event-Stream;q=0.5, */*"
    answer = shared.api().chat("say hi", headers={"Accept": accept})
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache, no-transform"
    assert answer.headers["x-accel-buffering"] == "no"
    assert answer.headers["x-request-id"].startswith("req_")
    assert "content-length" not in answer.headers


def test_a_stream_is_numbered_from_one_and_passes_over_only_what_it_does_not_say(shared: InThread):
    with shared.api().stream("say one two three") as reader:
        frames = reader.rest()
    assert [each.event for each in frames] == [
        "graph_topology",
        "node_started",
        "token",
        "token",
        "token",
        "node_completed",
        "node_completed",
        "turn_completed",
    ]
    assert [each.seq for each in frames] == [1, 2, 3, 4, 5, 7, 8, 9], "6 is the model's call"
    assert {each.turn_id for each in frames} == {frames[0].data["turn_id"]}
    assert text_of(frames) == frames[-1].data["content"] == "one two three"


def test_a_bypassed_conditional_node_is_told_as_skipped(shared: InThread):
    with shared.api().stream("say hi") as reader:
        done = [each.data for each in reader.rest() if each.event == "node_completed"]
    assert done[0]["node"] == "perform"
    assert done[0]["status"] == "executed"
    assert done[1] == {"node": "block", "status": "skipped", "duration_ms": 0}


def test_without_tokens_the_words_come_with_the_ending_only(shared: InThread):
    headers = {"Accept": "text/event-stream"}
    body = {"messages": [{"role": "user", "content": "say hi"}]}
    answer = shared.api().http.post("/chat", json=body, headers=headers)
    assert "event: token" not in answer.text
    assert '"content":"hi"' in answer.text


def test_the_first_frame_leaves_before_the_model_says_anything(shared: InThread):
    with shared.api().stream("silent 1.0") as reader:
        begun = time.monotonic()
        assert reader.next().event == "graph_topology"
        assert time.monotonic() - begun < 0.5
        reader.until("token")
        assert time.monotonic() - begun > 0.6


def test_silence_is_filled_with_comments_that_have_no_id_and_are_in_no_replay(shared: InThread):
    api = shared.api()
    with api.stream("silent 1.0") as reader:
        frames = reader.rest()
        assert 3 <= len(reader.comments) <= 6
        assert set(reader.comments) == {": keep-alive"}
    assert unsaid(frames) == 1, "the model's call"
    first = frames[0].data
    with api.events(first["thread_id"], first["turn_id"]) as replay:
        assert replay.rest() == frames
        assert replay.comments == []


def test_odd_line_separators_survive_a_strict_and_a_careless_reader(shared: InThread):
    api = shared.api()
    with api.stream("odd") as reader:
        strict = reader.rest()
        raw = bytes(reader.raw)
    assert text_of(strict) == strict[-1].data["content"] == graphs.ODD
    for separator in ("\u2028", "\u2029", "\u0085"):
        assert separator.encode() not in raw
    careless = [line for line in raw.decode().splitlines() if line.startswith("data: ")]
    assert len(careless) == len(strict)


def test_every_letter_of_many_scripts_arrives_live_in_replay_and_in_the_history(shared: InThread):
    api = shared.api()
    with api.stream("people") as reader:
        live = reader.rest()
    thread_id, turn_id = live[0].data["thread_id"], live[0].turn_id
    with api.events(thread_id, turn_id) as replay:
        again = replay.rest()
    assert text_of(live) == text_of(again) == graphs.PEOPLE
    assert api.turn(thread_id, turn_id)["content"] == graphs.PEOPLE


def test_an_independent_client_library_reads_the_stream(shared: InThread):
    body = {"messages": [{"role": "user", "content": "odd"}]}
    headers = {"Accept": "text/event-stream"}
    with shared.api().http.stream("POST", "/chat?tokens=1", json=body, headers=headers) as got:
        names = [each.event for each in EventSource(got).iter_sse()]
    assert names[0] == "graph_topology"
    assert names[-1] == "turn_completed"


def test_a_huge_delta_is_split_into_frames_that_fit_a_line_buffer(shared: InThread):
    api = shared.api()
    with api.stream("huge 300000") as reader:
        frames = reader.rest()
        longest = max(len(line) for line in bytes(reader.raw).split(b"\n"))
    assert text_of(frames) == "x" * 300_000
    assert longest < 65_536
    ending = frames[-1].data
    whole = api.http.get(ending["content_url"]).json()
    assert whole["content"] == "x" * 300_000
    assert whole["content"].startswith(ending["content"])


def test_the_second_question_goes_on_in_the_same_thread(shared: InThread):
    api = shared.api()
    first = api.chat("say one").json()
    second = api.chat("say two", thread_id=first["thread_id"]).json()
    assert second["thread_id"] == first["thread_id"]
    assert second["turn_id"] != first["turn_id"]
    told = api.http.get(f"/conversations/{first['thread_id']}").json()
    assert [each["content"] for each in told["turns"]] == ["one", "two"]


@pytest.mark.parametrize(
    ("headers", "locale"),
    [
        ({}, "en"),
        ({"Accept-Language": "es-ES, en;q=0.5"}, "es-es"),
        ({"Accept-Language": "en;q=0.2, es"}, "es"),
        ({"Accept-Language": "*"}, "en"),
        ({"Accept-Language": "<script>"}, "en"),
    ],
)
def test_the_language_is_the_first_that_the_client_accepts(
    shared: InThread, headers: dict[str, str], locale: str
):
    assert shared.api().chat("say hi", headers=headers).json()["locale"] == locale


@pytest.mark.parametrize(
    ("accepted", "message", "locale"),
    [
        ("", "¿Qué hago si tengo fiebre?", "es"),
        ("en-GB, es;q=0.1", "¿Qué hago si tengo fiebre?", "es"),
        ("es-MX", "What should I do about a fever?", "en"),
        ("es-MX", "¿Qué hago si tengo fiebre?", "es-mx"),
        ("es-MX", "ibuprofeno", "es-mx"),
        ("fr", "Que faire de la fièvre, si on en a?", "fr"),
    ],
)
def test_a_message_in_english_or_spanish_is_answered_in_its_language(
    shared: InThread, accepted: str, message: str, locale: str
):
    answer = shared.api().chat(f"say {message}", headers={"Accept-Language": accepted})
    assert answer.json()["locale"] == locale


def test_the_language_of_the_body_wins(shared: InThread):
    answer = shared.api().chat("say hi", headers={"Accept-Language": "es"}, locale="ca")
    assert answer.json()["locale"] == "ca"


def test_fifty_callers_at_once_hear_their_own_words_only(shared: InThread):
    api = shared.api()

    def ask(number: int) -> tuple[str, str]:
        with api.stream(f"say mine-{number} of-{number}") as reader:
            frames = reader.rest()
        return text_of(frames), frames[-1].data["content"]

    with ThreadPoolExecutor(10) as pool:
        heard = list(pool.map(ask, range(50)))
    assert heard == [(f"mine-{n} of-{n}",) * 2 for n in range(50)]


@pytest.mark.parametrize(
    ("question", "code", "status"),
    [
        ("raise", "agent_error", 500),
        ("raise-nothing", "agent_error", 500),
        ("die", "upstream_unavailable", 502),
        ("unstorable", "agent_error", 500),
    ],
)
def test_a_failure_ends_the_stream_once_and_is_a_status_for_json(
    shared: InThread, question: str, code: str, status: int
):
    api = shared.api()
    with api.stream(question) as reader:
        frames = reader.rest()
    endings = [each for each in frames if each.event in ("error", "turn_completed", "paused")]
    assert endings == [frames[-1]]
    error = frames[-1].data
    assert (error["code"], bool(error["message"])) == (code, True)
    assert error["error_id"].startswith("err_")
    answer = api.chat(question)
    assert answer.status_code == status
    assert answer.json()["error"]["code"] == code
    _closed_nodes(frames)
    # The thread takes the next question.
    after = api.chat("say fine", thread_id=frames[0].data["thread_id"])
    assert after.json()["content"] == "fine"


def _closed_nodes(frames: list[Frame]) -> None:
    started = [each.data["node"] for each in frames if each.event == "node_started"]
    ended = [each.data["node"] for each in frames if each.event == "node_completed"]
    assert sorted(started) == sorted(node for node in ended if node in started)


def test_the_openapi_document_is_there_and_names_the_routes(shared: InThread):
    paths = httpx.get(f"{shared.url}/openapi.json").json()["paths"]
    assert {"/chat", "/chat/resume", "/reviews", "/conversations"} <= paths.keys()
