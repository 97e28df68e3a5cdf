"""Readers of server-sent events that we did not write, or that are careless."""

import httpx
from httpx_sse import EventSource, ServerSentEvent


def parsed(body: bytes) -> list[ServerSentEvent]:
    """Read a stream with httpx-sse."""
    headers = {"content-type": "text/event-stream; charset=utf-8"}
    response = httpx.Response(200, headers=headers, content=body)
    return list(EventSource(response).iter_sse())


def split_carelessly(body: bytes) -> list[dict[str, str]]:
    """Read a stream as a client does that splits lines the Unicode way."""
    blocks: list[dict[str, str]] = [{}]
    for line in body.decode().splitlines():
        if not line:
            blocks.append({})
        else:
            name, _, value = line.partition(": ")
            blocks[-1][name] = value
    return [each for each in blocks if each]
