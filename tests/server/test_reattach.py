"""Re-attaching to a turn: what came after an id, then live, and an end in any case."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.reading import Frame, text_of, unsaid
from tests.server.running import Api, InThread

ENDED = ("say hi", "raise", "slow 200 0.05", "ask")
"""A question for each way a turn may stand: completed, failed, cancelled, paused."""


def _played(api: Api, question: str) -> list[Frame]:
    with api.stream(question) as reader:
        first = reader.next()
        if question.startswith("slow"):
            reader.until("token")
            api.http.post(f"/conversations/{first.data['thread_id']}/cancel")
        reader.rest()
    with api.events(first.data["thread_id"], first.turn_id) as reader:
        return reader.rest()


@pytest.fixture(scope="module")
def replayed(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Api, dict[str, list[Frame]]]]:
    """Turns of each kind as they were told live, and a later server over the same directory."""
    data_dir = tmp_path_factory.mktemp("replayed")
    with InThread(data_dir) as server:
        key = server.key("chat")
        told = {question: _played(server.api(key=key), question) for question in ENDED}
    with InThread(data_dir) as server:
        yield server.api(key=key), told


@pytest.mark.parametrize("question", ENDED)
@pytest.mark.parametrize("heard", [None, "first", "all but one", "all"])
def test_an_ended_turn_is_told_to_its_end_at_once_also_after_a_restart(
    replayed: tuple[Api, dict[str, list[Frame]]], question: str, heard: str | None
):
    api, told = replayed
    frames = told[question]
    count = {None: 0, "first": 1, "all but one": len(frames) - 1, "all": len(frames)}[heard]
    after = frames[count - 1].id if count else None
    begun = time.monotonic()
    with api.events(frames[0].data["thread_id"], frames[0].turn_id, after=after) as reader:
        got = reader.rest()
        assert reader.comments == []
    assert time.monotonic() - begun < 1.0
    assert got == (frames[count:] or frames[-1:])


def test_an_ended_turn_is_told_at_once_by_the_server_that_ran_it(shared: InThread):
    api = shared.api()
    for question in ENDED:
        frames = _played(api, question)
        for after in (None, frames[0].id, frames[-1].id):
            begun = time.monotonic()
            with api.events(frames[0].data["thread_id"], frames[0].turn_id, after=after) as reader:
                got = reader.rest()
            assert time.monotonic() - begun < 1.0
            later = [f for f in frames if after is None or f.seq > int(after.rpartition(".")[2])]
            assert got == (later or frames[-1:])


def test_who_has_heard_everything_is_told_the_ending_and_is_not_brought_back_for_ever(
    shared: InThread,
):
    """An `EventSource` comes back after each stream that just ends, until it is closed."""
    api = shared.api()
    for question in ENDED:
        frames = _played(api, question)
        opened = frames[0].data
        about = f"/conversations/{opened['thread_id']}/turns/{frames[0].turn_id}/events"
        after = frames[-1].seq
        by_number = api.http.get(f"{about}?tokens=true&after={after}")
        by_header = api.http.get(f"{about}?tokens=true", headers={"Last-Event-ID": frames[-1].id})
        assert by_number.text == by_header.text
        assert by_number.text.count("event: ") == 1
        assert by_number.text.startswith(f"id: {frames[-1].id}\nevent: {frames[-1].event}\n")


def test_bad_positions_are_refused_and_never_only_heartbeats(shared: InThread):
    api = shared.api()
    frames = _played(api, "say hi")
    thread_id, turn_id = frames[0].data["thread_id"], frames[0].turn_id
    other = _played(api, "say ho")[0]
    url = api.events_url(thread_id, turn_id)
    for bad in (
        "abc",
        "-1",
        "0",
        "3",
        "",
        ".",
        f"{turn_id}.",
        f"{turn_id}.-1",
        f"{turn_id}.+1",
        f"{turn_id}.1.5",
        f"{turn_id}. 1",
        f"{turn_id}.9999",
        f"{turn_id}.99999999999999999999",
        f"{turn_id}.{frames[-1].seq + 1}",
        other.id,
        "x" * 5000,
    ):
        refused = api.http.get(url, headers={"Last-Event-ID": bad})
        assert refused.status_code == 422, bad
        assert refused.json()["error"]["details"][0]["path"] == "Last-Event-ID"
    for bad in ("-1", "abc", "1.5", "9999", "", "\uff11"):
        refused = api.http.get(url, params={"after": bad})
        assert refused.status_code == 422, bad
    assert api.http.get(f"{url}&wire=other").status_code == 422
    assert api.http.get(f"{url}&after={frames[-2].seq}").text.count("event: ") == 1


def test_a_position_from_the_future_of_a_running_turn_is_refused(shared: InThread):
    api = shared.api()
    with api.stream("slow 100 0.05") as reader:
        first = reader.next()
        thread_id, turn_id = first.data["thread_id"], first.turn_id
        url = api.events_url(thread_id, turn_id)
        refused = api.http.get(url, headers={"Last-Event-ID": f"{turn_id}.90000"}, timeout=3)
        api.http.post(f"/conversations/{thread_id}/cancel")
        assert refused.status_code == 422


def test_a_client_that_comes_back_in_the_middle_hears_each_frame_once(shared: InThread):
    api = shared.api()
    with api.stream("slow 20 0.04") as reader:
        heard = [reader.next() for _ in range(6)]
    first = heard[0]
    with api.events(first.data["thread_id"], first.turn_id, after=heard[-1].id) as reader:
        heard += reader.rest()
    assert unsaid(heard) == 1, "the model's call"
    assert text_of(heard) == "".join(f"w{n} " for n in range(20))
    assert heard[-1].event == "turn_completed"


def test_several_clients_may_follow_one_turn_and_hear_the_same(shared: InThread):
    api = shared.api()
    with api.stream("slow 10 0.05") as reader:
        first = reader.next()
        with api.events(first.data["thread_id"], first.turn_id) as other:
            assert other.rest() == [first, *reader.rest()]


def test_a_reviewer_may_follow_a_turn_that_was_put_to_reviewers_and_no_other(shared: InThread):
    owner, reviewer = shared.api("chat"), shared.stranger("chat", "review")
    paused = owner.paused("review 60")
    with reviewer.events(paused["thread_id"], paused["turn_id"]) as reader:
        assert reader.rest()[-1].event == "paused"
    private = owner.chat("say private").json()
    url = reviewer.events_url(private["thread_id"], private["turn_id"])
    assert reviewer.http.get(url).status_code == 404


def test_a_burst_is_followed_from_many_positions_without_gap_or_repeat(
    shared: InThread, tmp_path: Path
):
    api = shared.api()
    words = " ".join(str(n) for n in range(3000))
    with api.stream(f"say {words}") as reader:
        live = reader.rest()
    assert text_of(live) == words
    for after in (live[1], live[1023], live[1024], live[2047], live[-3]):
        with api.events(live[0].data["thread_id"], live[0].turn_id, after=after.id) as reader:
            assert reader.rest() == [each for each in live if each.seq > after.seq]
