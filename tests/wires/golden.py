"""The bytes that each scenario is on each wire; ``python -m tests.wires.golden`` writes them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.scenarios.every import SCENARIOS
from tests.scenarios.play import Scenario, envelopes
from turnwire.events import Envelope, TextReplaced
from turnwire.ids import Seq
from turnwire.wires.answer import Answer
from turnwire.wires.base import Wire, WireMessage
from turnwire.wires.execution import Execution
from turnwire.wires.framings.sse import frames
from turnwire.wires.framings.websocket import texts
from turnwire.wires.studio import Studio

FOLDER: Final = Path(__file__).parent.parent / "golden"


def told(wire: Wire, log: Sequence[Envelope]) -> list[WireMessage]:
    """Return a whole stream: what is said of each event, and what closes it."""
    said = [message for each in log for message in wire.say(each)]
    return [*said, *wire.end(error_id="err_wire")]


def execution_path(scenario: Scenario, *, tokens: bool) -> Path:
    return FOLDER / f"{scenario.name}.execution{'-tokens' if tokens else ''}.sse"


def execution_said(log: Sequence[Envelope], *, tokens: bool) -> bytes:
    return frames(told(Execution(tokens=tokens), log))


def answer_path(scenario: Scenario, *, again: bool = False) -> Path:
    """Return the file of the live stream, or of one that is told when all has happened."""
    return FOLDER / f"{scenario.name}.answer{'-again' if again else ''}.sse"


def answer_said(log: Sequence[Envelope], *, again: bool = False) -> bytes:
    return frames(told(answer_wire(log, again=again), log))


def answer_wire(log: Sequence[Envelope], *, again: bool = False) -> Answer:
    replaced = [each.seq for each in log if isinstance(each.event, TextReplaced)]
    return Answer(replaced_at=max(replaced, default=Seq(0)) if again else Seq(0))


def studio_path(scenario: Scenario) -> Path:
    return FOLDER / f"{scenario.name}.studio.jsonl"


def studio_said(log: Sequence[Envelope]) -> bytes:
    """Return the text messages of a socket, one a line."""
    return "".join(f"{each}\n" for each in texts(told(Studio(), log))).encode()


def golden() -> Iterator[tuple[Path, bytes]]:
    """Yield every golden file with what belongs in it."""
    for scenario in SCENARIOS:
        log = envelopes(scenario)
        for tokens in (False, True):
            yield execution_path(scenario, tokens=tokens), execution_said(log, tokens=tokens)
        yield answer_path(scenario), answer_said(log)
        yield studio_path(scenario), studio_said(log)
        if any(isinstance(each.event, TextReplaced) for each in log):
            yield answer_path(scenario, again=True), answer_said(log, again=True)


if __name__ == "__main__":
    for path, wanted in golden():
        path.write_bytes(wanted)
