"""A page that a tool reads asks for mails: none leaves without the member's word, each once."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.faults import flagged_graph
from tests.server.answering import asked, card
from tests.server.reading import Frame
from tests.server.running import Api, InThread
from tests.wires.order import check_order

GRAPH = "tests.faults.flagged_graph:flagged"


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    flagged_graph.sent.clear()
    flagged_graph.looked.clear()


def _body(frames: Sequence[Frame], decision: str, conversation_id: str) -> dict[str, Any]:
    asked_for = card(list(frames), "action.confirmation_required")
    return {
        "conversation_id": conversation_id,
        "confirmation_id": asked_for["confirmation_id"],
        "decision": decision,
    }


def _ends(frames: Sequence[Frame]) -> list[str]:
    return [each.data["status"] for each in frames if each.event == "action.completed"]


def test_a_fair_page_asks_for_nobodys_word(tmp_path: Path):
    with InThread(tmp_path / "data", GRAPH) as server:
        frames = asked(server.api().be_member(), "fair eve")

    check_order(frames)
    assert frames[-1].data["finish_reason"] == "stop"
    assert flagged_graph.sent == ["eve"]


def test_while_a_question_is_open_nothing_runs_not_even_what_is_harmless(tmp_path: Path):
    with InThread(tmp_path / "data", GRAPH) as server:
        frames = asked(server.api().be_member(), "poisoned eve bob")

    check_order(frames)
    assert frames[-1].data["finish_reason"] == "awaiting_confirmation"
    assert (flagged_graph.sent, flagged_graph.looked) == ([], [])


@pytest.mark.parametrize("restarts", [False, True], ids=["", "restarts"])
@pytest.mark.parametrize("words", list(product(("approve", "reject"), repeat=2)), ids="-".join)
def test_each_mail_that_was_approved_leaves_once(
    tmp_path: Path, words: tuple[str, str], restarts: bool
):
    server = InThread(tmp_path / "data", GRAPH).__enter__()
    api: Api = server.api().be_member()
    session, key = api.http.headers["X-Turnwire-Session"], server.key("chat", "review")
    frames = asked(api, "poisoned eve bob")
    conversation_id, ids = frames[0].data["conversation_id"], list[str]()
    for word in words:
        assert (flagged_graph.sent, flagged_graph.looked) == ([], [])
        if restarts:
            server.__exit__(None, None, None)
            server = InThread(tmp_path / "data", GRAPH).__enter__()
            api = server.api(key=key)
            api.http.headers["X-Turnwire-Session"] = session
        body = _body(frames, word, conversation_id)
        ids.append(body["confirmation_id"])
        frames = api.post("/chat/confirm", **body)
        check_order(frames)
        again = api.http.post("/chat/confirm", json={**body, "decision": "approve"})
        assert again.status_code == 403
    server.__exit__(None, None, None)

    approved = [to for to, word in zip(("eve", "bob"), words, strict=True) if word == "approve"]
    assert flagged_graph.sent == approved
    assert flagged_graph.looked == ["once"]
    assert len(set(ids)) == 2
    assert sorted(_ends(frames)) == sorted("ok" if w == "approve" else "rejected" for w in words)
    ended = {each.data["confirmation_id"] for each in frames if each.event == "action.completed"}
    assert ended == set(ids)
    assert frames[-1].data["finish_reason"] == "stop"


def test_a_member_who_says_something_else_instead_approves_nothing(tmp_path: Path):
    with InThread(tmp_path / "data", GRAPH) as server:
        api = server.api().be_member()
        frames = asked(api, "poisoned eve")
        conversation_id = frames[0].data["conversation_id"]
        later = asked(api, "fair bob", conversation_id=conversation_id)
        old = api.http.post("/chat/confirm", json=_body(frames, "approve", conversation_id))

    assert old.status_code == 403
    assert flagged_graph.sent == []
    # The poisoned page is still in what the model reads.
    asked_for = [each.data["name"] for each in later if "confirmation_required" in each.event]
    assert asked_for == ["read_page"]
