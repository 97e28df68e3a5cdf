"""The bytes that each scenario is on each wire; ``python -m tests.wires.golden`` writes them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.scenarios.play import Scenario, envelopes
from tests.scenarios.turns import SCENARIOS
from turnwire.events import Envelope
from turnwire.wires.execution import Execution
from turnwire.wires.framings.sse import frames

FOLDER: Final = Path(__file__).parent.parent / "golden"


def path(scenario: Scenario, *, tokens: bool) -> Path:
    return FOLDER / f"{scenario.name}.execution{'-tokens' if tokens else ''}.sse"


def said(log: Sequence[Envelope], *, tokens: bool) -> bytes:
    wire = Execution(tokens=tokens)
    return frames(message for each in log for message in wire.say(each))


if __name__ == "__main__":
    for scenario in SCENARIOS:
        for tokens in (False, True):
            path(scenario, tokens=tokens).write_bytes(said(envelopes(scenario), tokens=tokens))
