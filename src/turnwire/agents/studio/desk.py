"""The portal's task API as tools, for the staff's agents.

    tools = desk_tools(client, service_key="…")

Each task is sent on behalf of whoever owns the conversation; the portal decides what they may have
done. The service's key stands here and in no state, event or log.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import httpx
from pydantic import JsonValue

from turnwire.agents.studio.primitives.common import username_of
from turnwire.nodes.tools.tool import Caller, Run, Tool, ToolFailed

_TABLES: Final = ("suppliers", "purchase_orders", "order_items")
_TEXTS: Final[Mapping[str, Mapping[str, str]]] = {
    "not_allowed": {
        "en": "The portal does not allow this for you.",
        "es": "El portal no le permite hacer esto.",
    },
    "not_accepted": {
        "en": "The portal did not accept this: there is no such field, or nothing to release.",
        "es": "El portal no lo ha aceptado: no existe ese campo, o no hay nada que liberar.",
    },
    "unavailable": {
        "en": "The portal did not answer. Please try again later.",
        "es": "El portal no ha respondido. Inténtelo de nuevo más tarde.",
    },
}
_CODES: Final = {403: "not_allowed", 400: "not_accepted", 409: "not_accepted", 422: "not_accepted"}
_FIELD: Final[dict[str, JsonValue]] = {"type": "string", "maxLength": 100}


def desk_tools(client: httpx.AsyncClient, *, service_key: str) -> Sequence[Tool]:
    """Return the tools of an order desk that speaks as the demo portal does (docs/portal.md)."""
    send = _Desk(client, service_key).task
    return (
        Tool(
            name="read_table",
            description="Read rows of a table of the order desk: suppliers, purchase_orders or "
            "order_items; by field values, and only the fields that are wanted.",
            parameters={
                "type": "object",
                "additionalProperties": False,
                "required": ["table"],
                "properties": {
                    "table": {"enum": list(_TABLES)},
                    "filter": {
                        "type": "object",
                        "maxProperties": 10,
                        "additionalProperties": _FIELD,
                        "description": "By field, the value that it has to have.",
                    },
                    "fields": {"type": "array", "maxItems": 20, "items": _FIELD},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 100},
                },
            },
            run=send("read_table", is_action=False),
        ),
        Tool(
            name="release_purchase_order",
            description="Release a blocked purchase order, so that its supplier delivers.",
            parameters={
                "type": "object",
                "additionalProperties": False,
                "required": ["order"],
                "properties": {
                    "order": {"type": "string", "pattern": "^[0-9]{10}$"},
                    "note": {"type": "string", "minLength": 1, "maxLength": 200},
                },
            },
            run=send("release_purchase_order", is_action=True),
            risk="write",
            receipt="release_id",
            idempotent=True,
            summary={
                "en": "Release purchase order {order}[ with the note: {note}]",
                "es": "Liberar el pedido de compra {order}[ con la nota: {note}]",
            },
        ),
    )


class _Desk:
    def __init__(self, client: httpx.AsyncClient, service_key: str) -> None:
        self._client = client
        self._key = service_key

    def task(self, name: str, *, is_action: bool) -> Run:
        """Return what has a task done."""

        async def run(arguments: Mapping[str, JsonValue], caller: Caller) -> JsonValue:
            headers = {
                "Authorization": f"Bearer {self._key}",
                "X-On-Behalf-Of": username_of(caller.principal),
            }
            if caller.idempotency_key is not None:
                headers["Idempotency-Key"] = caller.idempotency_key
            body = {"task": name, "params": dict(arguments)}
            try:
                response = await self._client.post("/service/tasks", json=body, headers=headers)
            except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout):
                raise _failed("unavailable", caller) from None  # it was never sent
            except (httpx.HTTPError, httpx.InvalidURL):
                raise _failed("unavailable", caller, is_doubtful=is_action) from None
            return _told(response, caller, is_action=is_action)

        return run


def _told(response: httpx.Response, caller: Caller, *, is_action: bool) -> JsonValue:
    if not response.is_success:
        code = _CODES.get(response.status_code, "unavailable")
        is_doubtful = is_action and response.status_code >= 500
        raise _failed(code, caller, is_doubtful=is_doubtful)
    try:
        told: Any = response.json()
    except ValueError:
        if is_action:  # it was done, which counts more than what was said of it
            return {}
        raise _failed("unavailable", caller) from None
    return told


def _failed(code: str, caller: Caller, *, is_doubtful: bool = False) -> ToolFailed:
    texts = _TEXTS[code]
    public = texts.get(caller.locale.partition("-")[0], texts["en"])
    return ToolFailed(public, code=code, happened=None if is_doubtful else False)
