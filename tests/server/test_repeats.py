"""A request sent twice is one turn; a busy conversation does what was asked."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.server.reading import Frame, text_of
from tests.server.running import Api, InThread, eventually


def _turns(api: Api, thread_id: str) -> list[dict[str, Any]]:
    return api.http.get(f"/conversations/{thread_id}").json()["turns"]


def test_five_equal_requests_at_once_are_one_turn(shared: InThread):
    api = shared.stranger()

    def ask(_: int) -> dict[str, Any]:
        return api.chat("slow 5 0.05", headers={"Idempotency-Key": "five"}).json()

    with ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(ask, range(5)))
    assert [each for each in answers if each != answers[0]] == []
    assert len(api.http.get("/conversations").json()["conversations"]) == 1
    assert len(_turns(api, answers[0]["thread_id"])) == 1


def test_a_repeat_joins_the_running_stream_from_its_first_frame(shared: InThread):
    api = shared.stranger()
    headers = {"Idempotency-Key": "again"}
    with api.stream("slow 10 0.05", headers=headers) as first:
        first.until("token")
        with api.stream("slow 10 0.05", headers=headers) as second:
            joined = second.rest()
    assert joined[0].seq == 1
    assert text_of(joined) == "".join(f"w{n} " for n in range(10))


def test_another_body_under_the_key_is_refused(shared: InThread):
    api = shared.stranger()
    headers = {"Idempotency-Key": "k"}
    assert api.chat("say one", headers=headers).status_code == 200
    refused = api.chat("say two", headers=headers)
    assert refused.status_code == 422
    assert refused.json()["error"]["details"][0]["path"] == "Idempotency-Key"


def test_another_caller_with_the_same_key_is_independent(shared: InThread):
    headers = {"Idempotency-Key": "mine"}
    one = shared.stranger().chat("say hi", headers=headers).json()
    other = shared.stranger().chat("say hi", headers=headers).json()
    assert one["turn_id"] != other["turn_id"]
    assert one["thread_id"] != other["thread_id"]


@pytest.mark.parametrize("key", ["", "x" * 256, "tab\there", "ü"])
def test_a_key_that_is_none_is_refused(shared: InThread, key: str):
    api = shared.api()
    body = b'{"messages": [{"role": "user", "content": "say hi"}]}'
    headers = [(b"Idempotency-Key", key.encode()), (b"Content-Type", b"application/json")]
    refused = api.http.post("/chat", content=body, headers=headers)
    assert refused.status_code == 422


def test_the_key_holds_after_a_restart(data_dir: Path):
    headers = {"Idempotency-Key": "kept"}
    with InThread(data_dir) as server:
        key = server.key("chat")
        before = server.api(key=key).chat("say hi", headers=headers).json()
    with InThread(data_dir) as server:
        api = server.api(key=key)
        assert api.chat("say hi", headers=headers).json() == before
        assert api.chat("say ho", headers=headers).status_code == 422
        with api.stream("say hi", headers={"Idempotency-Key": "streamed"}) as reader:
            live = reader.rest()
        with api.stream("say hi", headers={"Idempotency-Key": "streamed"}) as reader:
            assert reader.rest() == live


def test_the_key_of_a_paused_turn_gives_the_pause_again(shared: InThread):
    api = shared.stranger()
    headers = {"Idempotency-Key": "waits"}
    first = api.chat("ask", headers=headers).json()
    assert first["status"] == "paused_for_input"
    assert api.chat("ask", headers=headers).json() == first


def _message(api: Api, question: str, key: str) -> list[Frame]:
    with api.ask(question, headers={"Idempotency-Key": key}) as reader:
        return reader.rest()


def test_on_the_answer_wire_five_at_once_are_one_message_also_where_the_first_was_lost(
    shared: InThread,
):
    api = shared.stranger("chat").be_member()
    with api.ask("slow 8 0.05", headers={"Idempotency-Key": "five"}) as lost:
        lost.until("token.delta")
    with ThreadPoolExecutor(5) as pool:
        told = list(pool.map(_message, [api] * 5, ["slow 8 0.05"] * 5, ["five"] * 5))
    assert [each for each in told if each != told[0]] == []
    assert told[0][-1].data["finish_reason"] == "stop"
    (thread,) = api.http.get("/conversations").json()["conversations"]
    (turn,) = _turns(api, thread["conversation_id"])
    assert turn["question"] == "slow 8 0.05"


@pytest.mark.parametrize("is_member", [True, False])
def test_on_the_answer_wire_the_key_holds_after_a_restart_and_for_its_caller_only(
    data_dir: Path, is_member: bool
):
    with InThread(data_dir) as server:
        key = server.key("chat")
        first = server.api(key=key)
        first = first.be_member() if is_member else first
        before = _message(first, "say hi", "kept")
        headers = dict(first.http.headers)
    with InThread(data_dir) as server:
        again, other = server.nobody(), server.stranger("chat")
        again.http.headers.update(headers)
        assert _message(again, "say hi", "kept") == before
        refused = again.http.post(
            "/chat/stream", json={"message": "say ho"}, headers={"Idempotency-Key": "kept"}
        )
        assert (refused.status_code, refused.json()["error"]["details"][0]["path"]) == (
            422,
            "Idempotency-Key",
        )
        others = [_message(other, "say hi", "kept")]
        if is_member:
            others.append(_message(server.api(key=key).be_member(), "say hi", "kept"))
        named = {each[0].data["conversation_id"] for each in (before, *others)}
        assert len(named) == 1 + len(others)


def test_a_busy_conversation_refuses_by_default(shared: InThread):
    api = shared.api()
    with api.stream("slow 20 0.05") as reader:
        thread_id = reader.next().data["thread_id"]
        refused = api.chat("say two", thread_id=thread_id)
        assert refused.status_code == 409
        assert refused.json()["error"]["code"] == "turn_in_progress"
        assert refused.json()["error"]["retryable"] is True
        reader.rest()
    assert len(_turns(api, thread_id)) == 1


def test_enqueued_messages_wait_and_are_answered_one_after_the_other(shared: InThread):
    api = shared.api()
    with api.stream("slow 10 0.05") as reader:
        thread_id = reader.next().data["thread_id"]
        with ThreadPoolExecutor(2) as pool:
            two = pool.submit(api.chat, "say two", thread_id=thread_id, if_busy="enqueue")
            eventually(lambda: two.running())
            three = pool.submit(api.chat, "say three", thread_id=thread_id, if_busy="enqueue")
            assert reader.rest()[-1].data["finish_reason"] == "stop"
            assert {two.result().json()["content"], three.result().json()["content"]} == {
                "two",
                "three",
            }
    told = _turns(api, thread_id)
    assert len(told) == 3
    assert {each["status"] for each in told} == {"completed"}


def test_an_interrupting_message_stops_the_running_turn(shared: InThread):
    api = shared.api()
    with api.stream("slow 200 0.05") as reader:
        thread_id = reader.next().data["thread_id"]
        reader.until("token")
        instead = api.chat("say instead", thread_id=thread_id, if_busy="interrupt").json()
        frames = reader.rest()
    assert instead["content"] == "instead"
    assert frames[-1].data["finish_reason"] == "cancelled"
    first, second = _turns(api, thread_id)
    assert (first["finish_reason"], first["partial"]) == ("cancelled", True)
    assert first["content"].startswith("w0 ")
    assert second["content"] == "instead"


def test_two_messages_at_once_on_one_conversation_never_run_together(shared: InThread):
    api = shared.api()
    thread_id = api.chat("say zero").json()["thread_id"]

    def ask(number: int) -> int:
        return api.chat(f"slow 3 0.0{number + 1}", thread_id=thread_id).status_code

    with ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(ask, range(4)))
    assert set(statuses) <= {200, 409}
    assert statuses.count(200) >= 1
    assert len(_turns(api, thread_id)) == 1 + statuses.count(200)
