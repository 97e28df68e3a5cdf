"""What the member agent leaves in a conversation, read by a provider that is strict about it."""

from collections.abc import Callable, Iterator

import pytest

from tests.faults.choosing import TALK, Rounds, check_history, choose
from tests.faults.membership import (
    DemoPortal,
    Membership,
    actions,
    ask,
    cards,
    conversation,
    decide,
    finish,
    member,
    names,
    said,
    tools,
)
from tests.providers.serving import HANG, Provider, delta
from tests.server.answering import told_again
from tests.server.reading import Frame, Reader
from tests.server.running import eventually
from tests.server.shipped import with_index
from tests.wires.order import check_order

READS = "Which plan am I on, and what became of my claims?"
CALLBACK = "Please call me back about my claim"
CALL = [("request_callback", {"reason": "my claim"})]
MOVES = {
    "line1": "9 Oak Street",
    "city": "Hull",
    "postcode": "HU1 1AA",
    "country": "United Kingdom",
}
CHOSEN: dict[str, Rounds] = {
    READS: [[("get_plan_details", {}), ("get_claims", {})]],
    CALLBACK: [CALL],
    "Both": [[*CALL, ("change_address", MOVES)]],
    "Again": [CALL, CALL, CALL, CALL, CALL, CALL],
}
NEXT = "What is a waiting period?"


@pytest.fixture(scope="module")
def chosen(
    portal_of_module: DemoPortal, provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Membership]:
    """A server whose tools a provider's model chooses."""
    data_dir = with_index(tmp_path_factory, tmp_path_factory.mktemp("chosen"))
    model = {"model": "openai:demo", "model_base_url": provider.url, "model_api_key": "any"}
    with Membership(data_dir, portal_of_module, **model) as each:
        yield each


@pytest.fixture(autouse=True)
def chooses(provider: Provider) -> None:
    provider.reset()
    choose(provider, CHOSEN)


def _prompts(provider: Provider) -> list[list[str]]:
    """Check every request's order; return what assistants said in each."""
    return [check_history(each["messages"]) for each in provider.requests]


def _at_once(reader: Reader, provider: Provider) -> list[Frame]:
    eventually(lambda: provider.open == 1)
    return []


def _in_the_first_call(reader: Reader, provider: Provider) -> list[Frame]:
    return [reader.until("tool.started")]


def _between_two_calls(reader: Reader, provider: Provider) -> list[Frame]:
    return [reader.until("tool.completed"), reader.until("tool.started")]


def _in_the_answer(reader: Reader, provider: Provider) -> list[Frame]:
    return [reader.until("token.delta")]


@pytest.mark.parametrize(
    ("moment", "rounds"),
    [
        (_at_once, [HANG]),
        (_in_the_first_call, CHOSEN[READS]),
        (_between_two_calls, CHOSEN[READS]),
        (_in_the_answer, CHOSEN[READS]),
    ],
)
def test_a_turn_that_was_stopped_leaves_a_history_that_a_strict_provider_takes(
    chosen: Membership,
    provider: Provider,
    portal: DemoPortal,
    moment: Callable[[Reader, Provider], list[Frame]],
    rounds: Rounds,
):
    answer = [delta("You are on the Family plan. "), delta("Your "), HANG]
    choose(provider, {READS: rounds}, answer=answer)
    api = member(chosen)
    portal.switch(delay_ms=0 if moment is _in_the_answer else 300)
    with api.ask(READS, agent="member") as reader:
        opened = reader.next()
        moment(reader, provider)
        at = opened.data["conversation_id"]
        api.http.post(f"/conversations/{at}/cancel").raise_for_status()
        rest = reader.rest()
    assert finish(rest) == "cancelled"
    told = told_again(api, [opened])
    check_order(told)
    provider.reset()
    choose(provider, CHOSEN)
    portal.switch()
    for question in (NEXT, READS):
        follows = ask(api, question, conversation_id=at)
        assert finish(follows) in ("stop", "insufficient_evidence")
    assert tools(follows) == [("get_plan_details", "ok"), ("get_claims", "ok")]
    heard = _prompts(provider)
    assert heard, "the model was asked"
    if said(told):
        assert said(told) in heard[0], "the next prompt has what the member saw"
    assert TALK not in repr(heard)


def test_after_a_pause_was_dropped_the_next_prompt_has_what_the_member_saw(
    chosen: Membership, provider: Provider, portal: DemoPortal
):
    api = member(chosen, signed_in=False)
    waits = ask(api, READS)
    assert finish(waits) == "awaiting_sign_in"
    assert "I need you to sign in" in said(waits)
    provider.requests.clear()
    ask(api, NEXT, conversation_id=conversation(waits))
    assert [each for each in _prompts(provider) if said(waits) not in each] == []


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_an_action_of_the_model_is_done_by_the_members_word_alone(
    chosen: Membership, provider: Provider, portal: DemoPortal, decision: str
):
    api = member(chosen)
    frames = ask(api, CALLBACK)
    assert portal.acted() == []
    told = decide(api, frames, decision, feedback="Not on Monday")
    check_order(told)
    assert len(portal.acted()) == (1 if decision == "approve" else 0)
    assert ("will call you back" in said(told)) == (decision == "approve")
    read = [str(each["messages"]) for each in provider.requests]
    assert any("Not on Monday" in each for each in read) == (decision == "reject")
    _prompts(provider)
    follows = ask(api, NEXT, conversation_id=conversation(frames))
    assert finish(follows) in ("stop", "insufficient_evidence")
    assert said(told) in _prompts(provider)[-1]


def test_a_model_that_asks_for_a_rejected_action_without_end_is_left(
    chosen: Membership, provider: Provider, portal: DemoPortal
):
    api = member(chosen)
    frames = ask(api, "Again: please call me back")
    told = decide(api, frames, "reject")
    check_order(told)
    assert (finish(told), cards(told)) == ("stop", {})
    assert actions(told) == ["rejected"]
    assert names(told).count("action.confirmation_required") == 0
    assert portal.acted() == []
    assert "nobody will call you" in said(told)
    _prompts(provider)


def test_of_two_actions_of_the_model_each_is_treated_as_the_member_said(
    chosen: Membership, provider: Provider, portal: DemoPortal
):
    api = member(chosen)
    frames = ask(api, "Both: call me back about my claim and change my address")
    assert set(cards(frames)) == {"request_callback", "change_address"}
    decide(api, frames, "reject", "change_address", feedback="Not yet")
    told = decide(api, frames)
    assert (actions(told), tools(told)) == (["ok"], [("request_callback", "ok")])
    assert [each["kind"] for each in portal.acted()] == ["callback"]
    whole = told_again(api, frames)
    check_order(whole)
    assert "will call you back" in said(whole)
    assert "your address stays as it was" in said(whole)
    assert "has been changed" not in said(whole)
    assert "Not yet" in str(provider.requests[-1]["messages"])
    _prompts(provider)
