"""Names that can never be changed are on record."""

import re
from pathlib import Path

from turnwire import errors
from turnwire.errors import AdmissionRefused, TurnBroken
from turnwire.events import EVENT_TYPES
from turnwire.server.messages import MESSAGES
from turnwire.wires import answer_frames, execution_frames, studio_frames
from turnwire.wires.answer_account import ANSWER_REPLACED

RECORD = Path(__file__).parents[2] / "docs/decisions/0002-names-are-for-ever.md"

OF_THE_SERVER = {"method_not_allowed", "internal_error"}


def recorded(beginning: str) -> set[str]:
    line = next(
        each for each in RECORD.read_text("utf-8").splitlines() if each.startswith(beginning)
    )
    return set(re.findall(r"`([^`]+)`", line))


def test_the_record_has_the_name_of_every_event():
    names = {each.model_fields["type"].default for each in EVENT_TYPES}
    assert recorded("The events are") == names


def test_the_record_has_the_code_of_every_error_that_a_client_may_see():
    bases = (AdmissionRefused, TurnBroken)
    found = [each for each in vars(errors).values() if isinstance(each, type)]
    codes = {each.code for each in found if issubclass(each, bases) and each not in bases}
    assert recorded("The error codes are") == codes | OF_THE_SERVER


def test_the_record_has_the_name_of_every_frame():
    assert recorded("The frames of the execution wire are") == set(execution_frames.FRAMES)
    answers = {*answer_frames.FRAMES, ANSWER_REPLACED[0]}
    assert recorded("The frames of the answer wire are") == answers
    named = {*studio_frames.FRAMES, *MESSAGES}
    assert recorded("The frames of the studio wire are") == named
