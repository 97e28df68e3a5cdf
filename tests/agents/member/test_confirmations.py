"""An action is done once, after the member's word, and told as it ended."""

from collections.abc import Callable

import pytest

from tests.agents.member.stage import INSURANCE, Stage, tools_of
from tests.graph.stage import Played
from turnwire.events import ActionCompleted, ToolStarted
from turnwire.work import Unsettled

Make = Callable[..., Stage]
pytestmark = pytest.mark.anyio
ASKS = {"en": "Please call me back about my claim", "es": "Llámenme por mi reclamación"}


@pytest.mark.parametrize("locale", ["en", "es"])
async def test_nothing_happens_before_the_members_word_and_one_thing_after_it(
    stage: Make, locale: str
):
    host = stage()
    paused = await host.say(ASKS[locale], locale=locale)
    assert paused.text == ""
    assert host.acted == []
    assert paused.of(ToolStarted) == []
    played = await host.decide(paused, "approve")
    assert len(host.acted) == 1
    assert tools_of(played) == [("request_callback", "ok", None)]
    assert [each.status for each in played.of(ActionCompleted)] == ["ok"]
    assert played.ending.finish_reason == "stop"
    said = {"en": "an adviser will call you back", "es": "un asesor le llamará"}
    assert said[locale] in played.text
    assert host.acted[0]["answer"]["callback_id"] in played.text


async def test_the_question_shows_what_will_be_done(stage: Make):
    paused = await stage().say("Call me tomorrow at 10 about my bill")
    asked = paused.pauses[0].payload
    assert isinstance(asked, dict)
    assert asked["summary"] == (
        "Ask an adviser to call you back about: my bill (preferred time: tomorrow at 10)"
    )
    assert asked["risk"] == "send"
    assert asked["name"] == "request_callback"
    assert paused.pauses[0].expires_ms is not None


@pytest.mark.parametrize(
    ("locale", "says"),
    [("en", "nobody will call you"), ("es", "nadie le llamará")],
)
async def test_what_the_member_rejects_is_not_done_and_not_claimed(
    stage: Make, locale: str, says: str
):
    host = stage()
    paused = await host.say(ASKS[locale], locale=locale)
    played = await host.decide(paused, "reject", feedback="Not today")
    assert host.acted == []
    assert says in played.text
    assert [each.status for each in played.of(ActionCompleted)] == ["rejected"]
    assert tools_of(played) == []


async def test_an_answer_that_cannot_be_read_is_a_rejection(stage: Make):
    host = stage()
    paused = await host.say(ASKS["en"])
    played = await host.go_on(paused, {paused.pauses[0].pause_id: ["yes", "do it"]})
    assert host.acted == []
    assert [each.status for each in played.of(ActionCompleted)] == ["rejected"]


async def test_without_its_grant_an_approval_does_nothing_and_is_told_so(stage: Make):
    host = stage()
    paused = await host.say(ASKS["en"])
    played = await host.decide(paused, "approve", is_granted=False)
    assert host.acted == []
    assert "nothing was done" in played.text
    assert "arranged" not in played.text


async def test_two_actions_have_their_own_questions_and_are_answered_in_any_order(stage: Make):
    host = stage()
    paused = await host.say(
        "Call me back about my bill and change my address to 9 Oak Street, Hull, HU1 1AA, UK"
    )
    call, move = paused.pauses
    assert call.pause_id != move.pause_id
    waits = await host.decide(paused, "approve", pause=move)
    assert [each["kind"] for each in host.acted] == ["address_change"]
    assert [each.pause_id for each in waits.pauses] == [call.pause_id]
    played = await host.decide(waits, "reject", pause=call)
    assert [each["kind"] for each in host.acted] == ["address_change"]
    assert "no call was requested" in played.text
    assert "Your address has been changed." in played.text
    assert played.ending.finish_reason == "stop"


async def test_an_upstream_that_refuses_is_told_as_not_done(stage: Make):
    host = stage()
    await host.switch(fail={"POST /me/callbacks": {"status": 422}})
    played = await host.decide(await host.say(ASKS["en"]), "approve")
    assert tools_of(played) == [("request_callback", "error", "not_accepted")]
    assert played.text.startswith("That did not work, and nothing was done:")
    assert host.acted == []


