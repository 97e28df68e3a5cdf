"""Checkpoints that load only what they may, and say what could not be stored."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, cast

from langgraph._internal._serde import build_serde_allowlist
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.pregel import Pregel
from pydantic import BaseModel

from turnwire.errors import TurnwireError


class NotStorable(TurnwireError):
    """A value in the graph's state can't be kept in a checkpoint; the text names its path."""


def declared_types(graph: Pregel[Any, Any, Any, Any]) -> set[tuple[str, ...]]:
    """Return module and name of the types that the state of a graph and its subgraphs declares.

    A strict serializer revives these and no others. LangGraph collects them itself only where its
    strict mode was on when it was imported, and a copy of a graph loses them.
    """
    inner = cast("Iterable[tuple[str, Any]]", graph.get_subgraphs(recurse=True))
    graphs: list[Any] = [graph, *(each for _, each in inner)]
    declared: set[tuple[str, ...]] = set()
    for each in graphs:
        declared |= build_serde_allowlist(channels=each.channels)
    return declared


class StrictSerializer(JsonPlusSerializer):
    """LangGraph's serializer, strict: it revives safe types and the graph's own, no others.

    The default revives whatever a checkpoint's row names, which runs code on load; see
    docs/decisions. What can't be stored is named by its path, never by its value.
    """

    def __init__(self) -> None:
        super().__init__(allowed_msgpack_modules=None)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:  # noqa: ANN401 - LangGraph's signature
        """Return the stored form of ``obj``, or raise :class:`NotStorable`."""
        try:
            return super().dumps_typed(obj)
        except Exception as error:
            where = next(self._culprits(obj, "state"), f"state ({type(obj).__name__})")
            raise NotStorable(f"this can't be kept in a checkpoint: {where}") from error

    def _culprits(self, value: object, path: str) -> Iterator[str]:
        if self._fits(value):
            return
        inner = list(_members(value, path))
        for each, its_path in inner:
            yield from self._culprits(each, its_path)
        yield f"{path} ({type(value).__name__})"

    def _fits(self, value: object) -> bool:
        try:
            super().dumps_typed(value)
        except Exception:
            return False
        return True


def _members(value: object, path: str) -> list[tuple[object, str]]:
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return [(each, f"{path}.{key}") for key, each in items]
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        listed = cast("Sequence[object]", value)
        return [(each, f"{path}[{n}]") for n, each in enumerate(listed)]
    return [(getattr(value, name), f"{path}.{name}") for name in _fields(value)]


def _fields(value: object) -> list[str]:
    if isinstance(value, BaseModel):
        return list(type(value).model_fields)
    return [each.name for each in dataclasses.fields(value)] if is_dataclass(value) else []
