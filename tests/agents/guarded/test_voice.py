"""What a model says and thinks gets out in the manner that the policy asks for."""

from typing import cast

import pytest

from turnwire.agents.guarded.voice import Manner, Voice
from turnwire.events import Event, ReasoningDelta, TextDelta, TextReplaced
from turnwire.graph.emit import Speaker
from turnwire.nodes.answer.gate import Gate, Trip
from turnwire.nodes.guardrails.redactor import Masking

MAPPING = {"[PHONE_1]": "91 123 45 67"}


class Heard(list[Event]):
    def voice(self, manner: Manner, masking: Masking | None = None) -> Voice:
        def check(text: str) -> Trip | None:
            return Trip("persona_stability", ("shouts",)) if "NO" in text else None

        def write(batch: object) -> None:
            self.extend(cast("list[Event]", batch))

        return Voice(
            Speaker(write, None),
            masking=masking or Masking(),
            mapping=MAPPING,
            gate=Gate(check, reach=5),
            manner=manner,
            refusal="Sorry.",
        )

    def texts(self, kind: type[TextDelta | ReasoningDelta | TextReplaced]) -> list[str]:
        return [each.text for each in self if isinstance(each, kind)]


@pytest.mark.parametrize("manner", ["hold", "flag", "retract", "silent"])
def test_own_details_come_back_and_others_are_masked_in_the_draft(manner: Manner):
    heard = Heard()
    voice = heard.voice(manner)
    for each in "Call [PHONE_1], not 612345678. Or ask.":
        voice.say(each)
    voice.end()

    assert voice.draft == "Call 91 123 45 67, not [PHONE]. Or ask."
    assert "".join(heard.texts(TextDelta)) == ("" if manner == "silent" else voice.draft)
    assert voice.held == (manner == "silent")
    assert voice.redacted == ("PHONE",)


def test_reasoning_is_masked_however_it_is_cut():
    heard = Heard()
    voice = heard.voice("hold")
    for each in "They gave 4111 1111 1111 1111 to [PHONE_1].":
        voice.think(each)
    voice.say("Well.")
    voice.end()

    assert "".join(heard.texts(ReasoningDelta)) == "They gave [CARD] to [PHONE_1]."


@pytest.mark.parametrize(
    ("script", "said", "replaced"),
    [(["NO way. So we"], ["Sorry."], []), (["Well. NO", " way. So we."], ["Well. "], ["Sorry."])],
)
def test_what_may_not_be_said_is_replaced_at_once(
    script: list[str], said: list[str], replaced: list[str]
):
    heard = Heard()
    voice = heard.voice("hold")
    for each in script:
        voice.say(each)

    assert (heard.texts(TextDelta), heard.texts(TextReplaced)) == (said, replaced)
    voice.end()
    assert voice.draft == "Sorry."
    assert not voice.held


def test_nothing_follows_a_value_that_is_blocked():
    heard = Heard()
    voice = heard.voice("flag", Masking({"CARD": "block"}))
    for each in "Pay 4111 1111 1111 1111 now. And then.":
        voice.say(each)
    voice.end()

    assert heard.texts(TextReplaced) == ["Sorry."]
    assert "".join(heard.texts(TextDelta)) == "Pay "
    assert voice.stopped == Trip("pii", ("card",))
