"""An action happens once, on its own member's word, and what is told of it is what happened."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import httpx
import pytest

from tests.server import acting_graph
from tests.server.acting_graph import SHORT
from tests.server.answering import Members, asked, told_again
from tests.server.confirming import GRAPH, Waiting, audit, ended, propose, steps
from tests.server.member_graph import SignIns
from tests.server.reading import Frame
from tests.server.running import PATIENCE, InThread, eventually
from tests.server.upstream import Upstream


class Acting(Members):
    def __init__(self, data_dir: Path, **settings: object) -> None:
        InThread.__init__(self, data_dir, GRAPH, **settings)
        self.sign_ins = SignIns()


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Acting]:
    with Acting(tmp_path_factory.mktemp("acting"), max_turns=5000) as server:
        yield server


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as centre:
        yield centre


def _code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def _said(frames: list[Frame]) -> str:
    return "".join(each.data["text"] for each in frames if each.event == "token.delta")


def test_several_actions_have_their_own_ids_and_are_answered_in_any_order(
    members: Acting, upstream: Upstream
):
    waiting = propose(members.api(), upstream.url, "one", "two", "three")
    assert len(set(waiting.ids.values())) == 3
    third = waiting.decided("three")
    assert ended(third) == [(waiting.ids["three"], "ok", None)]
    assert third[-1].data["finish_reason"] == "awaiting_confirmation"
    assert Waiting(waiting.api, [waiting.frames[0], *third]).ids == {
        name: waiting.ids[name] for name in ("one", "two")
    }
    first = waiting.decided("one", "reject", feedback="not now")
    assert ended(first) == [(waiting.ids["one"], "rejected", None)]
    last = waiting.decided("two")
    assert ended(last) == [(waiting.ids["two"], "ok", None)]
    assert sorted(upstream.booked) == ["three", "two"]
    assert _said(last) == "one: rejected {'feedback': 'not now'}; three: ok; two: ok"
    assert upstream.asked == Counter({waiting.ids["three"]: 1, waiting.ids["two"]: 1})


def test_an_answer_that_names_no_open_confirmation_answers_none(
    members: Acting, upstream: Upstream
):
    waiting = propose(members.api(), upstream.url, "one", "two")
    refused = [
        waiting.api.http.post(
            "/chat/confirm", json={**waiting.body("one"), "confirmation_id": named}
        )
        for named in ("cnf_0", waiting.ids["one"][:-1], waiting.ids["one"].replace("cnf_", "pse_"))
    ]
    assert {_code(each) for each in refused} == {(403, "confirmation_unavailable")}
    bare = {**waiting.body("one")}
    del bare["confirmation_id"]
    assert _code(waiting.api.http.post("/chat/confirm", json=bare)) == (422, "validation_error")
    assert upstream.booked == []


def test_an_old_approval_never_answers_a_newer_request(members: Acting, upstream: Upstream):
    api = members.api()
    old = propose(api, upstream.url, "the same")
    new = propose(api, upstream.url, "the same", conversation_id=old.conversation_id)
    assert old.ids != new.ids
    assert _code(old.decide("the same")) == (403, "confirmation_unavailable")
    assert upstream.booked == []
    assert steps(members.data_dir, old.ids["the same"]) == ["proposed", "dropped"]
    new.decided("the same")
    assert _code(new.decide("the same")) == (403, "confirmation_unavailable")
    assert upstream.booked == ["the same"]


def test_a_confirmation_waits_on_while_another_one_is_acted_upon(
    members: Acting, upstream: Upstream
):
    waiting = propose(members.api(), upstream.url, "slow", "two")
    with ThreadPoolExecutor(1) as pool:
        acting = pool.submit(waiting.decided, "slow")
        eventually(upstream.arrived.is_set)
        early = waiting.decide("two")
        assert _code(early) == (409, "turn_in_progress")
        assert early.json()["error"]["retryable"] is True
        acting.result()
    assert ended(waiting.decided("two")) == [(waiting.ids["two"], "ok", None)]


def test_of_two_hundred_answers_at_once_one_acts(members: Acting, upstream: Upstream):
    waiting = propose(members.api(), upstream.url, "a bill")
    body = waiting.body("a bill")
    headers = dict(waiting.api.http.headers)
    limits = httpx.Limits(max_connections=200)
    with (
        httpx.Client(base_url=members.url, headers=headers, timeout=60, limits=limits) as http,
        ThreadPoolExecutor(200) as pool,
    ):

        def confirm(_: int) -> httpx.Response:
            return http.post("/chat/confirm", json=body)

        answers = list(pool.map(confirm, range(200)))
    assert Counter(each.status_code for each in answers) == {200: 1, 403: 199}
    assert upstream.booked == ["a bill"]
    told = {_code(each) for each in answers if each.status_code == 403}
    assert told == {(403, "confirmation_unavailable")}
    assert steps(members.data_dir, body["confirmation_id"]) == [
        "proposed",
        "approved",
        "started",
        "ok",
    ]


def test_of_an_approval_and_a_rejection_at_once_one_stands_and_both_are_told(
    members: Acting, upstream: Upstream
):
    for number in range(8):
        reason = f"race {number}"
        waiting = propose(members.api(), upstream.url, reason)
        with ThreadPoolExecutor(2) as pool:
            yes = pool.submit(waiting.decide, reason, "approve")
            no = pool.submit(waiting.decide, reason, "reject")
        told = yes.result().status_code, no.result().status_code
        assert sorted(told) == [200, 403]
        approved = told[0] == 200
        assert (reason in upstream.booked) == approved
        assert steps(members.data_dir, waiting.ids[reason])[1] == (
            "approved" if approved else "rejected"
        )


def test_an_approval_that_comes_too_late_is_refused_and_told_apart_from_a_no(
    members: Acting, upstream: Upstream
):
    late = propose(members.api(), upstream.url, "late", tool="soon_call")
    no = propose(members.api(), upstream.url, "no", tool="soon_call")
    time.sleep(SHORT + 0.05)
    assert _code(late.decide("late")) == (403, "confirmation_unavailable")
    assert _code(no.decide("no", "reject")) == (403, "confirmation_unavailable")
    assert upstream.booked == []
    assert steps(members.data_dir, late.ids["late"]) == ["proposed", "expired"]
    assert steps(members.data_dir, no.ids["no"]) == ["proposed", "rejected"]


def test_an_action_that_expired_beside_an_answered_one_is_told_as_not_done_and_the_turn_ends(
    members: Acting, upstream: Upstream
):
    waiting = propose(members.api(), upstream.url, "late @ soon_call", "one", "two")
    time.sleep(SHORT)
    first = waiting.decided("one")
    expired = "The time to confirm this has passed, and it was not done."
    assert sorted(ended(first)) == sorted(
        [(waiting.ids["late"], "error", expired), (waiting.ids["one"], "ok", None)]
    )
    assert first[-1].data["finish_reason"] == "awaiting_confirmation"
    assert list(Waiting(waiting.api, [waiting.frames[0], *first]).ids) == ["two"]
    last = waiting.decided("two", "reject")
    assert ended(last) == [(waiting.ids["two"], "rejected", None)]
    assert last[-1].data["finish_reason"] == "stop"
    assert _said(last) == f"late: expired {expired}; one: ok; two: rejected {{'feedback': None}}"
    assert upstream.booked == ["one"]
    assert steps(members.data_dir, waiting.ids["late"]) == ["proposed", "expired"]
    assert _code(waiting.decide("late")) == (403, "confirmation_unavailable")
    again = told_again(waiting.api, waiting.frames)
    assert ended(again) == [*ended(first), *ended(last)]


def test_a_no_beside_an_expired_action_ends_the_turn_too(members: Acting, upstream: Upstream):
    waiting = propose(members.api(), upstream.url, "late @ soon_call", "one")
    time.sleep(SHORT)
    frames = waiting.decided("one", "reject")
    assert frames[-1].data["finish_reason"] == "stop"
    assert {status for _, status, _ in ended(frames)} == {"error", "rejected"}
    assert upstream.booked == []
    path = f"/conversations/{waiting.conversation_id}"
    assert waiting.api.http.get(f"{path}/pauses").json() == {"pauses": []}


def test_at_the_deadline_what_is_told_and_what_ran_agree(members: Acting, upstream: Upstream):
    def answer(number: int) -> tuple[str, int, str]:
        reason = f"edge {number}"
        waiting = propose(members.api(), upstream.url, reason, tool="soon_call")
        [card] = [e.data for e in waiting.frames if e.event == "action.confirmation_required"]
        expires = _seconds(card["expires_at"])
        time.sleep(max(0.0, expires - time.time() + (number % 41 - 20) / 1000))  # noqa: TID251
        return reason, waiting.decide(reason).status_code, card["confirmation_id"]

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(answer, range(300)))
    told = Counter(status for _, status, _ in answers)
    assert set(told) == {200, 403}, told
    assert sorted(upstream.booked) == sorted(
        reason for reason, status, _ in answers if status == 200
    )
    results = {
        each["confirmation_id"]: each["result"]
        for each in audit(members.data_dir, "--tool", "soon_call")
        if each["step"] == "decision"
    }
    for _, status, named in answers:
        assert results[named] == ("approved" if status == 200 else "expired")


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    ("reason", "tool", "status", "requests", "booked", "result"),
    [
        ("slow", "book_call", "ok", 1, 1, "ok"),
        ("500", "book_call", "error", 1, 0, "unknown"),
        ("500-after", "book_call", "error", 1, 1, "unknown"),
        ("silent", "book_call", "error", 1, 1, "unknown"),
        ("once-silent", "book_call", "error", 1, 1, "unknown"),
        ("once-silent", "safe_call", "ok", 2, 1, "ok"),
        ("silent", "safe_call", "error", 2, 1, "unknown"),
        ("500-after", "safe_call", "error", 2, 1, "unknown"),
    ],
)
def test_whatever_the_upstream_does_nothing_is_done_twice_or_told_untruly(
    members: Acting,
    upstream: Upstream,
    reason: str,
    tool: str,
    status: str,
    requests: int,
    booked: int,
    result: str,
):
    waiting = propose(members.api(), upstream.url, reason, tool=tool)
    frames = waiting.decided(reason)
    [(named, told, error)] = ended(frames)
    assert told == status
    assert (error or "").startswith("We could not find out" if status == "error" else "")
    assert (upstream.asked[named], len(upstream.booked)) == (requests, booked)
    assert steps(members.data_dir, named)[-1] == result
    assert "CANARY" not in json.dumps([each.data for each in frames])


def test_an_upstream_that_is_not_there_is_told_as_not_done(members: Acting):
    waiting = propose(members.api(), "http://127.0.0.1:9", "a bill")
    frames = waiting.decided("a bill")
    assert ended(frames) == [(waiting.ids["a bill"], "error", "The line is down.")]
    assert steps(members.data_dir, waiting.ids["a bill"])[-1] == "tool_failed"


def test_the_receipt_and_the_member_are_in_the_audit_and_no_words(
    members: Acting, upstream: Upstream
):
    waiting = propose(members.api(), upstream.url, "CANARY-reason")
    waiting.decided("CANARY-reason", feedback="CANARY-feedback")
    found = audit(members.data_dir, "--conversation", waiting.conversation_id)
    assert [each["result"] for each in found] == ["proposed", "approved", "started", "ok"]
    assert found[-1]["receipt"] == "cb_1"
    assert found[1]["decided_by"] == found[1]["principal"]
    assert found[1]["principal"].startswith("member:")
    assert "CANARY" not in json.dumps(found)
    assert audit(members.data_dir, "--member", found[1]["principal"]) == found


def test_a_client_that_leaves_after_approving_undoes_nothing(tmp_path: Path, upstream: Upstream):
    with Acting(tmp_path / "data", disconnect_grace_seconds=0) as server:
        waiting = propose(server.api(), upstream.url, "slow")
        with waiting.api.http.stream("POST", "/chat/confirm", json=waiting.body("slow")) as reply:
            next(reply.iter_raw())
        eventually(lambda: steps(server.data_dir, waiting.ids["slow"])[-1] == "ok")
    assert upstream.booked == ["slow"]


def test_a_turn_that_is_cancelled_in_an_action_first_tells_its_end(
    members: Acting, upstream: Upstream
):
    waiting = propose(members.api(), upstream.url, "slow")
    api = waiting.api
    with ThreadPoolExecutor(1) as pool:
        frames = pool.submit(waiting.decided, "slow")
        eventually(upstream.arrived.is_set)
        api.http.post(f"/conversations/{waiting.conversation_id}/cancel")
        told = frames.result()
    assert ended(told) == [(waiting.ids["slow"], "ok", None)]
    assert [each.data["status"] for each in told if each.event == "tool.completed"] == ["ok"]
    assert told[-1].data["finish_reason"] in ("cancelled", "stop")
    again = told_again(api, waiting.frames)
    assert ended(again) == ended(told)


@pytest.mark.parametrize("stop", ["cancel", "erase"])
def test_an_approved_action_that_is_stopped_before_it_begins_is_told_as_not_run_at_once(
    members: Acting, upstream: Upstream, stop: str
):
    waiting = propose(members.api(), upstream.url, "stall")
    acting_graph.stalled.clear()
    path = f"/conversations/{waiting.conversation_id}"
    with ThreadPoolExecutor(1) as pool:
        frames = pool.submit(waiting.decided, "stall")
        assert acting_graph.stalled.wait(PATIENCE)
        assert steps(members.data_dir, waiting.ids["stall"]) == ["proposed", "approved"]
        if stop == "cancel":
            waiting.api.http.post(f"{path}/cancel").raise_for_status()
        else:
            waiting.api.http.delete(path).raise_for_status()
        assert frames.result()[-1].data["finish_reason"] == "cancelled"
    assert steps(members.data_dir, waiting.ids["stall"]) == ["proposed", "approved", "not_run"]
    assert upstream.booked == []


def test_an_approved_action_whose_turn_fails_before_it_begins_is_told_as_not_run_at_once(
    members: Acting, upstream: Upstream
):
    waiting = propose(members.api(), upstream.url, "break")
    assert waiting.decided("break")[-1].data["code"] == "agent_error"
    assert steps(members.data_dir, waiting.ids["break"]) == ["proposed", "approved", "not_run"]
    assert upstream.booked == []


def test_a_server_that_goes_away_waits_for_an_action(tmp_path: Path, upstream: Upstream):
    with Acting(tmp_path / "data", drain_seconds=0.1) as server:
        waiting = propose(server.api(), upstream.url, "slow")
        api = waiting.api
        pool = ThreadPoolExecutor(1)
        frames = pool.submit(api.http.post, "/chat/confirm", json=waiting.body("slow"))
        eventually(upstream.arrived.is_set)
    pool.shutdown(wait=True)
    assert frames.exception() is None or isinstance(frames.exception(), httpx.HTTPError)
    assert upstream.booked == ["slow"]
    assert steps(tmp_path / "data", waiting.ids["slow"])[-1] == "ok"


def test_erasing_a_conversation_leaves_the_audit_without_words(members: Acting, upstream: Upstream):
    waiting = propose(members.api(), upstream.url, "CANARY-reason")
    waiting.decided("CANARY-reason")
    before = audit(members.data_dir, "--conversation", waiting.conversation_id)
    assert waiting.api.http.delete(f"/conversations/{waiting.conversation_id}").status_code == 204
    assert audit(members.data_dir, "--conversation", waiting.conversation_id) == before
    assert len(before) == 4


def test_open_pauses_are_told_to_their_owner_as_their_cards(members: Acting, upstream: Upstream):
    api = members.api()
    waiting = propose(api, upstream.url, "one", "two")
    path = f"/conversations/{waiting.conversation_id}/pauses"
    cards = [e.data for e in waiting.frames if e.event == "action.confirmation_required"]
    told = api.http.get(path).json()["pauses"]
    turn_id = waiting.frames[0].data["message_id"]
    assert told == [{**each, "kind": "confirmation", "turn_id": turn_id} for each in cards]
    waiting.decided("two")
    left = api.http.get(path).json()["pauses"]
    assert [each["confirmation_id"] for each in left] == [waiting.ids["one"]]
    asked(api, f"{upstream.url} | three", conversation_id=waiting.conversation_id)
    [third] = api.http.get(path).json()["pauses"]
    assert third["arguments_preview"]["reason"] == "three"
    foreign = members.api().http.get(path)
    unknown = api.http.get("/conversations/conv_0/pauses")
    assert _code(foreign) == _code(unknown) == (404, "not_found")
    assert foreign.json()["error"]["message"] == unknown.json()["error"]["message"]


def test_an_expired_confirmation_is_no_open_pause(members: Acting, upstream: Upstream):
    waiting = propose(members.api(), upstream.url, "soon", tool="soon_call")
    path = f"/conversations/{waiting.conversation_id}/pauses"
    assert len(waiting.api.http.get(path).json()["pauses"]) == 1
    time.sleep(SHORT)
    assert waiting.api.http.get(path).json() == {"pauses": []}


def test_no_client_hears_the_hash_of_the_arguments(members: Acting, upstream: Upstream):
    api = members.api("chat", "review")
    waiting = propose(api, upstream.url, "one", "two")
    conversation, turn = waiting.conversation_id, waiting.frames[0].data["message_id"]
    [hashed, *_] = {
        each["arguments_hash"] for each in audit(members.data_dir, "--conversation", conversation)
    }
    assert len(hashed) == 64
    with api.events(conversation, turn) as reader:
        execution = reader.rest()
    assert execution[-1].data["pauses"][0]["payload"]["summary"] == "Book a call about: one"
    told = [
        *[each.data for each in (*waiting.frames, *execution, *waiting.decided("one"))],
        api.http.get(f"/conversations/{conversation}/pauses").json(),
        api.http.get(f"/conversations/{conversation}").json(),
        api.http.get(f"/conversations/{conversation}/turns/{turn}").json(),
        api.chat(f"{upstream.url} | x").json(),
    ]
    assert told[-1]["status"] == "paused_for_confirmation"
    written = json.dumps(told)
    assert "arguments_hash" not in written
    assert hashed not in written
