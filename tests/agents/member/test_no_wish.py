"""Messages that speak of an action and do not ask for it."""

from collections.abc import Callable

import pytest

from tests.agents.member.stage import Stage, tools_of
from tests.agents.member.test_routing import ROUTER

pytestmark = pytest.mark.anyio

CALLED_OFF = """
Cancel my call back
please cancel the callback I asked for
don't call me back
Do not call me, thanks
Please don't phone me tomorrow
I don't want a call back any more
no need to call me
You don't need to ring me, it is sorted
I'd rather not be called, no phone call please
I want to cancel the call
Don't change my address
please do not update my address
I don't need to change my address after all
Undo my change of address
cancel the address change
No me llames
no me llamen, por favor
Cancelen mi llamada
quiero cancelar la llamada que pedí
Ya no quiero que me llamen
No hace falta que me llamen
no necesito que me llame nadie
Anule la llamada, por favor
No cambien mi dirección
no quiero cambiar mi dirección
Deshagan el cambio de dirección
cancela el cambio de domicilio
"""
ASKED_AFTER = """
get_callbacks Did you call me back?
get_callbacks did somebody phone me yesterday
get_callbacks Have you called me?
get_callbacks Why did nobody call me back?
get_callbacks When will you call me back?
get_callbacks Will somebody ring me?
get_callbacks Are you going to call me?
get_callbacks Nobody has called me back yet
get_callbacks I already asked for a call back
get_callbacks is my callback still arranged?
get_callbacks has a call been booked for me?
get_callbacks I am still waiting for your call
get_callbacks ¿Me han llamado?
get_callbacks ¿Me habéis llamado ya?
get_callbacks ¿Cuándo me van a llamar?
get_callbacks ¿cuándo me llamarán?
get_callbacks ¿Por qué no me ha llamado nadie?
get_callbacks Todavía no me han llamado
get_callbacks Ya pedí que me llamaran
get_callbacks sigo esperando la llamada
get_my_details I have already changed my address
get_my_details I changed my address last week
get_my_details Did you change my address?
get_my_details Have you updated my address yet?
get_my_details Has my address been changed?
get_my_details did you get my new address?
get_my_details why did you change my address?
get_my_details Ya he cambiado mi dirección
get_my_details ya cambié mi dirección la semana pasada
get_my_details ¿Han cambiado mi dirección?
get_my_details ¿Habéis actualizado ya mi dirección?
get_my_details ¿Está cambiada mi dirección?
get_my_details ¿Cuándo cambiarán mi dirección?
"""
WISHES = """
request_callback Nobody has called me back yet, please call me
request_callback Can you call me back?
request_callback Could you please call me when you have a minute?
request_callback You haven't called me back, so please call me today
request_callback I'd like you to call me tomorrow
request_callback I can't call you, please call me
request_callback Have someone call me
request_callback ¿Me puede llamar alguien esta tarde?
request_callback Nadie me ha llamado. Llámenme, por favor
request_callback quiero que me llamen mañana
change_address I've moved, please change my address
change_address I have just moved, my new address is 4 Elm Road, Derby, DE1 1AB
change_address We have already moved. Please update our address
change_address Me he mudado, cambien mi dirección
change_address Ya nos hemos mudado, nuestra nueva dirección es Calle Sol 5, Sevilla, 41001, España
"""


def lines(listed: str) -> list[str]:
    return listed.strip().splitlines()


def actions_of(message: str) -> list[str]:
    wish = ROUTER.wish(message)
    acts = ("request_callback", "change_address")
    return [name for name, _ in wish.tools if name in acts]


@pytest.mark.parametrize("message", lines(CALLED_OFF))
def test_a_negated_or_cancelled_wish_proposes_nothing(message: str):
    wish = ROUTER.wish(message)
    assert (wish.tools, wish.knowledge) == ((), ())
    assert wish.no_wish_for == (
        "change_address"
        if any(each in message.lower() for each in ("address", "direcci", "domicilio"))
        else "request_callback"
    )


@pytest.mark.parametrize("line", lines(ASKED_AFTER))
def test_a_question_about_an_action_is_for_what_the_file_says_of_it(line: str):
    tool, message = line.split(maxsplit=1)
    assert [name for name, _ in ROUTER.wish(message).tools] == [tool]


@pytest.mark.parametrize("line", lines(WISHES))
def test_a_wish_is_still_a_wish(line: str):
    tool, message = line.split(maxsplit=1)
    assert actions_of(message) == [tool]


@pytest.mark.parametrize(
    ("message", "locale", "said"),
    [
        (
            "Cancel my call back",
            "en",
            "I have asked for no new call. If one was arranged before, I cannot cancel it",
        ),
        ("No me llames", "es", "No he pedido ninguna llamada nueva."),
        ("Don't change my address", "en", "I have changed nothing."),
    ],
)
async def test_what_is_called_off_is_answered_honestly(
    stage: Callable[..., Stage], message: str, locale: str, said: str
):
    member = stage()
    played = await member.say(message, locale=locale)
    assert (played.ending.finish_reason, tools_of(played), member.acted) == ("stop", [], [])
    assert said in played.text


async def test_what_was_asked_for_is_told_from_the_file(stage: Callable[..., Stage]):
    member = stage()
    played = await member.say("Did you call me back?")
    assert "There is no call-back in your file." in played.text
    await member.decide(await member.say("Call me about my crown claim"), "approve")
    played = await member.say("When will you call me back?")
    assert tools_of(played) == [("get_callbacks", "ok", None)]
    assert "about: my crown claim; its reference is CB-" in played.text
    assert "Whether you have been called I cannot see here." in played.text
    assert len(member.acted) == 1


async def test_a_call_that_waits_for_the_members_word_is_dropped_with_its_calling_off(
    stage: Callable[..., Stage],
):
    member = stage()
    await member.say("Call me about my crown claim")
    played = await member.say("no, don't call me back")
    assert (played.ending.finish_reason, member.acted) == ("stop", [])
    assert "I have done nothing" in played.text
    played = await member.say("yes")
    assert (played.ending.finish_reason, member.acted) == ("stop", [])


async def test_a_wish_beside_one_that_is_called_off_is_proposed(stage: Callable[..., Stage]):
    member = stage()
    address = "9 Oak Street, Hull, HU1 1AA, UK"
    played = await member.say(f"Don't call me back. Change my address to {address}")
    (asked,) = played.pauses
    assert "9 Oak Street" in str(asked.payload)
