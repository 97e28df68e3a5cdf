"""``POST /chat/stream``, ``/chat/confirm`` and ``/chat/resume``: the answer wire's routes."""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import JsonValue

from tests.server import member_graph
from tests.server.answering import Members, asked, card, told_again
from tests.server.reading import Frame
from tests.server.running import Api, InThread, Process, eventually
from tests.server.shipped import with_index
from tests.wires.order import Screen, check_order
from turnwire.events import Envelope
from turnwire.retrieval.reranking import Reranker
from turnwire.wires.answer import Answer


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Members]:
    with Members(tmp_path_factory.mktemp("members"), heartbeat_seconds=0.2) as server:
        yield server


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    member_graph.ledger.clear()


def _code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def _to_confirm(api: Api, kind: str = "confirm") -> dict[str, Any]:
    """Ask for an action; return the body that approves it."""
    frames = asked(api, kind)
    return {
        "conversation_id": frames[0].data["conversation_id"],
        "confirmation_id": card(frames, "action.confirmation_required")["confirmation_id"],
        "decision": "approve",
    }


def test_it_is_a_stream_whatever_is_accepted_and_no_proxy_may_hold_it(members: Members):
    for accept in ("*/*", "application/json", "text/event-stream"):
        answer = members.api().http.post(
            "/chat/stream", json={"message": "plain"}, headers={"Accept": accept}
        )
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert answer.headers["cache-control"] == "no-cache, no-transform"
        assert answer.headers["x-accel-buffering"] == "no"


def test_the_first_frame_comes_before_the_graph_says_anything(members: Members):
    api = members.api()
    with api.ask("slow-tool") as reader:
        opened = reader.next()
        assert opened.event == "message.started"
        assert opened.data["message_id"] == opened.turn_id
        api.http.post(f"/conversations/{opened.data['conversation_id']}/cancel")
        reader.rest()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", (400, "invalid_request")),
        (b"\xff", (400, "invalid_request")),
        (b"[]", (422, "validation_error")),
        (b"{}", (422, "validation_error")),
        (b'{"message": " "}', (422, "validation_error")),
        (b'{"message": "hi", "messages": []}', (422, "validation_error")),
        (b'{"message": "hi", "client": {"rerank": "yes"}}', (422, "validation_error")),
        (b'{"message": "hi", "client": {"locale": "../x"}}', (422, "validation_error")),
        (b'{"message": "hi", "client": {"timezone": "a b"}}', (422, "validation_error")),
        (b'{"message": "hi", "client": {"admin": true}}', (422, "validation_error")),
        (b'{"message": "hi", "conversation_id": "a:b"}', (422, "validation_error")),
        (b'{"message": "hi", "conversation_id": "conv_1"}', (404, "not_found")),
        (b'{"message": "hi", "agent": "nobody"}', (404, "not_found")),
        (b'{"message": "' + b"x" * 100_001 + b'"}', (413, "request_too_large")),
    ],
    ids=lambda each: "" if isinstance(each, bytes) else each[1],
)
def test_a_refusal_is_a_status_in_the_envelope(
    members: Members, body: bytes, code: tuple[int, str]
):
    answer = members.api().http.post("/chat/stream", content=body)

    assert _code(answer) == code
    assert answer.headers["content-type"] == "application/json"


def test_without_a_key_or_the_scope_nothing_is_served(members: Members):
    for path in ("/chat/stream", "/chat/confirm"):
        assert _code(members.nobody().http.post(path, json={})) == (401, "invalid_api_key")
        assert _code(members.api("review").http.post(path, json={})) == (403, "forbidden")


def test_a_busy_conversation_is_refused(members: Members):
    api = members.api()
    with api.ask("slow") as reader:
        conversation_id = reader.next().data["conversation_id"]
        again = api.http.post(
            "/chat/stream", json={"message": "plain", "conversation_id": conversation_id}
        )
        assert _code(again) == (409, "turn_in_progress")
        api.http.post(f"/conversations/{conversation_id}/cancel")
        reader.rest()


def test_a_conversation_goes_on_and_both_wires_speak_of_the_same(members: Members):
    api = members.api()
    conversation_id = asked(api, "plain")[0].data["conversation_id"]
    asked(api, "tools", conversation_id=conversation_id)

    turns = api.http.get(f"/conversations/{conversation_id}").json()["turns"]
    assert [each["content"] for each in turns] == ["Rest for two days.", "They will call."]


