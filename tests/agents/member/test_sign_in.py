"""A member who is signed out: the pause, the text channel, and those who can't sign in."""

from collections.abc import Callable

import pytest

from tests.agents.member.stage import Stage, cited, searches_of, tools_of
from turnwire.events import NodeStarted, TextDelta
from turnwire.work import Unsettled

Make = Callable[..., Stage]
pytestmark = pytest.mark.anyio
PLAN = {"en": "Which plan am I on?", "es": "¿Qué plan tengo?"}
MIXED = {
    "en": "What is a waiting period and how much of my dental limit have I used?",
    "es": "¿Qué es un periodo de carencia y cuánto he gastado de mi límite dental?",
}


@pytest.mark.parametrize("locale", ["en", "es"])
async def test_a_fixed_text_comes_first_and_the_answer_after_the_sign_in(stage: Make, locale: str):
    host = stage(signed_in=False)
    paused = await host.say(PLAN[locale], locale=locale)
    text = host.parts.texts.say("sign_in", locale)
    assert paused.text == text
    assert paused.pauses[0].kind == "sign_in"
    assert paused.pauses[0].payload == {"tool": "get_plan_details", "message": text}
    assert tools_of(paused) == []
    played = await host.resume(paused)
    assert tools_of(played) == [("get_plan_details", "ok", None)]
    assert "Family" in played.text
    assert played.ending.finish_reason == "stop"
    assert played.ending.content == paused.text + played.text == played.turn.text


@pytest.mark.parametrize("locale", ["en", "es"])
async def test_the_general_part_comes_first_and_the_members_own_after_the_sign_in(
    stage: Make, locale: str
):
    host = stage(signed_in=False)
    host.wordings.texts = (
        "A waiting period is the time from the start of your cover during which a benefit is not "
        "paid. Un periodo de carencia es el tiempo desde el inicio de la cobertura durante el que "
        "no se paga una prestación.",
    )
    paused = await host.say(MIXED[locale], locale=locale)
    general = host.parts.texts.say("general", locale)
    assert paused.text.startswith(f"{general}\n\n")
    assert host.parts.texts.say("sign_in", locale) not in paused.text
    assert cited(paused) == ["psg-1"]
    assert tools_of(paused) == []
    played = await host.resume(paused)
    own = host.parts.texts.say("own", locale)
    assert played.text.startswith(f"\n\n{own}\n\n")
    assert "420" in played.text
    assert len(searches_of(played)) == 1
    assert cited(played) == []
    assert played.ending.content == paused.text + played.text
    assert played.ending.finish_reason == "stop"


async def test_passages_keep_their_numbers_when_they_are_searched_again(stage: Make):
    host = stage(signed_in=False)
    paused = await host.say(MIXED["en"])
    host.wordings.texts = ("Something else entirely.", *reversed(host.wordings.texts))
    played = await host.resume(paused)
    first = searches_of(paused)[0].documents[0]
    again = searches_of(played)[0].documents[0]
    assert (again.index, again.id) == (first.index, first.id)


async def test_where_documents_have_no_general_part_the_reason_for_the_card_is_said(stage: Make):
    host = stage(signed_in=False)
    host.wordings.is_empty = True
    paused = await host.say(MIXED["en"])
    assert paused.text.startswith("I found nothing about the general part")
    played = await host.resume(paused)
    assert "£420 left" in played.text


@pytest.mark.parametrize("locale", ["en", "es"])
async def test_a_channel_of_text_is_sent_to_the_app_and_does_not_wait(stage: Make, locale: str):
    host = stage(signed_in=False)
    played = await host.say(PLAN[locale], locale=locale, channel="text")
    assert played.text == host.parts.texts.say("sign_in_in_app", locale)
    assert played.ending.finish_reason == "sign_in_required"
    assert tools_of(played) == []


async def test_a_channel_of_text_still_answers_the_general_part(stage: Make):
    played = await stage(signed_in=False).say(MIXED["en"], channel="text")
    assert "the time from the start of your cover" in played.text
    assert played.text.endswith("ask again there.")
    assert played.ending.finish_reason == "sign_in_required"


@pytest.mark.parametrize("channel", ["app", "text"])
async def test_an_action_without_a_sign_in_is_refused_and_does_not_wait(stage: Make, channel: str):
    host = stage(signed_in=False)
    played = await host.say("Call me back about my claim", channel=channel)  # type: ignore[arg-type]
    assert tools_of(played) == [("request_callback", "error", "sign_in_required")]
    assert played.ending.finish_reason == "sign_in_required"
    assert host.acted == []


async def test_somebody_without_a_session_has_no_pause_and_is_told_so(stage: Make):
    played = await stage(signed_in=False).say(PLAN["en"], can_sign_in=False)
    assert tools_of(played) == [("get_plan_details", "error", "sign_in_required")]
    assert played.ending.finish_reason == "sign_in_required"


async def test_somebody_without_a_session_is_answered_from_documents(stage: Make):
    played = await stage(signed_in=False).say("What is a waiting period?", can_sign_in=False)
    assert cited(played) == ["psg-1"]
    assert played.ending.finish_reason == "stop"


async def test_a_token_that_the_portal_does_not_take_any_more_ends_in_a_new_sign_in(stage: Make):
    host = stage()
    host.signed.token = "gone"
    played = await host.say(PLAN["en"])
    assert tools_of(played) == [("get_plan_details", "error", "sign_in_required")]
    assert played.ending.finish_reason == "sign_in_required"
    assert host.signed.token is None, "it is not used again"
    paused = await host.say(PLAN["en"])
    assert paused.pauses[0].kind == "sign_in"


async def test_a_resume_without_a_sign_in_does_not_ask_again_and_reads_nothing(stage: Make):
    host = stage(signed_in=False)
    paused = await host.say(PLAN["en"])
    played = await host.go_on(paused, {paused.pauses[0].pause_id: {"signed_in": True}})
    assert tools_of(played) == [("get_plan_details", "error", "sign_in_required")]
    assert played.ending.finish_reason == "sign_in_required"


async def test_the_text_before_a_dropped_pause_is_in_the_history(stage: Make):
    host = stage(signed_in=False)
    paused = await host.say(PLAN["en"])
    text = host.parts.texts.say("sign_in", "en")
    left = Unsettled(turn_id=paused.work.turn_id, messages=paused.work.messages, content=text)
    await host.say("What is a waiting period?", unsettled=[left])
    assert text in [str(each.content) for each in await host.history()]


async def test_a_turn_that_is_cancelled_in_mid_answer_leaves_no_open_call(stage: Make):
    host = stage()
    left = await host.until(host.begin(PLAN["en"]), NodeStarted, count=5)
    played = await host.say("What is a waiting period?", unsettled=[left])
    assert played.of(TextDelta)
    assert [each for each in await host.history() if getattr(each, "tool_calls", None)] == []
