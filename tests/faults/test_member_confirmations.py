"""The member agent's questions: answered once, too late, not at all, or by something else."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from tests.faults.membership import (
    DemoPortal,
    Impatient,
    Membership,
    ask,
    cards,
    conversation,
    decide,
    finish,
    member,
    names,
    said,
)
from tests.server.answering import card, told_again
from tests.server.confirming import audit, steps
from tests.server.reading import Frame
from tests.server.running import Api
from tests.wires.order import check_order

CALLBACK = "Please call me back about my claim"
BOTH = "Call me back about my bill and change my address to 9 Oak Street, Hull, HU1 1AA, UK"
PLAN = "Which plan am I on?"


def _late(api: Api, confirmation_id: str, asked: list[Frame], **more: str) -> tuple[int, str]:
    """Answer a confirmation that can't be answered; return how that was refused."""
    body = {"conversation_id": conversation(asked), "confirmation_id": confirmation_id}
    answer = api.http.post("/chat/confirm", json={**body, "decision": "approve", **more})
    return answer.status_code, answer.json()["error"]["code"]


UNAVAILABLE = (403, "confirmation_unavailable")


def test_an_expired_question_is_no_rejection_does_nothing_and_is_in_nobodys_way(
    impatient: Impatient, portal: DemoPortal
):
    api = member(impatient)
    frames = ask(api, CALLBACK)
    named = cards(frames)["request_callback"]
    time.sleep(impatient.seconds)
    assert _late(api, named, frames) == UNAVAILABLE
    assert _late(api, named, frames, decision="reject") == UNAVAILABLE
    again = told_again(api, frames)
    check_order(again)
    assert again == frames
    assert api.http.get(f"/conversations/{conversation(frames)}/pauses").json() == {"pauses": []}
    assert portal.acted() == []
    assert steps(impatient.data_dir, named) == ["proposed", "expired"]
    follows = ask(api, PLAN, conversation_id=conversation(frames))
    check_order(follows)
    assert (finish(follows), "Family" in said(follows)) == ("stop", True)
    assert "will call you" not in said(follows)
    assert steps(impatient.data_dir, named) == ["proposed", "expired"]
    assert portal.acted() == []


def test_each_tool_has_its_own_time_to_answer(impatient: Impatient, portal: DemoPortal):
    api = member(impatient)
    frames = ask(api, BOTH)
    time.sleep(impatient.seconds)
    assert _late(api, cards(frames)["request_callback"], frames) == UNAVAILABLE
    moved = decide(api, frames, tool="change_address")
    assert [each["kind"] for each in portal.acted()] == ["address_change"]
    ended = {e.data["confirmation_id"]: e.data for e in moved if e.event == "action.completed"}
    assert ended[cards(frames)["change_address"]]["status"] == "ok"
    assert finish(moved) == "stop", "the turn waits for nothing that nobody can answer"


def test_an_action_that_expired_beside_an_approved_one_is_told_in_its_fixed_text(
    impatient: Impatient, portal: DemoPortal
):
    api = member(impatient)
    frames = ask(api, BOTH)
    named = cards(frames)["request_callback"]
    time.sleep(impatient.seconds)
    moved = decide(api, frames, tool="change_address")
    check_order(moved)
    assert finish(moved) == "stop"
    assert "The time for your confirmation has passed, so nothing was done." in said(moved)
    [late] = [
        each.data
        for each in moved
        if each.event == "action.completed" and each.data["confirmation_id"] == named
    ]
    assert (late["status"], late["decision"]) == ("error", "reject")
    assert [each["kind"] for each in portal.acted()] == ["address_change"]
    assert steps(impatient.data_dir, named) == ["proposed", "expired"]
    assert told_again(api, frames)[-len(moved) + 1 :] == moved[1:]


def test_of_two_hundred_answers_at_once_one_acts(server: Membership, portal: DemoPortal):
    api = member(server)
    frames = ask(api, CALLBACK)
    named = cards(frames)["request_callback"]
    body = {"conversation_id": conversation(frames), "confirmation_id": named}
    limits = httpx.Limits(max_connections=200)
    headers = dict(api.http.headers)
    with (
        httpx.Client(base_url=server.url, headers=headers, timeout=60, limits=limits) as http,
        ThreadPoolExecutor(200) as pool,
    ):

        def confirm(_: int) -> httpx.Response:
            return http.post("/chat/confirm", json={**body, "decision": "approve"})

        answers = list(pool.map(confirm, range(200)))
    assert Counter(each.status_code for each in answers) == {200: 1, 403: 199}
    [done] = portal.acted()
    assert done["kind"] == "callback"
    assert steps(server.data_dir, named) == ["proposed", "approved", "started", "ok"]
    again = told_again(api, frames)
    check_order(again)
    assert said(again).count(done["answer"]["callback_id"]) == 1
    assert len(_receipts(server.data_dir, done["answer"]["callback_id"])) == 1


