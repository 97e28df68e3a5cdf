"""Agents from specs over HTTP: chosen by name, put by staff, approved by owner or reviewer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents.studio.stage import ORDER, shipped
from tests.faults.membership import DemoPortal, portal_at, settings_for
from tests.server.confirming import audit
from tests.server.running import Api, InThread
from tests.server.shipped import with_index

RELEASE = f"Please release purchase order {ORDER}"
STAFF = ("chat", "review", "studio")


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoPortal]:
    with portal_at(tmp_path_factory.mktemp("portal")) as portal:
        yield portal


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, portal: DemoPortal) -> Iterator[InThread]:
    data_dir = with_index(tmp_path_factory, tmp_path_factory.mktemp("studio"))
    with InThread(data_dir, None, **settings_for(portal)) as server:
        yield server


@pytest.fixture
def staff(server: InThread) -> Api:
    return server.api(*STAFF)


@pytest.fixture(autouse=True)
def nothing_released(portal: DemoPortal) -> None:
    portal.forget()


def ask(api: Api, text: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    body = {"messages": [{"role": "user", "content": text}], "agent": "order-desk", **more}
    response = api.http.post("/chat", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def answer(api: Api, paused: dict[str, Any], **value: Any) -> Any:  # noqa: ANN401
    answers = {paused["pauses"][0]["pause_id"]: value}
    return api.resume(thread_id=paused["thread_id"], answers=answers)


def test_the_shipped_agents_answer_without_a_provider(staff: Api):
    listed = [each["slug"] for each in staff.http.get("/agents").json()["agents"]]
    assert {"order-desk", "support-triage", "architect"} <= set(listed)
    told = ask(staff, "Show me the suppliers")
    assert "Suministros Vega" in told["content"]
    triage = ask(staff, "How do I put a limit on a member?", agent="support-triage")
    assert triage["finish_reason"] == "stop"
    assert triage["citations"]


def test_who_is_no_staff_has_no_order_desk(server: InThread):
    caller = server.api("chat")
    body = {"messages": [{"role": "user", "content": "x"}], "agent": "order-desk"}
    assert caller.http.post("/chat", json=body).status_code == 404
    assert caller.http.get("/agents/order-desk").status_code == 404
    assert caller.http.get("/agents/support-triage").status_code == 200
    assert caller.http.get("/studio/agents/order-desk").status_code == 403


def test_an_approval_is_answered_once_and_audited(staff: Api, server: InThread, portal: DemoPortal):
    paused = ask(staff, RELEASE)
    assert paused["status"] == "paused_for_approval"
    assert "arguments_hash" not in paused["pauses"][0]["payload"]
    edited = {"approved": True, "edited_params": {"order": "4500001043"}}
    bad = answer(staff, paused, approved=True, edited_params={"order": "x"})
    assert (bad.status_code, portal.acted()) == (422, [])
    done = answer(staff, paused, **edited)
    assert (done.status_code, done.json()["finish_reason"]) == (200, "stop")
    [released] = portal.acted()
    assert released["body"] == {"order": "4500001043"}
    assert answer(staff, paused, **edited).status_code == 409
    assert len(portal.acted()) == 1
    pause = paused["pauses"][0]["pause_id"]
    steps = [e["result"] for e in audit(server.data_dir) if e["confirmation_id"] == pause]
    assert steps == ["proposed", "approved", "started", "ok"]


def test_an_approval_waits_in_the_review_queue_and_can_be_rejected_there(
    staff: Api, portal: DemoPortal
):
    paused = ask(staff, "Please release purchase order 4500001045")
    [waiting] = [
        each
        for each in staff.http.get("/reviews").json()["approvals"]
        if each["thread_id"] == paused["thread_id"]
    ]
    assert waiting["payload"]["action"] == "release_purchase_order"
    body = {"thread_id": paused["thread_id"], "review_id": waiting["pause_id"]}
    edit = staff.resume(**body, decision="edit", edited_text="x")
    assert edit.status_code == 422
    rejected = staff.resume(**body, decision="reject")
    assert rejected.json()["finish_reason"] == "declined"
    assert portal.acted() == []


def test_an_approval_is_nobody_elses_to_answer(server: InThread, staff: Api, portal: DemoPortal):
    paused = ask(staff, "Please release purchase order 4500001045")
    stranger = server.stranger("chat", "studio")
    assert answer(stranger, paused, approved=True).status_code == 403
    assert portal.acted() == []
    answer(staff, paused, approved=False)


def test_a_spec_is_put_and_rolled_back_while_a_turn_waits_with_its_own(
    staff: Api, portal: DemoPortal
):
    text = shipped("order-desk").replace("slug: order-desk", "slug: second-desk")
    put = staff.http.put("/studio/agents/second-desk", json={"spec": text})
    assert put.json()["version"] == "1"
    paused = ask(staff, "Please release purchase order 4500001045", agent="second-desk")
    changed = text.replace("The order was not released.", "Nothing happened at all.")
    assert staff.http.put("/studio/agents/second-desk", json={"spec": changed}).status_code == 200
    rejected = answer(staff, paused, approved=False).json()
    assert rejected["content"].startswith("The order was not released.")
    again = ask(staff, "Please release purchase order 4500001045", agent="second-desk")
    assert answer(staff, again, approved=False).json()["content"].startswith("Nothing happened")
    back = staff.http.put("/studio/agents/second-desk", json={"version": "1"}).json()
    assert (back["version"], back["phase"]) == ("3", "published")
    kept = staff.http.get("/studio/agents/second-desk").json()
    assert (kept["version"], kept["spec"], len(kept["versions"])) == ("3", text, 3)
    assert portal.acted() == []


def test_a_spec_that_cannot_be_used_is_refused_with_its_line(staff: Api):
    text = shipped("order-desk").replace("type: thinker", "type: wizard")
    refused = staff.http.put("/studio/agents/order-desk", json={"spec": text})
    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (422, "agent_invalid")
    [detail] = error["details"]
    assert detail["path"].startswith("order-desk.yaml:")
    assert "no node type 'wizard'" in detail["reason"]
    for body in ({}, {"spec": text, "version": "1"}, {"version": "../x"}):
        assert staff.http.put("/studio/agents/order-desk", json=body).status_code == 422
    assert staff.http.get("/studio/agents/none").status_code == 404


def test_the_architect_ends_with_a_draft_only_after_an_approval(staff: Api):
    told = ask(staff, "I would like a new agent", agent="architect")
    thread = told["thread_id"]
    replies = ["Fever helper", "Answer questions about fever", "the health leaflets", "Kind"]
    for reply in replies:
        assert told["status"] == "complete", told
        told = ask(staff, reply, agent="architect", thread_id=thread)
    assert told["status"] == "paused_for_approval"
    assert staff.http.get("/studio/agents/fever-helper").status_code == 404
    done = answer(staff, told, approved=True).json()
    assert "fever-helper" in done["content"]
    kept = staff.http.get("/studio/agents/fever-helper").json()
    assert [each["phase"] for each in kept["versions"]] == ["draft"]
    body = {"messages": [{"role": "user", "content": "x"}], "agent": "fever-helper"}
    assert staff.http.post("/chat", json=body).status_code == 404
    published = staff.http.put("/studio/agents/fever-helper", json={"version": "1"})
    assert published.status_code == 200
    answered = ask(staff, "When is a temperature a fever?", agent="fever-helper")
    assert answered["citations"]


def test_an_approval_survives_a_restart(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, portal: DemoPortal
):
    data_dir = with_index(tmp_path_factory, tmp_path / "kept")
    with InThread(data_dir, None, **settings_for(portal)) as first:
        key = first.key(*STAFF)
        paused = ask(first.api(key=key), "Please release purchase order 4500001045")
    with InThread(data_dir, None, **settings_for(portal)) as second:
        done = answer(second.api(key=key), paused, approved=True)
        assert done.json()["finish_reason"] == "stop"
    assert [each["body"]["order"] for each in portal.acted()] == ["4500001045"]
