"""Find somebody's graph by the name they gave on the command line."""

import importlib
import sys
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, cast

from langgraph.graph.state import StateGraph
from langgraph.pregel import Pregel

from turnwire.errors import SetupError
from turnwire.graph.agent import Graph
from turnwire.graph.context import TurnContext
from turnwire.graph.manifest import Manifest


def load(name: str) -> tuple[Graph, Manifest]:
    """Return the graph that ``package.module:graph`` names, with its manifest.

    The attribute is a compiled graph, a ``StateGraph``, or a function without arguments that
    returns one. The module may hold a :class:`Manifest` named ``<graph>_manifest``, or ``manifest``
    where all its graphs share one.

    Raises:
        SetupError: the module, the attribute or the graph is not usable; the text says why.
    """
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise SetupError(f"--agent {name!r}: write it as package.module:graph")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise SetupError(f"--agent {name!r}: importing {module_name} failed: {error}") from error
    if not hasattr(module, attribute):
        raise SetupError(f"--agent {name!r}: {module_name} has no attribute {attribute!r}")
    graph = _graph(name, getattr(module, attribute))
    manifest = getattr(module, f"{attribute}_manifest", getattr(module, "manifest", None))
    if not isinstance(manifest, Manifest):
        manifest = Manifest(slug=attribute.replace("_", "-"), title=attribute)
    _check(name, graph, manifest)
    return graph, manifest


def _check(name: str, graph: Graph, manifest: Manifest) -> None:
    """Raise :class:`SetupError` for what would only fail in a member's turn."""
    if "messages" not in graph.channels:
        raise SetupError(
            f"--agent {name!r}: the graph's state has no `messages` channel; "
            "derive it from langgraph.graph.MessagesState"
        )
    if manifest.answer_node is not None and manifest.answer_node not in graph.nodes:
        raise SetupError(
            f"--agent {name!r}: the manifest's answer_node {manifest.answer_node!r} is not one "
            f"of the graph's nodes: {', '.join(sorted(graph.nodes))}"
        )
    unknown = _needed(graph.context_schema) - {each.name for each in fields(TurnContext)}
    if unknown:
        raise SetupError(
            f"--agent {name!r}: the graph's context_schema needs {', '.join(sorted(unknown))}, "
            "which a turn does not have; give them defaults, or take what "
            "turnwire.graph.context.TurnContext has"
        )


def _needed(schema: Any) -> set[str]:  # noqa: ANN401 - a dataclass, a model or a TypedDict
    """Return the fields of a context schema that have no default."""
    if schema is None:
        return set()
    if is_dataclass(schema):
        return {
            each.name
            for each in fields(schema)
            if each.default is MISSING and each.default_factory is MISSING
        }
    if hasattr(schema, "model_fields"):
        return {name for name, each in schema.model_fields.items() if each.is_required()}
    return set(getattr(schema, "__required_keys__", ()))


def _graph(name: str, found: object, *, made: bool = False) -> Graph:
    if isinstance(found, StateGraph):
        return cast("Graph", cast("StateGraph[Any, Any, Any, Any]", found).compile())
    if isinstance(found, Pregel):
        return cast("Graph", found)
    if callable(found) and not made:
        try:
            built = cast("Callable[[], object]", found)()
        except Exception as error:
            raise SetupError(f"--agent {name!r}: calling it failed: {error}") from error
        return _graph(name, built, made=True)
    raise SetupError(f"--agent {name!r}: it is {type(found).__name__}, not a LangGraph graph")
