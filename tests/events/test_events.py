"""The vocabulary: closed, frozen, and the same after it was stored."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.scenarios.every import SCENARIOS
from tests.scenarios.play import Scenario, envelopes
from turnwire.events import (
    EVENT,
    EVENT_TYPES,
    Envelope,
    Event,
    Pause,
    TextDelta,
    ToolStarted,
    TurnFailed,
    TurnPaused,
    pack,
    unpack,
)
from turnwire.ids import PauseId, RunId, Seq, TurnId

ANY_TEXT = st.text(st.characters(exclude_categories=()))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
KIND = pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda each: each.__name__)


def envelope(seq: int, event: Event) -> Envelope:
    return Envelope(Seq(seq), TurnId("trn_1"), RunId("run_1"), 1_800_000_000_000, event)


def test_the_list_of_types_is_the_union():
    assert get_args(Event) == EVENT_TYPES


@KIND
def test_a_name_on_the_wire_is_noun_and_verb_of_the_class(kind: type[Any]):
    noun, verb = kind.model_fields["type"].default.split(".")

    assert kind.__name__ == noun.title() + verb.title()


@KIND
def test_an_undeclared_field_is_refused_where_the_event_is_made(kind: type[Any]):
    with pytest.raises(ValidationError, match="Extra inputs"):
        kind(surprise=1)


def test_an_event_never_changes():
    event = TextDelta(text="a")

    with pytest.raises(ValidationError, match="frozen"):
        event.text = "b"


def test_names_on_the_wire_are_unique():
    names = [each.model_fields["type"].default for each in EVENT_TYPES]

    assert len(set(names)) == len(names)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_what_was_packed_is_unpacked(scenario: Scenario):
    log = envelopes(scenario)

    assert list(unpack(scenario.turn_id, pack(log))) == log


@given(st.lists(ANY_TEXT), JSON)
def test_any_text_and_any_json_is_packed_as_text_that_a_database_takes(
    texts: list[str],
    payload: Any,  # noqa: ANN401
):
    pause = Pause(pause_id=PauseId("pse_1"), kind="input", payload=payload, requested_ms=1)
    events: list[Event] = [TextDelta(text=each) for each in texts]
    events += [
        ToolStarted(tool_call_id="c", name="n", arguments={"a": payload}),
        TurnPaused(pauses=(pause,)),
    ]
    log = [envelope(n, each) for n, each in enumerate(events, start=1)]

    packed = pack(log)

    packed.encode()
    assert list(unpack(TurnId("trn_1"), packed)) == log


def test_an_unknown_event_is_refused():
    with pytest.raises(ValidationError):
        EVENT.validate_python({"type": "turn.exploded"})


def test_a_failure_carries_what_a_client_may_show():
    assert set(TurnFailed.model_fields) == {"type", "code", "message", "retryable", "error_id"}
