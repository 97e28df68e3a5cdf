"""Both clients with a real server, whose connections are cut wherever it hurts."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.client.cutting import CuttingProxy
from tests.client.driving import Driver
from tests.server import member_graph
from tests.server.answering import Members
from tests.server.running import Api, InThread, Process
from turnwire.client import (
    ActionCompletedFrame,
    AnswerReplaced,
    AsyncClient,
    AsyncTurn,
    AuthRequired,
    Broken,
    BrokenStream,
    CitationFrame,
    Client,
    Completed,
    ConfirmationRequired,
    Event,
    Failed,
    Hints,
    MessageCompleted,
    MessageStarted,
    Options,
    Paused,
    Refused,
    RetrievalCompletedFrame,
    Retry,
    TokenDelta,
    ToolCompletedFrame,
    ToolStartedFrame,
    Turn,
    WrongUsage,
)


def member(driver: Driver, server: Members, url: str | None = None) -> Client | AsyncClient:
    """Return a client that speaks for a new member."""
    client = driver.client(url or server.url, api_key=server.key("chat"), session=session(server))
    assert client.session
    return client


def session(server: Members) -> str:
    return server.api("chat").http.headers["X-Turnwire-Session"]


def names(events: Sequence[Event]) -> list[str]:
    return [type(each).__name__ for each in events]


def content(events: Sequence[Event]) -> list[Event]:
    """Return the events without what opens and closes streams."""
    return [each for each in events if not isinstance(each, MessageStarted | MessageCompleted)]


def same_member(server: Members, client: Client | AsyncClient) -> Api:
    api = server.api("chat")
    api.http.headers["X-Turnwire-Session"] = str(client.session)
    return api


def test_a_turn_is_told_in_typed_events_and_ends_completed(members: Members, driver: Driver):
    turn = member(driver, members).ask("search")
    assert (turn.ending, turn.text, turn.message_id) == (None, "", "")
    heard = driver.hear(turn)

    kinds = [MessageStarted, RetrievalCompletedFrame, TokenDelta, CitationFrame, MessageCompleted]
    assert [type(each) for each in heard] == kinds
    assert turn.ending == Completed("stop")
    assert turn.text == "Rest. [1]"
    assert [each.id for each in turn.citations] == [each.id for each in turn.documents]
    assert heard[0] == MessageStarted(
        message_id=turn.message_id, conversation_id=turn.conversation_id, model=turn.model
    )
    assert driver.hear(turn) == []


def test_a_conversation_goes_on(members: Members, driver: Driver):
    client = member(driver, members)
    first = client.ask("plain")
    assert driver.done(first.wait()) == Completed("stop")
    second = client.ask("tools", conversation_id=first.conversation_id)
    driver.done(second.wait())
    assert second.conversation_id == first.conversation_id
    assert second.message_id != first.message_id


def test_hints_reach_the_graph(members: Members, driver: Driver):
    turn = member(driver, members).ask(
        "plain", hints=Hints(locale="es", timezone="Europe/Madrid", rerank=False)
    )
    driver.done(turn.wait())
    assert member_graph.ledger == ["Europe/Madrid False es None"]


def test_a_refusal_has_all_that_the_server_said(members: Members, driver: Driver):
    turn = member(driver, members).ask("plain", conversation_id="conv_1")
    with pytest.raises(Refused) as missing:
        driver.hear(turn)
    refused = missing.value
    assert (refused.status, refused.code, refused.retryable) == (404, "not_found", False)
    assert refused.request_id
    assert turn.ending == Broken(refused)
    with pytest.raises(Refused) as wrong:
        driver.hear(member(driver, members).ask(" "))
    assert wrong.value.details == [{"path": "body", "reason": "message: is empty"}]


def test_a_failed_turn_says_why(members: Members, driver: Driver):
    turn = member(driver, members).ask("raise")
    driver.hear(turn)
    assert isinstance(turn.ending, Failed)
    assert (turn.ending.code, turn.ending.retryable) == ("agent_error", False)
    assert turn.text == "one two "


@pytest.mark.parametrize("has_session", [True, False])
def test_words_that_are_taken_back_are_not_in_the_text(
    members: Members, driver: Driver, has_session: bool
):
    given = session(members) if has_session else None
    client = driver.client(members.url, api_key=members.key("chat"), session=given)
    turn = client.ask("replaced")
    heard = driver.hear(turn)
    assert names(heard).count("AnswerReplaced") == 1
    assert names(heard)[-2:] == ["TokenDelta", "MessageCompleted"]
    assert (turn.text, turn.ending) == ("No.", Completed("stop"))


@pytest.mark.parametrize(
    ("approve", "status", "text"),
    [(True, "ok", "They will call you."), (False, "rejected", "Nobody will call you.")],
)
def test_a_confirmation_is_answered_and_the_turn_goes_on(
    members: Members, driver: Driver, approve: bool, status: str, text: str
):
    turn = member(driver, members).ask("confirm")
    driver.hear(turn)
    assert isinstance(turn.ending, Paused)
    assert turn.ending.kind == "confirmation"
    [asked] = turn.ending.confirmations
    assert isinstance(asked, ConfirmationRequired)

    heard = driver.hear(turn.confirm(approve=approve, feedback="please"))
    [done] = [each for each in heard if isinstance(each, ActionCompletedFrame)]
    assert done.status == status
    assert (turn.text, turn.ending) == (text, Completed("stop"))
    assert names(heard).count("MessageStarted") == 0
    with pytest.raises(WrongUsage, match="does not wait"):
        turn.confirm(asked.confirmation_id, approve=True)


def test_after_a_sign_in_the_turn_goes_on(members: Members, driver: Driver):
    turn = member(driver, members).ask("sign-in")
    driver.hear(turn)
    assert isinstance(turn.ending, Paused)
    assert isinstance(turn.ending.sign_in, AuthRequired)
    with pytest.raises(WrongUsage, match="0 confirmations"):
        turn.confirm(approve=True)
    with pytest.raises(Refused, match="resume_unavailable"):
        driver.hear(turn.resume())
    members.sign_ins.everybody = True
    try:
        again = member(driver, members).ask("sign-in")
        driver.hear(again)
        driver.hear(again.resume())
    finally:
        members.sign_ins.everybody = False
    assert (again.text, again.ending) == (
        "In general, two days. You have ten days. [2]",
        Completed("stop"),
    )


@pytest.mark.parametrize("kind", ["input", "approval"])
def test_a_graphs_own_question_is_answered_and_the_turn_goes_on(
    members: Members, driver: Driver, kind: str
):
    turn = member(driver, members).ask(kind)
    driver.hear(turn)
    assert isinstance(turn.ending, Paused)
    assert (turn.ending.kind, len(turn.ending.questions)) == (kind, 1)
    (question,) = turn.ending.questions
    for wrong in ({}, {"pau_other": 1}, {question.pause_id: 1, "pau_other": 1}):
        with pytest.raises(WrongUsage, match=question.pause_id):
            turn.answer(wrong)

    heard = driver.hear(turn.answer({question.pause_id: {"amount": [7, None]}}))
    assert (turn.ending, turn.text) == (Completed("stop"), "Thank you.")
    assert MessageStarted not in {type(each) for each in heard}
    assert "{'amount': [7, None]}" in member_graph.ledger[-1]
    with pytest.raises(WrongUsage, match="nothing"):
        turn.answer({question.pause_id: 1})


def test_an_answer_that_does_not_fit_is_refused_and_the_question_waits(
    tmp_path: Path, driver: Driver
):
    with InThread(tmp_path) as server:
        minted = server.api("chat").be_member().http.headers["X-Turnwire-Session"]
        turn = driver.client(server.url, api_key=server.key("chat"), session=minted).ask("ask")
        driver.hear(turn)
        assert isinstance(turn.ending, Paused)
        pause_id = turn.ending.questions[0].pause_id
        with pytest.raises(Refused) as refused:
            driver.hear(turn.answer({pause_id: "much"}))
        assert (refused.value.code, len(refused.value.details)) == ("validation_error", 1)
        driver.hear(turn.answer({pause_id: {"amount": 7}}))
        assert (turn.ending, turn.text) == (Completed("stop"), "You gave 7.")


@pytest.mark.parametrize("cut", [0, 20, 400, 700, -1, -400])
def test_an_answer_whose_stream_was_lost_is_given_once(members: Members, driver: Driver, cut: int):
    with CuttingProxy(members.address, [10**6, cut, cut]) as proxy:
        turn = member(driver, members, proxy.url).ask("input")
        driver.hear(turn)
        assert isinstance(turn.ending, Paused)
        driver.hear(turn.answer({turn.ending.questions[0].pause_id: "ten"}))
    assert (turn.ending, turn.text) == (Completed("stop"), "Thank you.")
    assert len([each for each in member_graph.ledger if each.endswith("ten")]) == 1


def test_a_reviewed_turn_is_followed_until_somebody_decides(members: Members, driver: Driver):
    turn = member(driver, members).ask("review")
    driver.hear(turn)
    assert isinstance(turn.ending, Paused)
    assert names(driver.hear(turn.follow())) == ["MessageCompleted"]
    assert isinstance(turn.ending, Paused)
    assert turn.ending.kind == "review"
    decided = members.keyed("review").resume(thread_id=turn.conversation_id, decision="approve")
    assert decided.status_code == 200
    driver.hear(turn.follow())
    assert (turn.text, turn.ending) == ("The draft. [1]", Completed("stop"))


def test_a_turn_is_cancelled(members: Members, driver: Driver):
    turn = member(driver, members).ask("slow")
    assert driver.done(turn.cancel()) is False
    driver.hear(turn, most=5)
    assert driver.done(turn.cancel()) is True
    driver.hear(turn)
    assert turn.ending == Completed("cancelled")


def test_a_turn_that_was_left_is_attached_to_from_anywhere(members: Members, driver: Driver):
    client = member(driver, members)
    turn = client.ask("confirm-slow")
    driver.hear(turn)
    driver.hear(turn.confirm(approve=True), most=1)
    driver.done(turn.close())
    elsewhere = driver.client(members.url, api_key=members.key("chat"), session=client.session)
    again = elsewhere.attach(turn.conversation_id, turn.message_id)
    driver.hear(again)
    assert (again.text, again.ending) == ("Done.", Completed("stop"))


def test_a_turn_that_was_left_goes_on_where_it_was(members: Members, driver: Driver):
    client = member(driver, members)
    turn = client.ask("searches")
    heard = driver.hear(turn, most=3)
    driver.done(turn.close())
    heard += driver.hear(turn)
    assert turn.ending == Completed("stop")
    assert heard == told_again(driver, members, client, turn)


def told_again(
    driver: Driver, server: Members, client: Client | AsyncClient, turn: Turn | AsyncTurn
) -> list[Event]:
    """Return the same turn as it is told from its beginning, over an untouched connection."""
    direct = driver.client(server.url, api_key=server.key("chat"), session=client.session)
    return driver.hear(direct.attach(turn.conversation_id, turn.message_id))


@pytest.mark.parametrize("kind", ["plain", "search", "searches", "tools"])
def test_a_turn_is_whole_and_told_once_wherever_its_connections_are_cut(
    members: Members, driver: Driver, kind: str
):
    for seed in range(6):
        chance = random.Random(f"{kind} {seed}")
        cuts = [chance.randrange(1, 1500) * chance.choice((1, -1)) for _ in range(5)]
        with CuttingProxy(members.address, cuts) as proxy:
            client = member(driver, members, proxy.url)
            turn = client.ask(kind)
            heard = driver.hear(turn)
        assert turn.ending == Completed("stop"), cuts
        assert heard == told_again(driver, members, client, turn), cuts


@pytest.mark.parametrize("kind", ["searches", "tools", "replaced"])
def test_without_a_session_a_cut_turn_is_joined_by_its_key(
    members: Members, driver: Driver, kind: str
):
    key = members.key("chat")
    for seed in range(4):
        chance = random.Random(f"{kind} {seed}")
        cuts = [chance.randrange(300, 900) for _ in range(3)]
        with CuttingProxy(members.address, cuts) as proxy:
            turn = driver.client(proxy.url, api_key=key).ask(kind)
            heard = driver.hear(turn)
            assert proxy.connections > 1
        again = driver.client(members.url, api_key=key).ask(
            kind, idempotency_key=turn.idempotency_key
        )
        told = driver.hear(again)
        assert (turn.message_id, turn.text) == (again.message_id, again.text)
        stands = heard
        if AnswerReplaced() in heard:
            assert kind == "replaced"
            stands = heard[heard.index(AnswerReplaced()) + 1 :]
        assert content(stands) == content(told), cuts


def test_where_no_head_ever_came_the_question_is_asked_once(members: Members, driver: Driver):
    with CuttingProxy(members.address, [1, -1, 1, 90]) as proxy:
        client = member(driver, members, proxy.url)
        turn = client.ask("plain")
        driver.hear(turn)
    assert turn.text == "Rest for two days."
    listed = same_member(members, client).http.get("/conversations").json()["conversations"]
    assert len(listed) == 1


@pytest.mark.parametrize("cut", [1, -1, 150, 500, 900])
def test_a_confirmation_whose_answer_was_lost_is_done_once(
    members: Members, driver: Driver, cut: int
):
    direct = member(driver, members)
    first = direct.ask("confirm")
    driver.hear(first)
    with CuttingProxy(members.address, [10**6, cut, cut]) as proxy:
        client = driver.client(proxy.url, api_key=members.key("chat"), session=direct.session)
        turn = client.attach(first.conversation_id, first.message_id)
        driver.hear(turn)
        heard = driver.hear(turn.confirm(approve=True))
    assert (turn.text, turn.ending) == ("They will call you.", Completed("stop"))
    assert member_graph.ledger.count("done call_2") == 1
    kinds = [ToolStartedFrame, ToolCompletedFrame, ActionCompletedFrame]
    assert [[type(each) for each in heard].count(kind) for kind in kinds] == [1, 1, 1]


def test_a_server_that_is_gone_is_a_broken_stream_and_no_failure(members: Members, driver: Driver):
    with CuttingProxy(members.address, [900]) as proxy:
        turn = member(driver, members, proxy.url).ask("slow")
        driver.hear(turn, most=2)
        same_member_url = proxy.url
    with pytest.raises(BrokenStream) as broken:
        driver.hear(turn)
    assert isinstance(turn.ending, Broken)
    assert turn.ending.error is broken.value
    assert broken.value.message_id == turn.message_id != ""
    client = driver.client(same_member_url, api_key="k", options=Options(retry=Retry(tries=0)))
    with pytest.raises(BrokenStream):
        driver.done(client.new_session())


def test_after_a_crash_the_text_is_what_the_server_has_kept(tmp_path: Path, driver: Driver):
    graph = "tests.server.member_graph:member"
    patient = Options(retry=Retry(tries=100, first=0.05, longest=0.1))
    with Process(tmp_path, graph) as server, CuttingProxy(server.address) as proxy:
        key = server.key("chat")
        client = driver.client(proxy.url, api_key=key, options=patient)
        driver.done(client.new_session())
        turn = client.ask("slow")
        driver.hear(turn, most=15)
        server.kill()
        with Process(tmp_path, graph) as again:
            proxy.address = again.address
            driver.hear(turn)
            headers = {"X-Turnwire-Session": str(client.session)}
            path = f"/conversations/{turn.conversation_id}/turns/{turn.message_id}"
            kept = again.api(key=key).http.get(path, headers=headers).json()
    assert isinstance(turn.ending, Failed)
    assert turn.ending.code == "stream_interrupted"
    assert turn.text == kept["content"] != ""


@pytest.mark.parametrize(("kind", "text"), [("lengthened", "Take it easy."), ("replaced", "No.")])
def test_the_text_stands_wherever_words_are_replaced_and_connections_are_cut(
    members: Members, driver: Driver, kind: str, text: str
):
    for seed in range(5):
        chance = random.Random(f"{kind} {seed}")
        cuts = [chance.randrange(300, 1000) for _ in range(4)]
        with CuttingProxy(members.address, cuts) as proxy:
            turn = member(driver, members, proxy.url).ask(kind)
            driver.hear(turn)
        assert (turn.text, turn.ending) == (text, Completed("stop")), cuts


def test_a_session_is_minted_and_spoken_for(members: Members, driver: Driver):
    client = driver.client(members.url, api_key=members.key("chat"))
    minted = driver.done(client.new_session())
    assert (client.session, minted.signed_in) == (minted.session_id, False)
    turn = client.ask("confirm")
    driver.hear(turn)
    driver.hear(turn.confirm(approve=True))
    assert turn.ending == Completed("stop")


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host", "http://", "http://a:b"])
def test_an_address_that_is_none_is_wrong_usage(driver: Driver, url: str):
    with pytest.raises(WrongUsage, match="base_url"):
        driver.client(url, api_key="k")


def test_what_no_header_can_carry_is_wrong_usage(driver: Driver):
    for odd in ("", "a\nb", "clé"):
        with pytest.raises(WrongUsage, match="api_key"):
            driver.client("http://host", api_key=odd)
        with pytest.raises(WrongUsage, match="session"):
            driver.client("http://host", api_key="k", session=odd)
        with pytest.raises(WrongUsage, match="idempotency_key"):
            driver.client("http://host", api_key="k").ask("hi", idempotency_key=odd)
