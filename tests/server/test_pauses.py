"""People are asked, answer, and the turn goes on: ``POST /chat/resume``, ``GET /reviews``."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import JsonValue

from tests.server import graphs
from tests.server.reading import text_of, unsaid
from tests.server.running import Api, InThread, eventually


def _code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


@pytest.mark.parametrize(
    ("decision", "content"),
    [
        ({"decision": "approve"}, "the draft"),
        ({"decision": "edit", "edited_text": "my own words"}, "my own words"),
        ({"decision": "reject"}, "refused"),
    ],
)
def test_a_review_is_listed_decided_once_and_the_turn_goes_on(
    shared: InThread, decision: dict[str, str], content: str
):
    api = shared.api()
    with api.stream("review 60") as reader:
        paused = reader.rest()[-1]
    assert paused.event == "paused"
    assert paused.data["status"] == "paused_for_review"
    review = paused.data["review"]
    assert review in api.http.get("/reviews").json()["reviews"]
    thread_id = paused.data["thread_id"]
    with api.resume_stream(thread_id=thread_id, **decision) as reader:
        frames = reader.rest()
    assert frames[0].event == "graph_topology"
    assert frames[0].data["resumed"] is True
    assert frames[0].seq == paused.seq + 1
    assert frames[-1].event == "turn_completed"
    assert frames[-1].data["content"] == content
    assert frames[-1].data["human_wait_ms"] >= 0
    assert frames[-1].data["turn_id"] == paused.turn_id
    assert review["review_id"] not in api.http.get("/reviews").text
    assert _code(api.resume(thread_id=thread_id, **decision)) == (409, "already_decided")


def test_the_time_that_people_took_is_told(shared: InThread):
    api = shared.api()
    paused = api.paused("review 60")
    time.sleep(0.3)  # what is measured
    answer = api.resume(thread_id=paused["thread_id"], decision="approve").json()
    assert 300 <= answer["human_wait_ms"] < 5000


def test_an_answer_has_to_pass_the_questions_schema(shared: InThread):
    api = shared.api()
    paused = api.paused("ask")
    (pause,) = paused["pauses"]
    assert pause["response_schema"] == graphs.AMOUNT
    asked = {"thread_id": paused["thread_id"]}
    wrongs: list[JsonValue] = [None, "5", {"amount": 0}, {"amount": 1, "more": 2}, []]
    for wrong in wrongs:
        refused = api.resume(**asked, answers={pause["pause_id"]: wrong})
        assert _code(refused) == (422, "validation_error")
        (detail, *_) = refused.json()["error"]["details"]
        assert detail["path"].startswith(f"answers.{pause['pause_id']}")
    good = api.resume(**asked, answers={pause["pause_id"]: {"amount": 5}}).json()
    assert good["content"] == "You gave 5."


def test_a_wrong_value_is_not_quoted_back(shared: InThread):
    api = shared.api()
    paused = api.paused("ask")
    secret = "4111-1111-1111-1111"
    answers = {paused["pauses"][0]["pause_id"]: {"amount": secret}}
    assert secret not in api.resume(thread_id=paused["thread_id"], answers=answers).text


def test_two_questions_of_one_node_are_asked_one_after_the_other(shared: InThread):
    api = shared.api()
    first = api.paused("ask-twice")
    thread_id = first["thread_id"]
    (one,) = first["pauses"]
    second = api.resume(thread_id=thread_id, answers={one["pause_id"]: "A"}).json()
    assert second["status"] == "paused_for_input", second
    (two,) = second["pauses"]
    assert two["payload"] == "second?"
    done = api.resume(thread_id=thread_id, answers={two["pause_id"]: "B"}).json()
    assert done["content"] == "A then B"


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory):
    with InThread(tmp_path_factory.mktemp("forked"), "parallel") as server:
        yield server


def _by_branch(paused: dict[str, Any]) -> dict[str, str]:
    return {each["payload"]["branch"]: each["pause_id"] for each in paused["pauses"]}


def test_parallel_questions_have_ids_of_their_own_and_each_answer_finds_its_branch(
    forked: InThread,
):
    api = forked.api()
    paused = api.paused("go")
    ids = _by_branch(paused)
    assert len(set(ids.values())) == 2
    answers = {ids["right"]: "R", ids["left"]: "L"}
    done = api.resume(thread_id=paused["thread_id"], answers=answers).json()
    assert done["content"] == "left=L right=R"


def test_parallel_questions_may_be_answered_one_by_one_and_no_branch_runs_twice(
    forked: InThread,
):
    api = forked.api()
    graphs.acted.clear()
    paused = api.paused("go")
    ids, thread_id = _by_branch(paused), paused["thread_id"]
    still = api.resume(thread_id=thread_id, answers={ids["right"]: "R"}).json()
    assert still["status"] == "paused_for_input"
    assert _by_branch(still) == {"left": ids["left"]}
    again = api.resume(thread_id=thread_id, answers={ids["right"]: "other"})
    assert _code(again) == (409, "already_decided")
    done = api.resume(thread_id=thread_id, answers={ids["left"]: "L"}).json()
    assert done["content"] == "left=L right=R"
    assert sorted(graphs.acted) == ["left:L", "right:R"]


def test_of_five_answers_at_once_one_wins_and_the_act_happens_once(
    shared: InThread, tmp_path: Path
):
    api = shared.api()
    for round in range(5):
        ledger = tmp_path / f"ledger-{round}"
        paused = api.paused(f"act {ledger}")
        answers = {paused["pauses"][0]["pause_id"]: "yes"}
        body = {"thread_id": paused["thread_id"], "answers": answers}

        def answer(_: int, body: dict[str, Any] = body) -> httpx.Response:
            return api.resume(**body)

        with ThreadPoolExecutor(5) as pool:
            got = list(pool.map(answer, range(5)))
        statuses = sorted(each.status_code for each in got)
        assert statuses == [200, 409, 409, 409, 409], [each.text for each in got]
        assert ledger.read_text() == "yes\n"


def test_of_approve_and_reject_at_once_one_stands_and_the_other_is_told_which(shared: InThread):
    api = shared.api()
    for _ in range(5):
        paused = api.paused("review 60")

        def decide(decision: str, paused: dict[str, Any] = paused) -> httpx.Response:
            return api.resume(thread_id=paused["thread_id"], decision=decision)

        with ThreadPoolExecutor(2) as pool:
            got = dict(
                zip(("approve", "reject"), pool.map(decide, ("approve", "reject")), strict=True)
            )
        ((won, _),) = [(d, each) for d, each in got.items() if each.status_code == 200]
        ((_, lost),) = [(d, each) for d, each in got.items() if each.status_code != 200]
        assert _code(lost) == (409, "already_decided")
        assert won in lost.json()["error"]["message"]


def test_an_expired_review_is_refused_and_no_longer_listed(shared: InThread):
    api = shared.api()
    paused = api.paused("review 0.2")
    eventually(lambda: paused["review"]["review_id"] not in api.http.get("/reviews").text, within=3)
    refused = api.resume(thread_id=paused["thread_id"], decision="approve")
    assert _code(refused) == (403, "resume_unavailable")


def test_nothing_to_resume_is_one_text_for_unknown_foreign_and_not_waiting(shared: InThread):
    api, stranger = shared.api(), shared.stranger("chat", "review")
    done = api.chat("say hi").json()["thread_id"]
    waiting = api.paused("ask")
    pause_id = waiting["pauses"][0]["pause_id"]
    answers = {pause_id: {"amount": 5}}
    told = [
        api.resume(thread_id="conv_unknown", answers=answers),
        api.resume(thread_id=done, answers=answers),
        api.resume(thread_id=waiting["thread_id"], answers={"pse_other": 1}),
        stranger.resume(thread_id=waiting["thread_id"], answers=answers),
        api.resume(thread_id="conv_unknown", decision="approve"),
        api.resume(thread_id=done, decision="approve"),
        api.resume(thread_id=waiting["thread_id"], decision="approve"),
    ]
    texts = {(_code(each), each.json()["error"]["message"]) for each in told}
    assert texts == {((403, "resume_unavailable"), "There is nothing to resume here.")}
    assert api.resume(thread_id=waiting["thread_id"], answers=answers).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {"thread_id": "conv_1"},
        {"thread_id": "conv_1", "decision": "maybe"},
        {"thread_id": "conv_1", "decision": "edit"},
        {"thread_id": "conv_1", "decision": "edit", "edited_text": "  "},
        {"thread_id": "conv_1", "decision": "edit", "edited_text": "a\u0000b"},
        {"thread_id": "conv_1", "decision": "approve", "edited_text": "x"},
        {"thread_id": "conv_1", "decision": "approve", "answers": {"p": 1}},
        {"thread_id": "conv_1", "answers": {}},
        {"thread_id": "conv_1", "answers": ["p"]},
        {"decision": "approve"},
        {"thread_id": 1, "decision": "approve"},
        [],
    ],
)
def test_a_resume_of_the_wrong_shape_is_422_with_a_path(shared: InThread, body: object):
    refused = shared.api().http.post("/chat/resume", json=body)
    assert _code(refused) == (422, "validation_error")
    assert all(each["path"] and each["reason"] for each in refused.json()["error"]["details"])


def test_a_new_message_drops_the_pause_and_starts_afresh(shared: InThread):
    api = shared.api()
    paused = api.paused("review 60")
    thread_id = paused["thread_id"]
    assert api.chat("say instead", thread_id=thread_id).json()["content"] == "instead"
    refused = api.resume(thread_id=thread_id, decision="approve")
    assert _code(refused) == (403, "resume_unavailable")
    dropped = api.turn(thread_id, paused["turn_id"])
    assert (dropped["status"], dropped["finish_reason"]) == ("completed", "cancelled")
    with api.events(thread_id, paused["turn_id"]) as reader:
        assert reader.rest()[-1].event == "turn_completed"


def test_a_pause_ends_the_stream_and_a_resume_may_be_followed_from_the_start(shared: InThread):
    api = shared.api()
    with api.stream("ask") as reader:
        first = reader.rest()
    thread_id = first[0].data["thread_id"]
    answers = {first[-1].data["pauses"][0]["pause_id"]: {"amount": 2}}
    with api.resume_stream(thread_id=thread_id, answers=answers) as reader:
        second = reader.rest()
    with api.events(thread_id, first[0].turn_id) as reader:
        assert reader.rest() == [*first, *second]
    assert unsaid([*first, *second]) == 1, "the model's call"
    assert text_of(second) == "You gave 2."


def test_a_decision_about_one_draft_never_decides_another(shared: InThread):
    api = shared.api()
    first = api.paused("review 60")
    thread_id = first["thread_id"]
    second = api.paused("review 60", thread_id=thread_id)
    stale = api.resume(
        thread_id=thread_id, review_id=first["review"]["review_id"], decision="approve"
    )
    assert _code(stale) == (403, "resume_unavailable")
    named = api.resume(
        thread_id=thread_id, review_id=second["review"]["review_id"], decision="approve"
    )
    assert named.json()["status"] == "complete"


def test_a_reviewer_may_follow_what_was_put_to_reviewers_and_nothing_else(shared: InThread):
    owner, reviewer = shared.api("chat"), shared.api("review")
    paused = owner.paused("review 60")
    plain = owner.chat("say hi").json()
    with reviewer.events(paused["thread_id"], paused["turn_id"]) as reader:
        assert reader.rest()[-1].event == "paused"
    other = reviewer.http.get(reviewer.events_url(plain["thread_id"], plain["turn_id"]))
    assert _code(other) == (404, "not_found")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"1" + b"0" * 30, "has a whole number of more than 64 bits"),
        (b'{"deep": [-9223372036854775809]}', "has a whole number of more than 64 bits"),
        (b"1e400", "has a number that is too large"),
        (b'"\\ud800"', "contains half of a surrogate pair, which is not text"),
        (b'{"\\ud800": 1}', "contains half of a surrogate pair, which is not text"),
        (b'["\\u0000"]', "contains the character U+0000"),
        (b"[" * 200 + b"]" * 200, "is nested deeper than 64 levels"),
    ],
    ids=["large", "small", "infinite", "text", "name", "null", "deep"],
)
def test_an_answer_that_no_checkpoint_can_hold_is_refused_and_the_question_waits_on(
    shared: InThread, value: bytes, reason: str
):
    api = shared.api()
    paused = api.paused("ask-twice")
    pause_id = paused["pauses"][0]["pause_id"]
    asked = b'{"thread_id": "%s", "answers": {"%s": %s}}'
    body = asked % (paused["thread_id"].encode(), pause_id.encode(), value)
    refused = api.http.post("/chat/resume", content=body)
    assert _code(refused) == (422, "validation_error")
    (detail,) = refused.json()["error"]["details"]
    assert detail == {"path": f"answers.{pause_id}", "reason": reason}
    most = {"deep": [2**64 - 1, -(2**63), 1.5, None, True]}
    again = api.resume(thread_id=paused["thread_id"], answers={pause_id: most})
    assert again.status_code == 200


@pytest.mark.parametrize("body", [[], {}, {"decision": "approve", "answers": {}}, {"x": 1}])
def test_without_a_key_nobody_learns_what_a_resume_has_to_look_like(shared: InThread, body: object):
    assert _code(shared.nobody().http.post("/chat/resume", json=body)) == (401, "invalid_api_key")
    assert _code(shared.api().http.post("/chat/resume", json=body)) == (422, "validation_error")


@pytest.fixture(scope="module")
def two_asked(tmp_path_factory: pytest.TempPathFactory):
    with InThread(tmp_path_factory.mktemp("beside"), "beside") as server:
        yield server


def _expired(api: Api, which: str) -> dict[str, Any]:
    """Ask both, and return what waits when the one that is named can't be answered any more."""
    paused = api.paused(which)
    time.sleep(graphs.SOON)
    return paused