def test_the_same_request_again_joins_the_message(members: Members):
    api, headers = members.api(), {"Idempotency-Key": "once"}
    first = asked(api, "replaced", headers=headers)
    second = asked(api, "replaced", headers=headers)

    assert first[-1].data["code"] == "answer_replaced"
    assert (second[0], second[-1].event) == (first[0], "message.completed")
    assert Screen().take(second).text == "No."
    other = api.http.post("/chat/stream", json={"message": "plain"}, headers=headers)
    assert _code(other) == (422, "validation_error")


# Confirmations


def test_the_same_request_of_somebody_without_a_session_joins_the_message(members: Members):
    api, other_application = members.keyed("chat"), members.keyed("chat", "review")
    first = asked(api, "plain", headers={"Idempotency-Key": "k-1"})
    again = asked(api, "plain", headers={"Idempotency-Key": "k-1"})
    other = asked(api, "plain", headers={"Idempotency-Key": "k-2"})
    foreign = asked(other_application, "plain", headers={"Idempotency-Key": "k-1"})
    assert again == first
    assert len({each[0].turn_id for each in (first, other, foreign)}) == 3


@pytest.mark.parametrize(
    ("decision", "status", "done"),
    [
        ("approve", "ok", ["done call_2"]),
        ("reject", "rejected", []),
        ("APPROVE", "rejected", []),
        ("yes", "rejected", []),
        (None, "rejected", []),
        (True, "rejected", []),
        ({"decision": "approve"}, "rejected", []),
    ],
    ids=str,
)
def test_only_an_approval_that_can_be_read_lets_the_action_happen(
    members: Members, decision: JsonValue, status: str, done: list[str]
):
    api = members.api()
    body = _to_confirm(api)
    frames = api.post("/chat/confirm", **{**body, "decision": decision, "feedback": "thanks"})

    check_order(frames)
    assert card(frames, "action.completed")["status"] == status
    assert [each for each in member_graph.ledger if each.startswith("done")] == done
    assert "'feedback': 'thanks'" in member_graph.ledger[-1]


def test_every_confirmation_that_is_not_the_callers_to_give_is_refused_alike(members: Members):
    api = members.api()
    open_, answered, soon = _to_confirm(api), _to_confirm(api), _to_confirm(api, "confirm-soon")
    api.post("/chat/confirm", **answered)
    time.sleep(0.06)  # until `soon` has expired
    refused = [
        members.stranger().http.post("/chat/confirm", json=open_),
        api.http.post("/chat/confirm", json=answered),
        api.http.post("/chat/confirm", json=soon),
        api.http.post("/chat/confirm", json={**open_, "confirmation_id": "cnf_0"}),
        api.http.post("/chat/confirm", json={**open_, "conversation_id": "conv_0"}),
        api.http.post("/chat/confirm", json={**open_, "conversation_id": soon["conversation_id"]}),
    ]

    assert {_code(each) for each in refused} == {(403, "confirmation_unavailable")}
    assert len({each.json()["error"]["message"] for each in refused}) == 1
    assert api.post("/chat/confirm", **open_)[-1].data["finish_reason"] == "stop"


def test_a_body_without_a_decision_answers_nothing(members: Members):
    api = members.api()
    body = _to_confirm(api)
    bare = {name: body[name] for name in ("conversation_id", "confirmation_id")}

    assert _code(api.http.post("/chat/confirm", json=bare)) == (422, "validation_error")
    assert api.post("/chat/confirm", **body)[-1].data["finish_reason"] == "stop"


def test_of_many_answers_at_once_one_counts(members: Members):
    api = members.api()
    body = _to_confirm(api)

    def confirm(_: int) -> httpx.Response:
        return api.http.post("/chat/confirm", json=body)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(confirm, range(8)))

    assert sorted(each.status_code for each in answers) == [200, *[403] * 7]
    assert member_graph.ledger.count("done call_2") == 1


def test_a_confirmation_is_not_answered_by_the_route_for_other_questions(members: Members):
    api = members.api()
    body = _to_confirm(api)
    answers = {body["confirmation_id"]: {"decision": "approve"}}
    refused = api.resume(thread_id=body["conversation_id"], answers=answers)

    assert _code(refused) == (403, "resume_unavailable")


def test_a_client_that_leaves_after_approving_undoes_nothing(tmp_path: Path):
    with Members(tmp_path / "data", disconnect_grace_seconds=0) as server:
        api = server.api()
        body = _to_confirm(api, "confirm-slow")
        with api.http.stream("POST", "/chat/confirm", json=body) as response:
            next(response.iter_raw())
        turns = eventually(lambda: _completed(api, body["conversation_id"]))
        assert turns[0]["finish_reason"] == "stop"
        assert "done call_2" in member_graph.ledger


