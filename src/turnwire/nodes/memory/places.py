"""Where what is remembered stands in a LangGraph store: all of a user under one prefix."""

from typing import Final
from urllib.parse import quote

from langgraph.config import get_store
from langgraph.store.base import BaseStore

from turnwire.admission.principal import EPHEMERAL
from turnwire.graph.context import Asker, asker

Place = tuple[str, ...]

ROOT: Final = "memory"
EPISODES: Final = "episodes"
WORKING: Final = "working"

# A store joins the labels of a namespace by dots.
_DOT: Final = "%2E"


def of_user(principal: str) -> Place:
    """Return the prefix of all that is remembered of a user."""
    return (ROOT, _label(principal))


def episodes(principal: str, agent: str) -> Place:
    """Return where the episodes of a user with an agent stand, by the id of their turn."""
    return (*of_user(principal), EPISODES, _label(agent))


def working(principal: str, agent: str) -> Place:
    """Return where a user's working memory with an agent stands, by the id of its session."""
    return (*of_user(principal), WORKING, _label(agent))


def somebody() -> Asker | None:
    """Return whose turn the running node works on, if it is somebody who can come back."""
    found = asker()
    return None if found is None or found.principal.startswith(EPHEMERAL) else found


def here() -> BaseStore | None:
    """Return the running graph's store, or none outside a run and without one."""
    try:
        return get_store()
    except (RuntimeError, KeyError):
        return None


def _label(name: str) -> str:
    return quote(name, safe="").replace(".", _DOT)
