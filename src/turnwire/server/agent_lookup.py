"""Which agent a name stands for: a fixed one, or one that is made from a spec."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from turnwire.admission.principal import Principal
from turnwire.engine.agent import Agent
from turnwire.errors import NotFound


class Library(Protocol):
    """Agents that are made from specs when they are needed."""

    async def get_or_build(self, slug: str, username: str, *, is_staff: bool) -> Agent | None:
        """Return the agent as this user may use it, or none where there is none for them.

        Raises:
            AgentInvalid: its spec can't be used any more.
        """
        ...

    async def of_version(self, slug: str, version: str, username: str) -> Agent | None:
        """Return the agent of a version that a turn began with, or none where it is gone."""
        ...

    async def listed(self, username: str, *, is_staff: bool) -> Sequence[Agent]:
        """Return the agents that this user may use."""
        ...


class Agents:
    """Fixed agents by slug, the first is the default; and a library."""

    def __init__(self, fixed: Mapping[str, Agent], library: Library | None = None) -> None:
        self.fixed = fixed
        self.library = library

    async def named(self, slug: str | None, caller: Principal) -> Agent:
        """Return the agent, or the first one where none is named.

        Raises:
            NotFound: there is none of that name for the caller.
            AgentInvalid: its spec can't be used.
        """
        if slug is None:
            return next(iter(self.fixed.values()))
        if slug in self.fixed:
            return self.fixed[slug]
        found = None
        if self.library is not None:
            username, is_staff = username_of(caller.id), caller.may("studio")
            found = await self.library.get_or_build(slug, username, is_staff=is_staff)
        if found is None:
            raise NotFound("There is no such agent.")
        return found

    async def of_version(self, slug: str, version: str | None, *, owner: str) -> Agent | None:
        """Return the agent that a turn of ``owner`` began with, or none where it is gone."""
        if version is None:
            return self.fixed.get(slug)
        if self.library is None:
            return None
        return await self.library.of_version(slug, version, username_of(owner))

    async def listed(self, caller: Principal) -> Sequence[Agent]:
        """Return the agents that the caller may use."""
        more: Sequence[Agent] = ()
        if self.library is not None:
            username, is_staff = username_of(caller.id), caller.may("studio")
            more = await self.library.listed(username, is_staff=is_staff)
        return [*self.fixed.values(), *more]


def username_of(principal: str) -> str:
    """Return the name by which a staff user is known, or the principal's id."""
    return principal.removeprefix("staff:")