def _completed(api: Api, conversation_id: str) -> list[dict[str, Any]]:
    turns = api.http.get(f"/conversations/{conversation_id}").json()["turns"]
    return [each for each in turns if each["status"] == "completed"]


def test_a_new_message_drops_what_waits(members: Members):
    api = members.api()
    body = _to_confirm(api)
    asked(api, "plain", conversation_id=body["conversation_id"])

    assert _code(api.http.post("/chat/confirm", json=body)) == (403, "confirmation_unavailable")
    assert member_graph.ledger.count("done call_2") == 0


# Sign-in


def test_a_turn_that_waits_for_a_sign_in_goes_on_after_it_and_only_then(members: Members):
    api = members.stranger()
    paused = asked(api, "sign-in")
    conversation_id = paused[0].data["conversation_id"]
    assert paused[-1].data["finish_reason"] == "awaiting_sign_in"
    assert card(paused, "auth.required")["resumable"] is True
    body = {"conversation_id": conversation_id}

    signed_out = api.http.post("/chat/resume", json=body)
    members.sign_ins.everybody = True
    try:
        refused = [
            signed_out,
            members.stranger().http.post("/chat/resume", json=body),
            api.http.post("/chat/resume", json={"conversation_id": "conv_0"}),
        ]
        resumed = api.post("/chat/resume", **body)
        refused.append(api.http.post("/chat/resume", json=body))
    finally:
        members.sign_ins.everybody = False

    assert {_code(each) for each in refused} == {(403, "resume_unavailable")}
    assert len({each.json()["error"]["message"] for each in refused}) == 1
    check_order(resumed)
    assert Screen().take([*paused, *resumed]).text == (
        "In general, two days. You have ten days. [2]"
    )
    assert "{'signed_in': True}" in member_graph.ledger[-1]


def test_who_is_signed_in_is_asked_of_the_caller_and_not_of_the_conversation(members: Members):
    api, other = members.stranger(), members.stranger()
    body = {"conversation_id": asked(api, "sign-in")[0].data["conversation_id"]}
    others = {"conversation_id": asked(other, "sign-in")[0].data["conversation_id"]}
    for each, mine in ((api, body), (other, others)):
        assert _code(each.http.post("/chat/resume", json=mine)) == (403, "resume_unavailable")
    *_, asked_api, asked_other = members.sign_ins.asked
    members.sign_ins.members = {asked_other}

    assert asked_api != asked_other
    assert _code(api.http.post("/chat/resume", json=body)) == (403, "resume_unavailable")
    assert other.post("/chat/resume", **others)[-1].data["finish_reason"] == "stop"


def test_a_resume_takes_the_conversation_and_nothing_else(members: Members):
    body = {"conversation_id": "conv_1", "decision": "approve"}

    refused = members.api().http.post("/chat/resume", json=body)
    assert _code(refused) == (422, "validation_error")


def test_going_on_after_a_sign_in_counts_as_a_message_and_a_refused_one_leaves_the_turn_waiting(
    tmp_path: Path,
):
    with Members(tmp_path / "data", member_messages=2) as server:
        api = server.api()
        server.sign_ins.everybody = True
        body = {"conversation_id": asked(api, "sign-in")[0].data["conversation_id"]}
        other = {"conversation_id": asked(api, "sign-in")[0].data["conversation_id"]}
        for each in (body, other):
            refused = api.http.post("/chat/resume", json=each)
            assert _code(refused) == (429, "quota_exceeded")
            assert int(refused.headers["retry-after"]) > 0
            (turn,) = api.http.get(f"/conversations/{each['conversation_id']}").json()["turns"]
            assert turn["status"] == "paused"


def test_a_message_instead_of_a_sign_in_keeps_the_text_that_was_shown(members: Members):
    api = members.api()
    conversation_id = asked(api, "sign-in")[0].data["conversation_id"]
    asked(api, "plain", conversation_id=conversation_id)
    first, second = api.http.get(f"/conversations/{conversation_id}").json()["turns"]
    assert (first["content"], first["partial"]) == ("In general, two days. ", True)
    assert second["finish_reason"] == "stop"
    members.sign_ins.everybody = True
    try:
        late = api.http.post("/chat/resume", json={"conversation_id": conversation_id})
    finally:
        members.sign_ins.everybody = False
    assert _code(late) == (403, "resume_unavailable")


