"""LangGraph's interrupts as pauses, and people's answers on their way back."""

from collections.abc import Mapping
from typing import Any, Final, cast

from langgraph.types import Interrupt
from pydantic import JsonValue, TypeAdapter

from turnwire.events import Pause, PauseKind
from turnwire.graph.pause import MARK
from turnwire.graph.plain import to_json
from turnwire.ids import PauseId

_PREFIXES: Final[Mapping[str, str]] = {"review": "rev", "confirmation": "cnf"}


def to_pause(interrupt: Interrupt, *, at: int) -> Pause:
    """Return the pause that asks what ``interrupt`` asks, from ``at`` (ms) on.

    The id holds LangGraph's own, so it is the same before and after a restart. An interrupt of
    a graph that does not use :func:`turnwire.graph.pause.ask` is of kind ``input``.
    """
    kind, payload, expires_in = _question(interrupt.value)
    return Pause(
        pause_id=PauseId(f"{_PREFIXES.get(kind, 'pse')}_{interrupt.id}"),
        kind=kind,
        payload=to_json(payload),
        response_schema=_schema(interrupt.response_schema),
        requested_ms=at,
        expires_ms=None if expires_in is None else at + int(expires_in * 1000),
    )


def resume_map(answers: Mapping[PauseId, JsonValue]) -> dict[str, JsonValue]:
    """Return the answers by LangGraph's interrupt ids."""
    return {pause_id.partition("_")[2]: value for pause_id, value in answers.items()}


def _question(value: object) -> tuple[PauseKind, object, float | None]:
    if isinstance(value, Mapping) and MARK in value:
        asked = cast("Mapping[str, Any]", value)
        return asked[MARK], asked["payload"], asked["expires_in"]
    return "input", cast("object", value), None


def _schema(declared: object) -> dict[str, JsonValue] | None:
    if declared is None:
        return None
    if isinstance(declared, dict):
        schema = to_json(cast("object", declared))
    else:
        schema = to_json(TypeAdapter(cast("Any", declared)).json_schema())
    return schema if isinstance(schema, dict) else None
