"""Agents made from specs: each built once, found again by a look-up, replaced with its spec.

    agent = await factory.get_or_build("order-desk", "maria.lopez", is_staff=True)

An agent is kept by slug, version and the tools that its users may use, so that nobody gets one
that was built for somebody who may do more. A turn holds the agent with which it began.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Final, TypeAlias
from weakref import WeakValueDictionary

from turnwire.agents.studio.compile import compile_spec
from turnwire.agents.studio.errors import SpecInvalid
from turnwire.agents.studio.parts import StudioParts, may, tools_of
from turnwire.agents.studio.reading import read_spec
from turnwire.agents.studio.spec import Spec
from turnwire.errors import NotFound, RequestInvalid
from turnwire.graph.agent import Graph, GraphAgent
from turnwire.graph.manifest import Manifest
from turnwire.storage.specs import SpecPhase, SpecRecord, SpecStore

MOST: Final = 64
"""Agents that are kept built."""

Make: TypeAlias = Callable[[Graph, Manifest], GraphAgent]
Key: TypeAlias = tuple[str, str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Current:
    """The version of an agent that new turns get."""

    spec: Spec
    version: str


def shipped() -> Mapping[str, str]:
    """Return the specs that ship, by slug."""
    folder = files("turnwire.agents.studio") / "specs"
    found = sorted(folder.iterdir(), key=lambda each: each.name)
    return {
        each.name.removesuffix(".yaml"): each.read_text("utf-8")
        for each in found
        if each.name.endswith(".yaml")
    }


def shipped_version(text: str) -> str:
    """Return the version of a spec that ships, which changes with its text."""
    return f"shipped-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


class Factory:
    """Makes agents of specs.

    Args:
        parts: what they are made of.
        store: where staff's specs are kept.
        make: makes an agent of a graph.
        specs: those that ship, by slug; what staff write under the same slug takes their place.
        taken: slugs of other agents, which no spec may have.
    """

    def __init__(
        self,
        parts: StudioParts,
        store: SpecStore,
        make: Make,
        *,
        specs: Mapping[str, str],
        taken: frozenset[str] = frozenset(),
    ) -> None:
        self._parts = parts
        self._store = store
        self._make = make
        self._shipped = specs
        self._taken = taken
        self._current: dict[str, Current] = {}
        self._broken: dict[str, SpecInvalid] = {}
        self._built: OrderedDict[Key, GraphAgent] = OrderedDict()
        self._locks: WeakValueDictionary[Key, asyncio.Lock] = WeakValueDictionary()
        self.builds = 0
        """How many agents were built so far."""

    async def open(self) -> None:
        """Read every agent's latest version; one that can't be used is told to who asks for it."""
        for slug, text in self._shipped.items():
            await self._take(slug, text, shipped_version(text))
        for record in await self._store.specs():
            if record.phase == "published":
                await self._take(record.slug, record.text, str(record.version))

    async def get_or_build(
        self, slug: str, username: str, *, is_staff: bool = True
    ) -> GraphAgent | None:
        """Return the agent as this user may use it, or none where there is none for them.

        Raises:
            SpecInvalid: its spec can't be used any more.
        """
        current = self._current.get(slug)
        if current is None:
            if is_staff and slug in self._broken:
                raise self._broken[slug]
            return None
        if not _may_use(current.spec, username, is_staff=is_staff):
            return None
        return await self._agent(current, username)

    async def of_version(self, slug: str, version: str, username: str) -> GraphAgent | None:
        """Return the agent of a version that a turn began with, or none where it is gone."""
        current = self._current.get(slug)
        if current is not None and current.version == version:
            return await self._agent(current, username)
        key = next((each for each in self._built if each[:2] == (slug, version)), None)
        text = await self._text(slug, version)
        if key is None and text is None:
            return None
        try:
            spec = await asyncio.to_thread(self.read, slug, text or "")
        except SpecInvalid:
            return None
        return await self._agent(Current(spec, version), username)

    async def listed(self, username: str, *, is_staff: bool) -> Sequence[GraphAgent]:
        """Return the agents that this user may use."""
        found = [
            await self.get_or_build(slug, username, is_staff=is_staff)
            for slug in sorted(self._current)
        ]
        return [each for each in found if each is not None]

    def read(self, slug: str, text: str, *, name: str | None = None) -> Spec:
        """Return a spec that may be kept under ``slug``.

        Raises:
            SpecInvalid: it can't be used.
            RequestInvalid: it names another slug, or one that is another agent's.
        """
        spec = read_spec(text, name=name or f"{slug}.yaml", known=self._parts.known())
        if spec.slug != slug:
            raise RequestInvalid(("slug", f"the spec is one of {spec.slug!r}"))
        if slug in self._taken:
            raise RequestInvalid(("slug", f"{slug!r} is the name of another agent"))
        return spec

    async def put(
        self, slug: str, text: str, *, author: str, now: int, phase: SpecPhase = "published"
    ) -> SpecRecord:
        """Keep a text as the agent's next version; a published one is what new turns get.

        Raises:
            SpecInvalid, RequestInvalid: as :meth:`read`.
        """
        spec = await asyncio.to_thread(self.read, slug, text)
        record = await self._store.add_spec(slug, text, phase=phase, author=author, now=now)
        if phase == "published":
            self._replace(slug, Current(spec, str(record.version)))
        return record

    async def roll_back(self, slug: str, version: str, *, author: str, now: int) -> SpecRecord:
        """Keep an earlier version, or a draft, as the agent's next one.

        Raises:
            NotFound: there is no such version.
        """
        text = await self._text(slug, version)
        if text is None:
            raise NotFound("There is no such version.")
        return await self.put(slug, text, author=author, now=now)

    async def versions(self, slug: str) -> tuple[Sequence[SpecRecord], str | None]:
        """Return what was kept of an agent, oldest first, and the text of the current version."""
        current = self._current.get(slug)
        records = await self._store.specs(slug)
        text = await self._text(slug, current.version) if current else None
        return records, text

    def version(self, slug: str) -> str | None:
        """Return the version that new turns get."""
        current = self._current.get(slug)
        return current.version if current else None

    async def _take(self, slug: str, text: str, version: str) -> None:
        try:
            spec = await asyncio.to_thread(self.read, slug, text)
        except SpecInvalid as error:
            self._broken[slug] = error
            self._current.pop(slug, None)
        except RequestInvalid:
            self._current.pop(slug, None)
        else:
            self._replace(slug, Current(spec, version))

    def _replace(self, slug: str, current: Current) -> None:
        before = self._current.get(slug)
        if before is not None and _number(before.version) > _number(current.version):
            return  # somebody has put a later one meanwhile
        self._current[slug] = current
        self._broken.pop(slug, None)

    async def _text(self, slug: str, version: str) -> str | None:
        text = self._shipped.get(slug)
        if text is not None and shipped_version(text) == version:
            return text
        for record in await self._store.specs(slug):
            if str(record.version) == version:
                return record.text
        return None

    async def _agent(self, current: Current, username: str) -> GraphAgent:
        key = (current.spec.slug, current.version, tools_of(current.spec, username))
        found = self._built.get(key)
        if found is not None:
            self._built.move_to_end(key)
            return found
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            found = self._built.get(key)
            if found is None:
                found = await asyncio.to_thread(self._build, current, key[2])
                self._built[key] = found
                while len(self._built) > MOST:
                    self._built.popitem(last=False)
        return found

    def _build(self, current: Current, allowed: frozenset[str]) -> GraphAgent:
        self.builds += 1
        graph, manifest = compile_spec(current.spec, self._parts, allowed=allowed)
        return self._make(graph, replace(manifest, version=current.version))


def _may_use(spec: Spec, username: str, *, is_staff: bool) -> bool:
    is_audience = is_staff or spec.access.audience == "everyone"
    return is_audience and may(username, spec.access.users)


def _number(version: str) -> int:
    return int(version) if version.isdecimal() else 0