# A graph's own questions


def _question(frames: Sequence[Frame]) -> dict[str, Any]:
    (asked_for,) = frames[-1].data["pauses"]
    return asked_for


@pytest.mark.parametrize("kind", ["input", "approval"])
def test_a_graphs_own_question_is_answered_and_the_message_goes_on(members: Members, kind: str):
    api = members.api()
    paused = asked(api, kind)
    assert paused[-1].data["finish_reason"] == f"awaiting_{kind}"
    question, conversation_id = _question(paused), paused[0].data["conversation_id"]
    body = {"conversation_id": conversation_id, "answers": {question["pause_id"]: {"is": "ten"}}}
    resumed = api.post("/chat/resume", **body)

    check_order(resumed)
    assert resumed[0].data["message_id"] == paused[0].data["message_id"]
    assert Screen().take([*paused, *resumed]).text == "Thank you."
    assert "{'is': 'ten'}" in member_graph.ledger[-1]
    assert _code(api.http.post("/chat/resume", json=body)) == (409, "already_decided")


def test_a_question_is_its_members_to_answer_and_in_its_own_shape(members: Members):
    api = members.api()
    paused = asked(api, "input")
    conversation_id, pause_id = paused[0].data["conversation_id"], _question(paused)["pause_id"]
    body = {"conversation_id": conversation_id, "answers": {pause_id: 1}}

    assert _code(members.keyed("chat").http.post("/chat/resume", json=body)) == (
        401,
        "session_required",
    )
    refused = [
        members.api().http.post("/chat/resume", json=body),
        api.http.post("/chat/resume", json={**body, "conversation_id": "conv_0"}),
        api.http.post("/chat/resume", json={**body, "answers": {"pau_0": 1}}),
    ]
    assert {_code(each) for each in refused} == {(403, "resume_unavailable")}
    assert len({each.json()["error"]["message"] for each in refused}) == 1
    for wrong in ({}, {pause_id: 2**64}, {"": 1}, [1], None):
        answer = api.http.post("/chat/resume", json={**body, "answers": wrong})
        assert answer.status_code in (403, 422), wrong
    assert _question(told_again(api, paused))["pause_id"] == pause_id
    assert api.post("/chat/resume", **body)[-1].data["finish_reason"] == "stop"


def test_an_answer_of_another_shape_is_refused_and_the_question_waits(tmp_path: Path):
    with InThread(tmp_path / "data") as server:
        api = server.api().be_member()
        paused = asked(api, "ask")
        question = _question(paused)
        assert question["response_schema"]["required"] == ["amount"]
        body = {"conversation_id": paused[0].data["conversation_id"]}
        wrong = api.http.post(
            "/chat/resume", json={**body, "answers": {question["pause_id"]: {"amount": 0}}}
        )
        assert _code(wrong) == (422, "validation_error")
        answers = {question["pause_id"]: {"amount": 7}}
        resumed = api.post("/chat/resume", **body, answers=answers)
        assert Screen().take([*paused, *resumed]).text == "You gave 7."


def test_nobody_is_signed_in_where_there_is_no_sign_in(tmp_path: Path):
    with InThread(tmp_path / "data", "tests.server.member_graph:member") as server:
        api = server.api().be_member()
        conversation_id = asked(api, "sign-in")[0].data["conversation_id"]
        refused = api.http.post("/chat/resume", json={"conversation_id": conversation_id})
        assert _code(refused) == (403, "resume_unavailable")


# Hints


def test_hints_reach_the_graph_and_are_stored_nowhere(tmp_path: Path):
    hints = {"locale": "es", "timezone": "America/Lima", "rerank": False}
    with Members(tmp_path / "data") as server:
        api = server.api()
        frames = asked(api, "plain", client=hints)
        assert member_graph.ledger == ["America/Lima False es None"]
        opened = frames[0].data
        turn = api.turn(opened["conversation_id"], opened["message_id"])
        assert turn["locale"] == "es"
    stored = b"".join(each.read_bytes() for each in (tmp_path / "data").iterdir())
    assert b"Lima" not in stored


def test_the_address_of_a_document_is_in_citations_live_and_told_again_and_nowhere_else(
    tmp_path: Path,
):
    base = "https://docs.example.org/leaflets"
    with Members(tmp_path / "data", document_base_url=base) as server:
        api = server.api()
        frames = asked(api, "searches")
        again = told_again(api, frames)
    cited = [each.data for each in frames if each.event == "citation"]
    assert [each["url"] for each in cited] == [f"{base}/{each['document_id']}" for each in cited]
    assert cited
    assert again == frames
    stored = b"".join(each.read_bytes() for each in (tmp_path / "data").iterdir())
    assert b"docs.example.org" not in stored


