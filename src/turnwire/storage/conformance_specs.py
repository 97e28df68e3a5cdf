"""What every store has to do about specs, as checks like those of ``conformance``."""

import asyncio
from typing import Final

from turnwire.storage.base import Store
from turnwire.storage.conformance import Check

_AT: Final = 1_800_000_000_000


async def versions_are_numbered_by_agent_and_kept_as_they_are(store: Store) -> None:
    """A version has the next number of its agent, its text to the letter, and its phase."""
    await store.add_spec("desk", "slug: desk\n# ñ\n", phase="draft", author="maria", now=_AT)
    await store.add_spec("other", "slug: other\n", phase="published", author="tom", now=_AT)
    await store.add_spec("desk", "slug: desk\n", phase="published", author="tom", now=_AT + 1)
    found = await store.specs("desk")
    assert [(each.version, each.phase, each.author) for each in found] == [
        (1, "draft", "maria"),
        (2, "published", "tom"),
    ]
    assert found[0].text == "slug: desk\n# ñ\n"
    assert [(each.slug, each.version) for each in await store.specs()] == [
        ("desk", 1),
        ("desk", 2),
        ("other", 1),
    ]
    assert await store.specs("nobody") == []


async def of_many_versions_at_once_each_has_its_own_number(store: Store) -> None:
    """Fifty who save at once leave fifty versions."""
    added = await asyncio.gather(
        *(
            store.add_spec("desk", f"slug: desk # {n}", phase="published", author="a", now=_AT)
            for n in range(50)
        )
    )
    assert sorted(each.version for each in added) == list(range(1, 51))


CHECKS: Final[tuple[Check, ...]] = (
    versions_are_numbered_by_agent_and_kept_as_they_are,
    of_many_versions_at_once_each_has_its_own_number,
)
