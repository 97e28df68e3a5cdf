"""A portal that is slow, fails, does it twice, says nothing or signs the member out."""

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from tests.faults.membership import (
    CALL,
    DemoPortal,
    Impatient,
    actions,
    ask,
    cards,
    conversation,
    decide,
    finish,
    member,
    said,
    sign_in,
    tools,
)
from tests.server.answering import card, told_again
from tests.server.confirming import steps
from tests.server.running import Api
from tests.wires.order import check_order

CALLBACK = "Please call me back about my claim"
PLAN = "Which plan am I on?"
DONE = "It is arranged: an adviser will call you back."
UNKNOWN = "I do not know whether that was done"


def _fails(status: int, times: int | None, *, after: bool = False, route: str = CALL) -> Any:  # noqa: ANN401
    return {"fail": {route: {"status": status, "times": times, "after_effect": after}}}


@pytest.mark.parametrize(
    ("switches", "status", "happened", "words", "result"),
    [
        pytest.param({"delay_ms": 200}, "ok", 1, DONE, "ok", id="slow"),
        pytest.param(_fails(500, 1), "ok", 1, DONE, "ok", id="500 once"),
        pytest.param(_fails(500, None), "error", 0, UNKNOWN, "unknown", id="500"),
        pytest.param(_fails(500, 1, after=True), "ok", 1, DONE, "ok", id="500 once, done"),
        pytest.param(_fails(500, None, after=True), "error", 1, UNKNOWN, "unknown", id="500, done"),
        pytest.param({"answer": "twice"}, "ok", 1, DONE, "ok", id="twice"),
        pytest.param({"answer": "never"}, "error", 1, UNKNOWN, "unknown", id="never"),
        pytest.param(
            _fails(422, 1), "error", 0, "nothing was done", "tool_failed", id="not accepted"
        ),
        pytest.param(_fails(403, 1), "error", 0, "nothing was done", "tool_failed", id="forbidden"),
    ],
)
def test_whatever_the_portal_does_it_is_done_once_at_most_and_told_as_it_was(
    impatient: Impatient,
    portal: DemoPortal,
    switches: dict[str, Any],
    status: str,
    happened: int,
    words: str,
    result: str,
):
    api = member(impatient)
    frames = ask(api, CALLBACK)
    portal.switch(**switches)
    told = decide(api, frames)
    check_order(told)
    assert actions(told) == [status]
    assert words in said(told)
    assert (DONE in said(told)) == (status == "ok")
    assert finish(told) == "stop"
    again = told_again(api, frames)
    check_order(again)
    assert said(again) == said(told)
    assert steps(impatient.data_dir, cards(frames)["request_callback"])[-1] == result
    assert len(portal.acted()) == happened
    portal.switch()
    assert "Family" in said(ask(api, PLAN, conversation_id=conversation(frames)))


@pytest.mark.parametrize(
    "switches",
    [
        pytest.param(_fails(500, None, route="GET /me/plan"), id="500"),
        pytest.param({"answer": "never"}, id="never"),
        pytest.param({"delay_ms": 2000}, id="too slow"),
    ],
)
def test_what_can_not_be_read_is_told_so_and_nothing_is_made_up(
    impatient: Impatient, portal: DemoPortal, switches: dict[str, Any]
):
    api = member(impatient)
    portal.switch(**switches)
    frames = ask(api, PLAN)
    check_order(frames)
    assert tools(frames) == [("get_plan_details", "error")]
    assert said(frames).startswith("I could not look that up in your file")
    assert "Family" not in said(frames)
    portal.switch()
    assert "Family" in said(ask(api, PLAN, conversation_id=conversation(frames)))


def _revoke(portal: DemoPortal) -> None:
    """Have the portal take none of the tokens that it gave out."""
    with closing(sqlite3.connect(portal.file, isolation_level=None)) as db:
        assert db.execute("DELETE FROM tokens").rowcount > 0


def _is_signed_in(api: Api) -> bool:
    return bool(api.http.get("/auth/session").raise_for_status().json()["signed_in"])


def test_a_token_that_was_revoked_is_dropped_and_the_member_signs_in_again(
    impatient: Impatient, portal: DemoPortal
):
    api = member(impatient)
    _revoke(portal)
    assert _is_signed_in(api), "nobody knows yet"
    refused = ask(api, PLAN)
    check_order(refused)
    assert finish(refused) == "sign_in_required"
    assert card(refused, "auth.required")["reason"]
    assert "Please sign in" in said(refused)
    assert not _is_signed_in(api)
    waits = ask(api, PLAN, conversation_id=conversation(refused))
    assert finish(waits) == "awaiting_sign_in", "and now the turn can wait for it"
    sign_in(impatient, api)
    assert "Family" in said(api.post("/chat/resume", conversation_id=conversation(waits)))


def test_an_approved_action_whose_token_was_revoked_is_not_done_nor_claimed(
    impatient: Impatient, portal: DemoPortal
):
    api = member(impatient)
    frames = ask(api, CALLBACK)
    _revoke(portal)
    told = decide(api, frames)
    check_order(told)
    assert actions(told) == ["error"]
    assert finish(told) == "sign_in_required"
    assert "Please sign in and ask me again" in said(told)
    assert "call you back" not in said(told)
    assert portal.acted() == []
    assert not _is_signed_in(api)
    named = cards(frames)["request_callback"]
    assert steps(impatient.data_dir, named)[-1] == "tool_failed"
    sign_in(impatient, api)
    again = decide(api, ask(api, CALLBACK, conversation_id=conversation(frames)))
    assert (actions(again), len(portal.acted())) == (["ok"], 1)


def test_a_token_that_is_revoked_between_sign_in_and_resume_ends_the_turn_honestly(
    impatient: Impatient, portal: DemoPortal
):
    api = member(impatient, signed_in=False)
    frames = ask(api, PLAN)
    sign_in(impatient, api)
    _revoke(portal)
    told = api.post("/chat/resume", conversation_id=conversation(frames))
    check_order(told)
    assert (finish(told), _is_signed_in(api)) == ("sign_in_required", False)
    assert "Family" not in said(told)
    assert finish(ask(api, PLAN, conversation_id=conversation(frames))) == "awaiting_sign_in"
