"""What a member corrects while an action waits is asked about again, and changes nothing else."""

from collections.abc import Callable

import pytest

from tests.agents.member.stage import Stage
from tests.agents.member.test_confirmations import left_by
from tests.agents.member.test_slots import asks
from turnwire.agents.member.corrections import corrected
from turnwire.agents.member.slots import told
from turnwire.events import Pause, TurnPaused
from turnwire.work import Unsettled

pytestmark = pytest.mark.anyio

HOME = {
    "line1": "12 Harbour Street",
    "city": "Bristol",
    "postcode": "BS1 4ST",
    "country": "United Kingdom",
}
CASA = {"line1": "Calle Mayor 12", "city": "Madrid", "postcode": "28013", "country": "Spain"}
CALL = {"reason": "my claim", "preferred_time": "tomorrow at 3pm"}


@pytest.mark.parametrize(
    ("tool", "before", "text", "changed"),
    [
        (
            "change_address",
            HOME,
            "no wait, it is 14 Harbour Street",
            {"line1": "14 Harbour Street"},
        ),
        ("change_address", HOME, "Sorry, number 14", {"line1": "14 Harbour Street"}),
        ("change_address", HOME, "actually it's BS2 8QT", {"postcode": "BS2 8QT"}),
        ("change_address", CASA, "no, mejor el número 14", {"line1": "Calle Mayor 14"}),
        ("change_address", CASA, "no, es 14", {"line1": "Calle Mayor 14"}),
        ("change_address", HOME, "no, 14 harbour street", {"line1": "14 harbour street"}),
        ("change_address", CASA, "perdón, es Calle Luna 3", {"line1": "Calle Luna 3"}),
        ("change_address", CASA, "no, 28014 Madrid", {"postcode": "28014"}),
        ("request_callback", CALL, "no, at 5pm", {"preferred_time": "at 5pm"}),
        ("request_callback", CALL, "Make it Friday morning", {"preferred_time": "Friday morning"}),
        ("request_callback", CALL, "mejor el lunes", {"preferred_time": "el lunes"}),
        ("request_callback", CALL, "actually about my bill", {"reason": "my bill"}),
    ],
)
def test_a_detail_is_corrected_and_the_others_stay(
    tool: str, before: dict[str, str], text: str, changed: dict[str, str]
):
    assert corrected(tool, text, before=before, asks=asks) == {**before, **changed}


@pytest.mark.parametrize(
    "text",
    [
        "12 Harbour Street is where I live",
        "no, I have 3 claims",
        "No, 3 claims are missing",
        "actually 5 sessions of physio is what I need",
        "no, it is not 14 Harbour Street",
        "no thanks",
        "wait",
        "no, it is 12 Harbour Street",
        "Is my daughter covered?",
    ],
)
def test_what_corrects_nothing_tells_no_details(text: str):
    assert corrected("change_address", text, before=HOME, asks=asks) == {}


def test_when_a_member_cannot_be_called_is_no_time_for_a_call():
    text = "Sorry, I cannot talk today"
    assert corrected("request_callback", text, before=CALL, asks=asks) == {}


def test_a_postcode_in_front_of_its_town_is_read_where_the_street_is_known():
    given = {"line1": "Calle Mayor 12"}
    found = told("change_address", "city", "28013 Madrid, España", before=given, asks=asks)
    assert found == CASA


@pytest.mark.parametrize(
    ("messages", "locale", "summary"),
    [
        (
            (
                "Change my address to 12 Harbour Street, Bristol BS1 4ST",
                "no wait, it is 14 Harbour Street",
            ),
            "en",
            "14 Harbour Street, Bristol BS1 4ST",
        ),
        (
            (
                "Quiero cambiar mi dirección",
                "Calle Mayor 12",
                "28013 Madrid, España",
                "no, mejor el número 14",
            ),
            "es",
            "Calle Mayor 14, Madrid 28013, España",
        ),
        (
            ("Please call me back about my claim tomorrow", "no, please call me on Friday instead"),
            "en",
            "my claim (preferred time: on Friday)",
        ),
    ],
)
async def test_what_was_corrected_is_proposed_anew(
    stage: Callable[..., Stage], messages: tuple[str, ...], locale: str, summary: str
):
    member = stage()
    asked: list[Pause] = []
    unsettled: list[Unsettled] = []
    for each in messages:
        played = await member.say(each, locale=locale, unsettled=unsettled)
        unsettled = [left_by(played)] if played.of(TurnPaused) else []
        asked += [pause for paused in played.of(TurnPaused) for pause in paused.pauses]
    payload = asked[-1].payload
    assert isinstance(payload, dict)
    assert summary in str(payload["summary"])
    assert len({each.pause_id for each in asked}) == len(asked)
    assert member.acted == []


async def test_another_question_that_begins_with_a_no_drops_the_wish(stage: Callable[..., Stage]):
    member = stage()
    waits = await member.say("Change my address to 12 Harbour Street, Bristol BS1 4ST")
    question = "No, how many physio sessions do I have left on my plan?"
    played = await member.say(question, unsettled=[left_by(waits)])
    assert played.of(TurnPaused) == []
    assert "physiotherapy" in played.text
