"""What ``stream_policy: hold`` adds to the time of the first sentence.

    python -m bench.first_sentence

A scripted model says the same answers at a steady pace, once under ``flag`` and once under
``hold``. Three numbers an answer: when its first words are said, when its first sentence is said
in full, and the processor time that redaction and checks take for each token.
"""

import asyncio
import statistics
import time
from dataclasses import dataclass, field
from typing import Final, cast

from turnwire.agents.guarded.generate import sentence_check
from turnwire.agents.guarded.parts import GuardedParts
from turnwire.agents.guarded.voice import Manner, Voice
from turnwire.events import Event
from turnwire.graph.emit import Speaker
from turnwire.models.quoting import Quoting
from turnwire.nodes.answer.gate import Gate
from turnwire.nodes.guardrails.policy import shipped_policy
from turnwire.nodes.guardrails.redactor import Masking

PACE: Final = 0.010
POLICY: Final = shipped_policy("health")
ANSWERS: Final = (
    "A fever is a temperature of 38 °C or higher [1]. Rest, drink water and wear light clothes [2]."
    " See a doctor if it lasts for more than three days, or if you feel worse [2].",
    "Adults need seven to nine hours of sleep a night, e.g. from eleven to seven. [1] Coffee in the"
    " afternoon makes it harder to fall asleep. [2] Keep the room dark, cool and quiet.",
    "¿Cuánta agua? Entre 1,5 y 2 litros al día bastan para la mayoría de los adultos [1]. Con calor"
    " o ejercicio hace falta más [1].",
    "Here is what helps:\n1. Wash your hands often.\n2. Keep a distance of 1.5 m.\n3. Stay home.",
)


@dataclass
class Ear:
    """Hears what is said, and when."""

    began: float = field(default_factory=time.perf_counter)
    heard: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])

    def write(self, batch: object) -> None:
        """Take what a speaker puts on the stream."""
        now = time.perf_counter() - self.began
        self.heard += [(now, getattr(each, "text", "")) for each in cast("list[Event]", batch)]

    def when(self, characters: int) -> float:
        """Return after how many seconds so many characters were there."""
        said = 0
        for at, text in self.heard:
            said += len(text)
            if said >= characters:
                return at
        raise ValueError("the answer is shorter than that")


def main() -> None:
    """Print the numbers."""
    print(f"a token every {PACE * 1000:.0f} ms; medians of 3, in ms, over {len(ANSWERS)} answers")
    for answer in ANSWERS:
        first = len(answer.split("\n")[0].split(". ")[0].split("? ")[0])
        rows = {each: _median(answer, first, each) for each in ("flag", "hold")}
        added = [held - flagged for flagged, held in zip(rows["flag"], rows["hold"], strict=True)]
        for manner, row in rows.items():
            print(f"{manner:5} first words {row[0]:5.0f}  first sentence {row[1]:5.0f}", end="")
            print(f"  CPU a token {row[2] * 1000:5.0f} µs   {answer[:32]!r}")
        print(f"added first words {added[0]:5.0f}  first sentence {added[1]:5.0f}")


def _median(answer: str, first: int, manner: Manner) -> list[float]:
    runs = [asyncio.run(_run(answer, first, manner)) for _ in range(3)]
    return [statistics.median(each) * 1000 for each in zip(*runs, strict=True)]


async def _run(answer: str, first: int, manner: Manner) -> tuple[float, float, float]:
    ear = Ear()
    voice = _voice(ear, manner)
    ear.began = time.perf_counter()
    for each in _tokens(answer):
        await asyncio.sleep(PACE)
        voice.say(each)
    voice.end()
    return ear.when(1), ear.when(first), _work(answer, manner)


def _work(answer: str, manner: Manner) -> float:
    """Return seconds of processor time for a token, without pauses between them."""
    tokens = _tokens(answer)
    voices = [_voice(Ear(), manner) for _ in range(20)]
    before = time.thread_time()
    for voice in voices:
        for each in tokens:
            voice.say(each)
        voice.end()
    return (time.thread_time() - before) / len(tokens) / len(voices)


def _tokens(answer: str) -> list[str]:
    return [answer[at : at + 4] for at in range(0, len(answer), 4)]


def _voice(ear: Ear, manner: Manner) -> Voice:
    parts = GuardedParts(policy=POLICY, model=Quoting(), model_name="none", hitl=True)
    return Voice(
        Speaker(ear.write, None),
        masking=Masking(),
        mapping={},
        gate=Gate(sentence_check(parts, "en"), reach=POLICY.answer_reach),
        manner=manner,
        refusal="",
    )


if __name__ == "__main__":
    main()