def _receipts(data_dir: Path, receipt: str) -> list[dict[str, str]]:
    return [each for each in audit(data_dir) if each["receipt"] == receipt]


def test_an_old_answer_is_none_to_the_same_question_asked_again(
    server: Membership, portal: DemoPortal
):
    api = member(server)
    old = ask(api, CALLBACK)
    new = ask(api, CALLBACK, conversation_id=conversation(old))
    named = cards(old)["request_callback"]
    assert _late(api, named, old) == UNAVAILABLE
    assert portal.acted() == []
    assert steps(server.data_dir, named) == ["proposed", "dropped"]
    assert finish(decide(api, new)) == "stop"
    assert len(portal.acted()) == 1


def test_nobody_else_answers_reads_or_joins_it(server: Membership, portal: DemoPortal):
    api, other = member(server), member(server)
    frames = ask(api, CALLBACK)
    at = conversation(frames)
    assert _late(other, cards(frames)["request_callback"], frames) == UNAVAILABLE
    turn = f"/conversations/{at}/turns/{frames[0].turn_id}"
    for path in (f"/conversations/{at}", f"/conversations/{at}/pauses", turn, f"{turn}/events"):
        assert other.http.get(path).status_code == 404, path
    asked = {"message": PLAN, "conversation_id": at, "agent": "member"}
    assert other.http.post("/chat/stream", json=asked).status_code == 404
    resumed = other.http.post("/chat/resume", json={"conversation_id": at})
    assert resumed.json()["error"]["code"] == "resume_unavailable"
    assert other.http.post(f"/conversations/{at}/cancel").status_code == 404
    assert portal.acted() == []
    assert finish(decide(api, frames)) == "stop", "and its owner still can"


def test_what_waits_is_told_to_its_owner_and_nobody_hears_the_hash(
    server: Membership, portal: DemoPortal
):
    api = member(server)
    frames = ask(api, BOTH)
    path = f"/conversations/{conversation(frames)}/pauses"
    told = api.http.get(path).json()["pauses"]
    shown = [e.data for e in frames if e.event == "action.confirmation_required"]
    about = {"kind": "confirmation", "turn_id": frames[0].turn_id}
    assert told == [{**each, **about} for each in shown]
    assert "arguments_hash" not in str(told)
    decide(api, frames, "reject", "change_address")
    assert [each["name"] for each in api.http.get(path).json()["pauses"]] == ["request_callback"]


def test_a_sign_in_that_waits_is_told_and_goes_with_a_new_message(
    server: Membership, portal: DemoPortal
):
    api = member(server, signed_in=False)
    frames = ask(api, PLAN)
    at = conversation(frames)
    [waits] = api.http.get(f"/conversations/{at}/pauses").json()["pauses"]
    assert waits == {
        **card(frames, "auth.required"),
        "kind": "sign_in",
        "turn_id": frames[0].turn_id,
    }
    ask(api, "What is a waiting period?", conversation_id=at)
    assert api.http.get(f"/conversations/{at}/pauses").json() == {"pauses": []}
    turns = api.http.get(f"/conversations/{at}").json()["turns"]
    assert sorted(each["content"] == said(frames) for each in turns) == [False, True]
    resumed = api.http.post("/chat/resume", json={"conversation_id": at})
    assert resumed.json()["error"]["code"] == "resume_unavailable"


def test_a_channel_of_text_has_no_card_and_does_not_wait(server: Membership, portal: DemoPortal):
    frames = ask(member(server, signed_in=False), PLAN, channel="text")
    assert names(frames) == ["message.started", "token.delta", "message.completed"]
    assert finish(frames) == "sign_in_required"
    assert "sign in through the app" in said(frames)
    acting = ask(member(server, signed_in=False), CALLBACK, channel="text")
    assert finish(acting) == "sign_in_required"
    assert "sign in through the app" in said(acting)
    assert portal.acted() == []