def test_without_hints_the_graph_is_told_of_none(members: Members):
    asked(members.api(), "plain", headers={"Accept-Language": "de"})

    assert member_graph.ledger == ["None None de None"]


def test_in_production_nobody_may_pass_over_the_reranker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TURNWIRE_ENVIRONMENT", "production")
    with Members(tmp_path / "data", environment="production") as server:
        asked(server.api(), "plain", client={"rerank": False, "timezone": "UTC"})

    assert member_graph.ledger == ["UTC None en None"]


def longest_first() -> Reranker:
    """Return a reranker, for ``TURNWIRE_RERANKER``."""

    def rerank(_query: str, texts: Sequence[str], /) -> Sequence[float]:
        return [float(len(each)) for each in texts]

    return rerank


def test_the_funnel_tells_what_became_of_the_hint(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
):
    question = "How many glasses of water should I have each day?"
    reranker = f"{__name__}:longest_first"
    data_dir = with_index(tmp_path_factory, tmp_path / "data")
    with Process(data_dir, None, reranker=reranker) as server:
        told = {
            hint: _funnel(asked(server.api(), question, client={"rerank": hint}))
            for hint in (None, True, False)
        }
    assert {hint: (e["rerank"], e.get("rerank_hint")) for hint, e in told.items()} == {
        None: ("ok", None),
        True: ("ok", True),
        False: ("skipped_by_client", False),
    }


def _funnel(frames: list[Frame]) -> dict[str, Any]:
    searches: Any = card(frames, "retrieval.completed")["searches"]
    return searches[0]["funnel"]


# Silence, leaving, dying


def test_events_that_are_not_for_members_do_not_hold_the_heartbeat_up(members: Members):
    with members.api().ask("thinks") as reader:
        frames = reader.rest()

    assert [each.event for each in frames][-2:] == ["token.delta", "message.completed"]
    assert len(reader.comments) >= 4, "one each 0.2 s of 1.5 s"
    assert b"hm" not in reader.raw


def test_a_stopped_turn_ends_as_cancelled_and_the_conversation_goes_on(members: Members):
    api = members.api()
    for kind in ("slow", "slow-tool"):
        with api.ask(kind) as reader:
            opened = reader.next()
            reader.until("token.delta" if kind == "slow" else "tool.started")
            conversation_id = opened.data["conversation_id"]
            stopped = api.http.post(f"/conversations/{conversation_id}/cancel").json()
            rest = reader.rest()
        assert stopped["cancelled"] is True
        assert rest[-1].data["finish_reason"] == "cancelled"
        assert stopped["turn"]["partial"] is True
        again = told_again(api, [opened])
        check_order(again)
        assert Screen().take(again).text == stopped["turn"]["content"]
        assert api.http.post(f"/conversations/{conversation_id}/cancel").json() == {
            "cancelled": False
        }
        followed = asked(api, "plain", conversation_id=conversation_id)
        assert Screen().take(followed).text == "Rest for two days."


def test_a_client_that_leaves_has_its_turn_cancelled_after_the_grace(tmp_path: Path):
    with Members(tmp_path / "data", disconnect_grace_seconds=0.3) as server:
        api = server.api()
        with api.ask("slow") as reader:
            opened = reader.next()
            reader.until("token.delta")
        conversation_id = opened.data["conversation_id"]
        turn = api.turn(conversation_id, opened.turn_id)
        assert turn["status"] == "running", "the grace"
        (turn,) = eventually(lambda: _completed(api, conversation_id))
        assert (turn["finish_reason"], turn["partial"]) == ("cancelled", True)
        assert turn["content"].startswith("w0 ")


def test_who_attaches_within_the_grace_keeps_the_turn(tmp_path: Path):
    with Members(tmp_path / "data", disconnect_grace_seconds=1) as server:
        api = server.api()
        with api.ask("slow") as reader:
            opened = reader.next()
            heard = reader.until("token.delta")
        conversation_id = opened.data["conversation_id"]
        with api.message(conversation_id, opened.turn_id, after=heard.id) as again:
            began = time.monotonic()
            while time.monotonic() - began < 1.5:
                assert again.next().event == "token.delta"
            api.http.post(f"/conversations/{conversation_id}/cancel")


