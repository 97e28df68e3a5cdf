"""A gate before any node, its expiry, and the limits that end a loop."""

from pathlib import Path

import pytest

from tests.agents.studio.stage import Said, Stage, shipped

pytestmark = pytest.mark.anyio

BARE = """\
slug: publisher
title: Publisher
nodes:
  - {id: publish, type: message, text: {en: It is published.}}
  - {id: kept, type: message, text: {en: It stays a draft.}, finish_reason: declined}
edges:
  - {from: start, to: publish}
  - {from: publish, to: end}
  - {from: kept, to: end}
interrupt_before:
  publish: {on_reject: kept, expires_seconds: 60}
"""
DESK = shipped("order-desk")
READ = '{"thought": "again", "call": {"operation": "read_table", "params": {"table": "suppliers"}}}'


async def test_any_node_can_wait_for_an_approval_that_expires(tmp_path: Path):
    stage = Stage(tmp_path, BARE)
    played = await stage.say("Go")
    [pause] = played.pauses
    assert (pause.kind, pause.payload) == (
        "approval",
        {"action": "publish", "node": "publish", "params": {}},
    )
    assert pause.expires_ms == pause.requested_ms + 60_000
    assert (await stage.decide(played, approved=True)).text == "It is published."


async def test_a_rejection_of_any_node_goes_where_the_spec_says(tmp_path: Path):
    stage = Stage(tmp_path, BARE)
    done = await stage.decide(await stage.say("Go"), approved=False)
    assert done.text == "It stays a draft."
    assert done.ending.finish_reason == "declined"


async def test_too_many_steps_end_a_loop_with_their_reason(tmp_path: Path):
    stage = Stage(tmp_path, DESK, models={"thinker": Said(replies=[READ])})
    played = await stage.say("Which suppliers are there?")
    assert played.ending.finish_reason == "iteration_limit"
    assert "more steps than one answer may (8)" in played.ending.content


async def test_too_long_a_time_ends_a_loop_with_its_reason(tmp_path: Path):
    text = DESK.replace("seconds: 120", "seconds: 0.001")  # the stage's clock goes on by itself
    stage = Stage(tmp_path, text, models={"thinker": Said(replies=[READ])})
    played = await stage.say("Which suppliers are there?")
    assert played.ending.finish_reason == "time_limit"
    assert "takes longer than one answer may (0.001 s)" in played.ending.content


async def test_too_high_a_cost_ends_a_loop_with_its_reason(tmp_path: Path):
    ending = {"finish_reason": "stop", "turnwire": {"model": "thinker", "usd": 0.7}}
    thinker = Said(replies=[READ], ending=ending)
    stage = Stage(tmp_path, DESK, models={"thinker": thinker})
    played = await stage.say("Which suppliers are there?")
    assert played.ending.finish_reason == "cost_limit"
    assert "costs more than one answer may (US$ 1)" in played.ending.content
    assert thinker.said == 2


async def test_a_limit_is_told_in_the_users_language(tmp_path: Path):
    stage = Stage(tmp_path, DESK, models={"thinker": Said(replies=[READ])})
    played = await stage.say("¿Qué proveedores hay?", locale="es")
    assert played.ending.content.startswith("Me detengo aquí")
