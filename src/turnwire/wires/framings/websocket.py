"""One JSON object a text message: RFC 6455, section 5.6."""

from collections.abc import Iterable

from turnwire.wires.base import WireMessage


def texts(messages: Iterable[WireMessage]) -> list[str]:
    """Return each message's text: ``type`` first, then of a turn's message its ``turn_id`` and
    ``seq``, then what it carries."""
    return [_text(*each) for each in messages]


def _text(id: str, name: str, data: str) -> str:
    head = f'{{"type":"{name}"'
    if id:
        turn_id, _, seq = id.rpartition(".")
        head = f'{head},"turn_id":"{turn_id}","seq":{seq}'
    return head + ("}" if data == "{}" else "," + data[1:])