def _stored(data_dir: Path, turn_id: str) -> int:
    """Return the number of the turn's last event that would outlive the process."""
    with closing(sqlite3.connect(data_dir / "turnwire.db")) as db:
        last = db.execute("SELECT max(last_seq) FROM events WHERE turn_id = ?", (turn_id,))
        return last.fetchone()[0] or 0


def test_a_turn_whose_process_is_killed_is_told_as_interrupted(tmp_path: Path):
    with Process(tmp_path / "data", "tests.server.member_graph:member") as server:
        key = server.key("chat")
        api = server.api(key=key).be_member()
        with api.ask("slow") as reader:
            opened = reader.next()
            said = reader.until("token.delta")
            eventually(lambda: _stored(tmp_path / "data", opened.turn_id) >= said.seq)
            server.kill()
            with pytest.raises(httpx.HTTPError):
                reader.rest()
    with Process(tmp_path / "data", "tests.server.member_graph:member") as server:
        again = told_again(server.api(key=key).be(api), [opened])
    check_order(again)
    assert again[-1].data["code"] == "stream_interrupted"
    assert Screen().take(again).text.startswith("w0 ")


def test_a_stream_that_breaks_in_the_server_says_so_in_its_last_frame(
    members: Members, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    say = Answer.say

    def broken(self: Answer, envelope: Envelope, /) -> Any:  # noqa: ANN401
        if envelope.event.type == "text.delta":
            raise RuntimeError("CANARY-7f3a")
        return say(self, envelope)

    monkeypatch.setattr(Answer, "say", broken)
    frames = asked(members.api(), "plain")

    assert [each.event for each in frames] == ["message.started", "error"]
    assert frames[-1].data["code"] == "stream_interrupted"
    assert "CANARY" not in str(frames)
    told = [each for each in caplog.records if "stream broke" in each.getMessage()]
    assert [getattr(each, "error_id", "") for each in told] == [frames[-1].data["error_id"]]


def test_a_node_that_raises_ends_the_stream_with_a_safe_text(members: Members):
    frames = asked(members.api(), "raise")

    assert frames[-1].data["code"] == "agent_error"
    assert "CANARY" not in str(frames)


HOW_IT_STANDS = ("plain", "raise", "slow", "confirm", "sign-in", "input")
"""A question for each way a message may stand: whole, failed, cancelled, and three pauses."""


def _stood(api: Api, question: str) -> list[Frame]:
    with api.ask(question) as reader:
        opened = reader.next()
        if question == "slow":
            reader.until("token.delta")
            api.http.post(f"/conversations/{opened.data['conversation_id']}/cancel")
        reader.rest()
    return told_again(api, [opened])


def test_a_message_is_told_to_its_end_at_once_from_anywhere_also_after_a_restart(tmp_path: Path):
    with Members(tmp_path / "data") as server:
        first = server.api()
        key, header = server.key("chat", "review"), first.http.headers["X-Turnwire-Session"]
        told = {question: _stood(first, question) for question in HOW_IT_STANDS}
        _told_from_anywhere(first, told)
    with Members(tmp_path / "data") as server:
        later = Api(server.url, key)
        later.http.headers["X-Turnwire-Session"] = header
        _told_from_anywhere(later, told)
        later.http.close()


def _told_from_anywhere(api: Api, told: dict[str, list[Frame]]) -> None:
    for frames in told.values():
        for after in (None, frames[0].id, frames[-1].id):
            begun = time.monotonic()
            again = told_again(api, frames, after=after)
            assert time.monotonic() - begun < 1.0
            assert again[-1] == frames[-1]
            if after is None:
                assert again == frames
        opened = frames[0].data
        url = f"/conversations/{opened['conversation_id']}/turns/{opened['message_id']}/events"
        other = "trn_0123456789abcdef01234567.1"
        for bad in ("-1", "0", "abc", other, f"{opened['message_id']}.{frames[-1].seq + 1}"):
            refused = api.http.get(f"{url}?wire=answer", headers={"Last-Event-ID": bad})
            assert _code(refused) == (422, "validation_error"), bad


def test_whose_turn_it_is_not_may_not_follow_it(members: Members):
    api = members.api()
    frames = asked(api, "plain")
    opened = frames[0].data
    url = f"/conversations/{opened['conversation_id']}/turns/{opened['message_id']}/events"

    assert _code(members.stranger().http.get(f"{url}?wire=answer")) == (404, "not_found")
    assert _code(api.http.get(f"{url}?wire=other")) == (422, "validation_error")
