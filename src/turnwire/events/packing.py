"""Envelopes of one turn as one piece of JSON, as a log keeps them.

A row of the JSON is ``[seq, run_id, ts_ms, event]``. Consecutive words are one row together,
``[seq, run_id, [ts_ms, …], [text, …]]``: they are nine of ten events.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any

from turnwire.events.text import TextDelta
from turnwire.events.union import EVENT, Envelope
from turnwire.ids import RunId, Seq, TurnId


def pack(envelopes: Sequence[Envelope]) -> str:
    """Return JSON that :func:`unpack` reads back; all envelopes belong to one turn."""
    rows = list(_rows(envelopes))
    packed = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    try:
        packed.encode()
    except UnicodeEncodeError:  # half a character, which no database takes but as an escape
        return json.dumps(rows, separators=(",", ":"))
    return packed


def unpack(turn_id: TurnId, packed: str) -> Iterable[Envelope]:
    """Yield the envelopes of one turn that were packed together."""
    for first, run, ts_ms, said in json.loads(packed):
        run_id = RunId(run)
        if isinstance(ts_ms, int):
            yield Envelope(Seq(first), turn_id, run_id, ts_ms, EVENT.validate_python(said))
            continue
        for seq, at, text in zip(count(first), ts_ms, said, strict=False):
            yield Envelope(Seq(seq), turn_id, run_id, at, TextDelta(text=text))


def _rows(envelopes: Sequence[Envelope]) -> Iterator[list[Any]]:
    times: list[int] = []
    texts: list[str] = []
    words: list[Any] = []
    for seq, _, run_id, ts_ms, event in envelopes:
        if type(event) is not TextDelta:
            if words:
                yield words
                words = []
            yield [seq, run_id, ts_ms, event.model_dump(mode="json")]
            continue
        if not words or words[1] != run_id:
            if words:
                yield words
            times, texts = [], []
            words = [seq, run_id, times, texts]
        times.append(ts_ms)
        texts.append(event.text)
    if words:
        yield words
