"""The wire of a stream, as it stands after what its client has heard."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Final, cast

from turnwire.errors import RequestInvalid
from turnwire.events import Envelope, TextReplaced
from turnwire.ids import BEGINNING, TurnId
from turnwire.server.turns import Followed
from turnwire.storage.base import EventLog
from turnwire.wires.answer import Answer
from turnwire.wires.base import Wire
from turnwire.wires.execution import Execution
from turnwire.wires.studio import Studio

NAMES: Final = ("execution", "answer")


async def attached(
    name: str, followed: Followed, log: EventLog, *, tokens: bool, documents: str | None = None
) -> Wire:
    """Return the wire called ``name`` for a client that attaches to a turn.

    Raises:
        RequestInvalid: there is no such wire.
    """
    match name:
        case "execution":
            wire = Execution(tokens=tokens)
            if followed.after > BEGINNING:
                _tell(wire, await _so_far(log, followed.turn_id), followed)
            return wire
        case "answer":
            return await answer(followed, log, documents=documents)
        case _:
            raise RequestInvalid(("wire", f"is not one of: {', '.join(NAMES)}"))


async def answer(followed: Followed, log: EventLog, *, documents: str | None = None) -> Answer:
    """Return the answer wire for a turn that may have said something before."""
    if followed.is_new:
        return Answer(documents=documents)
    known = await _so_far(log, followed.turn_id)
    replaced = [each.seq for each in known if isinstance(each.event, TextReplaced)]
    wire = Answer(replaced_at=max(replaced, default=BEGINNING), documents=documents)
    _tell(wire, known, followed)
    return wire


async def studio(
    followed: Followed, log: EventLog, *, client_message_id: str | None, retells: bool
) -> Studio:
    """Return the studio wire for a turn that may have said something before."""
    wire = Studio(client_message_id=client_message_id, retells=retells)
    if followed.after > BEGINNING:
        _tell(wire, await _so_far(log, followed.turn_id), followed)
    return wire


def _tell(wire: Wire, known: Sequence[Envelope], followed: Followed) -> None:
    for each in known:
        if each.seq <= followed.after:
            wire.hear(each)


async def _so_far(log: EventLog, turn_id: TurnId) -> list[Envelope]:
    """Return all that is known of a turn now, also what is not in the store yet."""
    known: list[Envelope] = []
    following = log.follow(turn_id, after=BEGINNING, patience=0)
    async with aclosing(cast("AsyncGenerator[Sequence[Envelope], None]", following)) as batches:
        async for batch in batches:
            if not batch:
                break
            known += batch
    return known
