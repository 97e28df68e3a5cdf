"""What a model provider may send, and what clients get of it."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.providers.serving import CUT, DONE, HANG, Provider, answer, delta, stopped
from tests.server import graphs
from tests.server.raw import RawClient
from tests.server.reading import text_of
from tests.server.running import InThread, eventually


@pytest.fixture(scope="module")
def served(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InThread]:
    directory = tmp_path_factory.mktemp("served")
    with InThread(
        directory, "provider", heartbeat_seconds=0.2, disconnect_grace_seconds=0
    ) as server:
        yield server


@pytest.fixture(autouse=True)
def fresh(provider: Provider) -> None:
    provider.reset()
    graphs.acted.clear()


def _heard(served: InThread) -> tuple[str, str, str]:
    """Ask; return the words that were shown, the stored answer, and how it ended."""
    api = served.api()
    with api.stream("go") as reader:
        frames = reader.rest()
    told = api.turn(frames[0].data["thread_id"], frames[0].turn_id)
    ending = frames[-1].data.get("code") or frames[-1].data["finish_reason"]
    return text_of(frames), told["content"], ending


TEXT = f"{graphs.PEOPLE} {graphs.ODD} end"


def test_an_answer_written_byte_by_byte_arrives_whole(served: InThread, provider: Provider):
    provider.steps = [bytes([each]) for each in answer(*TEXT)[:6000]] + [answer(*TEXT)[6000:]]
    assert _heard(served) == (TEXT, TEXT, "stop")


@pytest.mark.parametrize("seed", range(8))
def test_an_answer_cut_anywhere_arrives_whole(served: InThread, provider: Provider, seed: int):
    stream, chance = answer(TEXT, *TEXT), random.Random(seed)
    cuts = sorted(chance.sample(range(1, len(stream)), 60))
    provider.steps = [
        stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)
    ]
    assert _heard(served) == (TEXT * 2, TEXT * 2, "stop")


def test_a_providers_comments_and_line_ends_reach_nobody(served: InThread, provider: Provider):
    provider.steps = [
        b": PROCESSING\n\n",
        delta("one "),
        b": PROCESSING\r\n\r\n",
        delta("two").replace(b"\n", b"\r\n"),
        b": done soon\n\n" + stopped() + DONE,
    ]
    assert _heard(served) == ("one two", "one two", "stop")


@pytest.mark.xfail(
    reason="openai-python#3819: the SDK drops the event behind the mark", strict=True
)
def test_a_byte_order_mark_does_not_eat_the_first_words(served: InThread, provider: Provider):
    provider.steps = [b"\xef", b"\xbb", b"\xbf" + delta("first "), answer("later \ufeff here")]
    assert _heard(served) == ("first later \ufeff here", "first later \ufeff here", "stop")


def test_a_stream_that_ends_inside_a_character_still_ends(served: InThread, provider: Provider):
    broken = delta("tail 雨").partition("雨".encode())[0] + "雨".encode()[:2]
    provider.steps = [delta("good "), broken]
    shown, stored, _ = _heard(served)
    assert shown == stored
    assert shown.startswith("good ")


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (429, "upstream_rate_limited"),
        (500, "upstream_unavailable"),
        (503, "upstream_unavailable"),
        (401, "upstream_unavailable"),
        (408, "upstream_timeout"),
    ],
)
def test_a_providers_refusal_has_a_code_and_none_of_the_providers_words(
    served: InThread, provider: Provider, status: int, code: str
):
    provider.status, provider.content_type = status, "application/json"
    provider.steps = [b'{"error": {"message": "key sk-canary of org canary-org"}}']
    api = served.api()
    with api.stream("go") as reader:
        frames = reader.rest()
        assert b"canary" not in reader.raw
    assert frames[-1].event == "error"
    assert frames[-1].data["code"] == code
    assert len(provider.requests) == 1, "a failed call is not paid twice behind our back"
    assert graphs.acted == []


@pytest.mark.parametrize(
    "steps",
    [
        [CUT],
        [delta("one "), delta("two "), CUT],
        [delta("one "), b'data: {"error": {"message": "overloaded", "code": 529}}\n\n', DONE],
        [b'data: {"error": {"message": "quota", "type": "insufficient_quota"}}\n\n', DONE],
    ],
    ids=["cut at once", "cut after two tokens", "error after a token", "error first"],
)
def test_an_answer_that_breaks_off_is_a_failure_and_never_a_success(
    served: InThread, provider: Provider, steps: list[bytes]
):
    provider.steps = steps
    _, _, ending = _heard(served)
    assert ending == "upstream_unavailable"
    assert graphs.acted == []


def test_chunks_without_words_are_passed_over_and_usage_is_counted_once(
    served: InThread, provider: Provider
):
    provider.steps = [
        delta(""),
        b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m",'
        b'"choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]}\n\n',
        answer("hi"),
    ]
    done = served.api().chat("go").json()
    assert done["content"] == "hi"
    assert (done["cost"]["tokens_in"], done["cost"]["tokens_out"]) == (7, 3)


def test_the_providers_length_limit_is_told(served: InThread, provider: Provider):
    provider.steps = [delta("cut sho"), stopped("length"), DONE]
    assert _heard(served) == ("cut sho", "cut sho", "length")


def test_a_provider_that_hangs_is_left_when_the_nodes_time_is_up(
    data_dir: Path, provider: Provider
):
    provider.steps = [delta("one "), HANG]
    with InThread(data_dir, "provider", node_seconds=2) as server:
        shown, _, ending = _heard(server)
    assert (shown, ending) == ("one ", "upstream_timeout")
    eventually(lambda: provider.open == 0, within=1)
    assert provider.left == 1


@pytest.mark.parametrize("leave", ["finish", "reset"])
@pytest.mark.parametrize(
    ("steps", "heard"),
    [
        ([HANG], "graph_topology"),
        ([delta("one "), delta("two "), HANG], "two"),
        ([*[delta(f"w{n} ") for n in range(5)], 0.05, *[delta("more "), 0.02] * 500], "more"),
    ],
    ids=["before the first token", "after two tokens", "in the middle"],
)
def test_a_client_that_leaves_ends_the_paid_call_within_a_second(
    served: InThread, provider: Provider, leave: str, steps: list[bytes], heard: str
):
    provider.steps = steps
    api = served.api()
    client = RawClient(served.address, served.key("chat", "review"), "go")
    first = client.read_until(heard)
    eventually(lambda: provider.open == 1)
    getattr(client, leave)()
    eventually(lambda: provider.open == 0, within=1)
    assert provider.left == 1
    turn_id = first.partition("\nid: ")[2].partition(".")[0]
    thread_id = first.partition('"thread_id":"')[2].partition('"')[0]
    told = eventually(
        lambda: (turn := api.turn(thread_id, turn_id))["status"] == "completed" and turn, within=2
    )
    assert (told["finish_reason"], told["partial"]) == ("cancelled", True)
    assert graphs.acted == [], "no node starts for nobody"


def _running(served: InThread) -> int:
    with closing(sqlite3.connect(served.data_dir / "turnwire.db")) as db:
        return db.execute("SELECT count(*) FROM turns WHERE phase = 'running'").fetchone()[0]


@pytest.mark.parametrize("leave", ["finish", "reset"])
@pytest.mark.parametrize(
    "steps", [[delta("one "), HANG], [delta("more "), 0.02] * 500], ids=["silent", "talking"]
)
def test_a_json_client_that_leaves_ends_the_paid_call_and_is_no_error(
    served: InThread,
    provider: Provider,
    leave: str,
    steps: list[bytes],
    caplog: pytest.LogCaptureFixture,
):
    provider.steps = steps
    key = served.key("chat", "review")
    client = RawClient(served.address, key, "go", accept="application/json")
    eventually(lambda: provider.open == 1)
    getattr(client, leave)()
    eventually(lambda: provider.open == 0, within=1.8)
    eventually(lambda: _running(served) == 0)
    assert graphs.acted == []
    assert "unexpected" not in caplog.text
    assert "Exception in ASGI" not in caplog.text


def test_the_turn_goes_on_for_a_client_that_comes_back_in_time(
    provider: Provider, tmp_path_factory: pytest.TempPathFactory
):
    provider.steps = [delta("one "), 0.6, answer("two")]
    directory = tmp_path_factory.mktemp("grace")
    with InThread(directory, "provider", disconnect_grace_seconds=5) as server:
        api = server.api()
        with api.stream("go") as reader:
            first = reader.next()
            last = reader.until("token")
        with api.events(first.data["thread_id"], first.turn_id, after=last.id) as reader:
            frames = reader.rest()
    assert text_of(frames) == "two"
    assert frames[-1].data["content"] == "one two"
    assert graphs.acted == ["after the answer"]
