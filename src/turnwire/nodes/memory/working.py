"""Working memory: how far a piece of work has come that takes more than one conversation."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Annotated, Any, Final

from langgraph.store.base import BaseStore
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from turnwire.clock import Now, system_now
from turnwire.errors import StorageUnavailable
from turnwire.graph.context import Asker
from turnwire.nodes.guardrails.policy import Policy
from turnwire.nodes.memory.later import LOG, later
from turnwire.nodes.memory.places import here, somebody, working

_LATEST: Final = 20

_Work = Callable[[BaseStore, Asker, "Working"], Coroutine[Any, Any, None]]

Words = Annotated[str, Field(max_length=2000)]
Name = Annotated[str, Field(min_length=1, max_length=64)]


class Working(BaseModel):
    """What is known so far."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stage: Name
    confirmed: Annotated[dict[Name, Words], Field(max_length=64)] = {}
    """What the user has agreed to, by name."""
    notes: Annotated[tuple[Words, ...], Field(max_length=64)] = ()
    session: str | None = None
    """In which session it was kept last; that is filled in."""


class WorkingMemory:
    """Keeps a user's unfinished work with one agent, a record a session.

        memory = WorkingMemory("architect", policy)

        async def interview(state):
            known = await memory.restore() or Working(stage="purpose")
            ...
            memory.keep(known)  # or memory.clear(known), where the work is done

    It is kept where :class:`turnwire.nodes.memory.episodes.EpisodicMemory` keeps its episodes,
    under the same conditions.
    """

    def __init__(self, agent: str, policy: Policy, *, now: Now = system_now) -> None:
        self._agent = agent
        self._pii = policy.pii
        self._now = now

    async def restore(self) -> Working | None:
        """Return this session's record; in a new session, that of the user's latest one."""
        who, store = somebody(), here()
        if who is None or store is None:
            return None
        place = working(who.principal, self._agent)
        try:
            own = await store.aget(place, who.conversation_id)
            kept = [own] if own else await store.asearch(place, limit=_LATEST)
        except StorageUnavailable:
            LOG.warning("the memory is away; the turn goes on without", extra={"code": "storage"})
            return None
        if not kept:
            return None
        latest = max(kept, key=lambda each: each.value["at_ms"])
        try:
            known = Working.model_validate(latest.value["working"])
        except ValidationError:  # of another version of the agent
            LOG.warning("a working memory is of no known form; it begins anew")
            return None
        return known.model_copy(update={"session": latest.key})

    def keep(self, known: Working) -> None:
        """Keep it as this session's once the turn is complete; it moves here from its session."""
        self._later(self._keep, known)

    def clear(self, known: Working) -> None:
        """Forget it once the turn is complete."""
        self._later(self._clear, known)

    def _later(
        self, work: Callable[[BaseStore, Asker, Working], Coroutine[Any, Any, None]], known: Working
    ) -> None:
        who, store = somebody(), here()
        if who is not None and store is not None:
            later(partial(work, store, who, known))

    async def _keep(self, store: BaseStore, who: Asker, known: Working) -> None:
        place = working(who.principal, self._agent)
        value = {
            "working": await asyncio.to_thread(self._shown, known, who.locale),
            "agent": self._agent,
            "conversation_id": who.conversation_id,
            "turn_id": who.turn_id,
            "at_ms": self._now(),
        }
        await store.aput(place, who.conversation_id, value, index=False)
        if known.session is not None and known.session != who.conversation_id:
            await store.adelete(place, known.session)

    async def _clear(self, store: BaseStore, who: Asker, known: Working) -> None:
        for each in {who.conversation_id, known.session or who.conversation_id}:
            await store.adelete(working(who.principal, self._agent), each)

    def _shown(self, known: Working, locale: str) -> dict[str, object]:
        shown = partial(self._pii.log_text, locale=locale)
        return Working(
            stage=known.stage,
            confirmed={name: shown(each) for name, each in known.confirmed.items()},
            notes=tuple(shown(each) for each in known.notes),
        ).model_dump(mode="json", exclude={"session"})