async def test_where_nobody_knows_whether_it_was_done_nobody_says_so(stage: Make):
    host = stage()
    failing = {"status": 500, "times": 2, "after_effect": False}
    await host.switch(fail={"POST /me/callbacks": failing})
    played = await host.decide(await host.say(ASKS["en"]), "approve")
    assert tools_of(played) == [("request_callback", "error", "outcome_unknown")]
    assert played.text.startswith("I do not know whether that was done")


async def test_a_call_that_was_done_and_not_answered_is_made_again_and_done_once(stage: Make):
    host = stage()
    failing = {"status": 502, "times": 1, "after_effect": True}
    await host.switch(fail={"POST /me/callbacks": failing})
    played = await host.decide(await host.say(ASKS["en"]), "approve")
    assert len(host.acted) == 1
    assert host.acted[0]["answer"]["callback_id"] in played.text


async def test_an_action_and_a_question_are_both_served(stage: Make):
    host = stage()
    paused = await host.say("Call me back about my bill. What is a waiting period?")
    played = await host.decide(paused, "approve")
    assert "an adviser will call you back" in played.text
    assert "the time from the start of your cover" in played.text
    assert played.ending.finish_reason == "stop"


def left_by(played: Played) -> Unsettled:
    """Return the turn whose pause a new message drops."""
    return Unsettled(turn_id=played.work.turn_id, messages=played.work.messages, content="")


async def test_a_new_message_drops_the_question_and_nothing_is_done(stage: Make):
    host = stage()
    paused = await host.say(ASKS["en"])
    played = await host.say("Which plan am I on?", unsettled=[left_by(paused)])
    assert "confirm" not in played.started
    assert "You are on the Family plan." in played.text
    assert host.acted == []


async def test_a_private_detail_is_hidden_in_the_question_and_whole_in_the_call(stage: Make):
    host = stage(policy=INSURANCE)
    paused = await host.say("Call me back about my new number +44 7700 900999")
    assert "900999" not in str(paused.pauses[0].payload)
    await host.decide(paused, "approve")
    assert "900999" in str(host.acted[0]["body"])


@pytest.mark.parametrize(
    ("locale", "wish", "reason"),
    [
        ("en", "Please call me back, my claim is stuck", "my claim is stuck"),
        ("es", "Llámame, por favor: mi reclamación no avanza", "mi reclamación no avanza"),
        ("en", "My claim is stuck. Can someone ring me?", "My claim is stuck"),
    ],
)
async def test_the_words_beside_a_request_are_its_reason(
    stage: Make, locale: str, wish: str, reason: str
):
    paused = await stage().say(wish, locale=locale)
    asked = paused.pauses[0].payload
    assert isinstance(asked, dict)
    assert asked["arguments_preview"] == {"reason": reason}


async def test_a_bare_request_for_a_call_is_asked_what_it_is_about(stage: Make):
    played = await stage().say("call me back pls")
    assert played.text == "What should the call be about?"


@pytest.mark.parametrize(("locale", "word"), [("en", "yes"), ("es", "sí")])
async def test_a_yes_in_words_is_no_approval_and_shows_the_question_again(
    stage: Make, locale: str, word: str
):
    host = stage()
    first = await host.say("Call me back about my bill", locale=locale)
    again = await host.say(word, locale=locale, unsettled=[left_by(first)])
    assert host.acted == []
    (old,), (new,) = first.pauses, again.pauses
    assert isinstance(old.payload, dict)
    assert isinstance(new.payload, dict)
    assert old.pause_id != new.pause_id
    assert old.payload["arguments_preview"] == new.payload["arguments_preview"]
    await host.decide(again, "approve")
    assert len(host.acted) == 1


@pytest.mark.parametrize("word", ["no", "No, forget it", "no, déjelo"])
async def test_a_no_in_words_does_nothing_and_says_so(stage: Make, word: str):
    host = stage()
    paused = await host.say("Call me back about my bill")
    played = await host.say(word, unsettled=[left_by(paused)])
    assert played.text == "All right. I have done nothing."
    after = await host.say("yes")
    assert after.ending.finish_reason == "stop"
    assert host.acted == []