def _answered(paused: dict[str, Any]) -> dict[str, Any]:
    (named,) = [each["pause_id"] for each in paused["pauses"] if each["kind"] == "input"]
    return {"thread_id": paused["thread_id"], "answers": {named: {"amount": 5}}}


def _decided(paused: dict[str, Any]) -> dict[str, Any]:
    return {"thread_id": paused["thread_id"], "decision": "approve"}


@pytest.mark.parametrize(
    ("late", "answer", "refused", "content"),
    [
        ("review", _answered, _decided, "amount=5 review=late"),
        ("amount", _decided, _answered, "amount=late review=approve"),
    ],
)
def test_a_turn_does_not_wait_for_a_question_that_expired_beside_the_one_that_was_answered(
    two_asked: InThread,
    late: str,
    answer: Callable[[dict[str, Any]], dict[str, Any]],
    refused: Callable[[dict[str, Any]], dict[str, Any]],
    content: str,
):
    api = two_asked.api()
    whole = _expired(api, late)
    done = api.resume(**answer(whole)).json()
    assert (done["status"], done["content"]) == ("complete", content)
    assert _code(api.resume(**refused(whole))) == (403, "resume_unavailable")
    assert whole["thread_id"] not in api.http.get("/reviews").text

    streamed = _expired(api, late)
    with api.resume_stream(**answer(streamed)) as reader:
        live = reader.rest()
    assert live[-1].data["content"] == content
    with api.events(streamed["thread_id"], streamed["turn_id"]) as reader:
        assert reader.rest()[-len(live) :] == live
    assert api.turn(streamed["thread_id"], streamed["turn_id"])["content"] == content


def test_what_expired_while_no_server_ran_is_expired_for_the_next_one(tmp_path: Path):
    with InThread(tmp_path, "beside") as server:
        paused = server.api().paused("review")
        key = server.key("chat", "review")
    time.sleep(graphs.SOON)
    with InThread(tmp_path, "beside") as server:
        done = server.api(key=key).resume(**_answered(paused)).json()
    assert (done["status"], done["content"]) == ("complete", "amount=5 review=late")


def test_both_in_time_are_answered_one_by_one(two_asked: InThread):
    api = two_asked.api()
    paused = api.paused("neither")
    still = api.resume(**_answered(paused)).json()
    assert still["status"] == "paused_for_review"
    done = api.resume(**_decided(paused)).json()
    assert done["content"] == "amount=5 review=approve"
