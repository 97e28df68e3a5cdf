"""The studio wire: its frames, their order, and what a client holds that comes back."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from tests.scenarios.every import SCENARIOS
from tests.scenarios.play import Scenario, envelopes
from tests.scenarios.turns import PLAIN
from tests.wires.golden import studio_path, studio_said, told
from turnwire.events import (
    RUN_ENDINGS,
    Envelope,
    TextDelta,
    TextReplaced,
    ToolStarted,
    TurnPaused,
)
from turnwire.wires.base import FRAME_BYTES
from turnwire.wires.framings.websocket import texts
from turnwire.wires.studio import Studio
from turnwire.wires.studio_frames import FRAMES

EACH = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
_OF_ALL = ("type", "turn_id", "seq")


def said(log: Sequence[Envelope], wire: Studio | None = None) -> list[dict[str, Any]]:
    return [json.loads(each) for each in texts(told(wire or Studio(), log))]


def text_of(log: Sequence[Envelope]) -> str:
    text = ""
    for each in log:
        if isinstance(each.event, TextDelta):
            text += each.event.text
        elif isinstance(each.event, TextReplaced):
            text = each.event.text
    return text


def shown(frames: Sequence[dict[str, Any]]) -> str:
    text = ""
    for each in frames:
        if each["type"] == "token":
            text += each["content"]
        elif each["type"] == "text_replaced":
            text = each["content"]
    return text


@EACH
def test_the_messages_are_the_golden_ones(scenario: Scenario):
    assert studio_said(envelopes(scenario)) == studio_path(scenario).read_bytes()


@EACH
def test_each_frame_is_of_its_type_and_says_where_it_stands(scenario: Scenario):
    for each in said(envelopes(scenario)):
        body = {name: value for name, value in each.items() if name not in _OF_ALL}
        FRAMES[each["type"]].model_validate(body)
        if each["type"] != "error":
            assert each["turn_id"]
            assert each["seq"] >= 1


@EACH
def test_a_client_shows_the_words_of_the_log(scenario: Scenario):
    log = envelopes(scenario)
    assert shown(said(log)) == text_of(log)


@EACH
def test_numbers_never_go_back_and_every_run_has_one_end(scenario: Scenario):
    log = envelopes(scenario)
    frames = said(log)
    numbers = [each["seq"] for each in frames if "seq" in each]
    assert all(one <= next_ for one, next_ in pairwise(numbers))
    ended = [each for each in frames if each["type"] in ("done", "error", "approval_request")]
    wanted = sum(
        len(each.event.pauses) if isinstance(each.event, TurnPaused) else 1
        for each in log
        if isinstance(each.event, RUN_ENDINGS)
    )
    cut = not isinstance(log[-1].event, RUN_ENDINGS)
    assert len(ended) == wanted + cut
    assert frames[-1]["type"] in ("done", "error", "approval_request")


@EACH
def test_who_comes_back_after_any_event_hears_the_rest_once(scenario: Scenario):
    log = envelopes(scenario)
    whole = said(log)
    for position in range(1, len(log)):
        wire = Studio(retells=False)
        for each in log[:position]:
            wire.hear(each)
        rest = [json.loads(each) for each in texts(told(wire, log[position:]))]
        heard = log[position - 1].seq
        after = [each for each in whole if each.get("seq", heard + 1) > heard]
        assert _without_ids(rest) == _without_ids(after), position


def _without_ids(frames: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**each, "error_id": None} for each in frames]


def test_a_frame_that_outgrows_a_clients_buffer_is_told_in_short():
    huge = ToolStarted(tool_call_id="call_1", name="search", arguments={"q": "x" * 200_000})
    envelope = envelopes(PLAIN)[0]._replace(event=huge)
    (message,) = Studio().say(envelope)
    assert len(message.data.encode()) <= FRAME_BYTES
    assert json.loads(message.data)["arguments"] == {"truncated": True}
