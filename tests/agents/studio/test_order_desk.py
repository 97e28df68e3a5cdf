"""The order desk as it ships, without a provider."""

from pathlib import Path

import pytest

from tests.agents.studio.stage import ORDER, Stage, shipped, thoughts_of, tools_of
from turnwire.events import ActionCompleted
from turnwire.nodes.tools.arguments import hash_of

pytestmark = pytest.mark.anyio

RELEASE = f"Please release purchase order {ORDER}"


@pytest.fixture
def desk(tmp_path: Path) -> Stage:
    return Stage(tmp_path, shipped("order-desk"))


async def test_a_table_is_read_and_told(desk: Stage):
    played = await desk.say("Which orders are blocked?")
    assert tools_of(played) == [("read_table", "ok", None)]
    assert "order: 4500001042" in played.text
    assert "4500001044" not in played.text
    assert thoughts_of(played) == "I read the orders that are blocked."
    ended = [node for node, _ in played.completed if node in ("thinker", "look_up", "reply")]
    assert ended == ["thinker", "look_up", "thinker", "reply"]
    assert played.ending.finish_reason == "stop"


async def test_it_speaks_spanish(desk: Stage):
    played = await desk.say("¿Cuáles son los artículos del pedido 4500001043?", locale="es")
    assert played.text.startswith("El portal dice:")
    assert "Nitrile gloves" in played.text
    assert thoughts_of(played) == "Leo las posiciones del pedido 4500001043."


async def test_a_release_waits_for_an_approval_and_is_done_then(desk: Stage):
    played = await desk.say(RELEASE)
    [pause] = played.pauses
    assert pause.kind == "approval"
    assert isinstance(pause.payload, dict)
    assert pause.payload["action"] == "release_purchase_order"
    assert pause.payload["params"] == {"order": ORDER}
    assert desk.released == []
    done = await desk.decide(played, approved=True)
    [released] = desk.released
    assert released["body"] == {"order": ORDER}
    assert released["member_number"] == "maria.lopez"
    assert released["idempotency_key"] == pause.pause_id
    assert [each.status for each in done.of(ActionCompleted)] == ["ok"]
    assert "status: released" in done.text
    assert desk.book.noted[0][1] == "ok"


async def test_a_rejection_goes_to_the_node_that_the_spec_names(desk: Stage):
    done = await desk.decide(await desk.say(RELEASE), approved=False)
    assert desk.released == []
    assert "was not released" in done.text
    assert done.ending.finish_reason == "declined"
    assert [each.status for each in done.of(ActionCompleted)] == ["rejected"]


async def test_edited_parameters_are_what_is_done(desk: Stage):
    played = await desk.say(RELEASE)
    edited = {"order": "4500001043", "note": "urgent"}
    hashed = hash_of("release_purchase_order", edited)
    await desk.decide(played, approved=True, edited=edited, granted=hashed)
    assert [each["body"] for each in desk.released] == [edited]


async def test_edited_parameters_without_their_own_grant_do_nothing(desk: Stage):
    played = await desk.say(RELEASE)
    done = await desk.decide(played, approved=True, edited={"order": "4500001043"})
    assert desk.released == []
    assert tools_of(done) == []
    assert "no valid confirmation" in done.text


async def test_edited_parameters_that_do_not_pass_the_schema_do_nothing(desk: Stage):
    played = await desk.say(RELEASE)
    await desk.decide(played, approved=True, edited={"order": "all of them"})
    assert desk.released == []


async def test_who_may_not_use_a_tool_is_never_asked_to_approve_it(tmp_path: Path):
    desk = Stage(tmp_path, shipped("order-desk"), allowed=frozenset({"read_table"}))
    played = await desk.say(RELEASE)
    assert "does not allow this" in played.ending.content
    assert desk.released == []


async def test_the_portal_has_the_last_word_on_who_may_release(desk: Stage):
    played = await desk.say(RELEASE, user="staff:clerk")
    done = await desk.decide(played, approved=True)
    assert tools_of(done) == [("release_purchase_order", "error", "not_allowed")]
    assert desk.released == []


async def test_what_fits_no_form_is_answered_all_the_same(desk: Stage):
    played = await desk.say("What is the weather like?")
    assert played.ending.content
    assert tools_of(played) == []


async def test_nothing_of_a_turn_is_left_for_the_next_one(desk: Stage):
    await desk.say("Show me the suppliers")
    again = await desk.say("Which orders are blocked?")
    assert "Northgate" not in again.text
    assert "4500001042" in again.text


async def test_no_secret_is_in_what_is_stored(desk: Stage):
    await desk.decide(await desk.say(RELEASE), approved=True)
    assert "demo-service-key" not in desk.stored()
