"""A second look at the candidates of a search, by whatever model the operator brings.

    TURNWIRE_RERANKER=my_package.rerank:cross_encoder

names a function without arguments that returns the reranker. No weights ship with turnwire.
"""

import importlib
import logging
import sys
from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path
from typing import Final, Literal, Protocol, cast

from turnwire.errors import SetupError
from turnwire.retrieval.selection import Candidate

_LOG: Final = logging.getLogger("turnwire.retrieval")

Reranked = Literal["ok", "off", "fallback", "skipped_by_client"]


class Reranker(Protocol):
    """Says how well each text answers a query; called from any thread, within a node's time."""

    def __call__(self, query: str, texts: Sequence[str], /) -> Sequence[float]:
        """Return one finite number a text, the larger the better."""
        ...


def load_reranker(name: str) -> Reranker:
    """Return the reranker that the function ``package.module:factory`` makes.

    Raises:
        SetupError: it cannot be imported or made; the text says why.
    """
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise SetupError(f"reranker {name!r}: write it as package.module:factory")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        factory = getattr(importlib.import_module(module_name), attribute)
        made = cast("Callable[[], object]", factory)()
    except Exception as error:
        raise SetupError(f"reranker {name!r}: {type(error).__name__}: {error}") from error
    if not callable(made):
        raise SetupError(
            f"reranker {name!r}: it returned {type(made).__name__}; return a callable that takes "
            "a query and texts, and returns a score for each text"
        )
    return cast("Reranker", made)


def rerank(
    query: str, ranked: Sequence[Candidate], reranker: Reranker | None, *, hint: bool | None
) -> tuple[Sequence[Candidate], Reranked]:
    """Return the candidates in the reranker's order, or as they were where it is of no use.

    Its failure is logged by its kind and never fails the search.
    """
    if reranker is None:
        return ranked, "off"
    if hint is False:
        return ranked, "skipped_by_client"
    try:
        scores = [float(each) for each in reranker(query, [each.passage.text for each in ranked])]
    except Exception as error:
        _LOG.error("reranker failed: %s", type(error).__name__)
        return ranked, "fallback"
    if len(scores) != len(ranked) or not all(map(isfinite, scores)):
        _LOG.error("reranker gave %d usable scores for %d texts", len(scores), len(ranked))
        return ranked, "fallback"
    order = sorted(range(len(ranked)), key=lambda at: -scores[at])
    return [ranked[at] for at in order], "ok"
