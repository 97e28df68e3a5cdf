"""Agents are built once, found by a look-up, and replaced with their spec."""

import asyncio
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from tests.agents.studio.stage import Stage, shipped
from turnwire.agents.studio import factory as module
from turnwire.agents.studio.errors import SpecInvalid
from turnwire.agents.studio.factory import Factory
from turnwire.errors import NotFound, RequestInvalid
from turnwire.graph.agent import GraphAgent
from turnwire.graph.serializer import StrictSerializer
from turnwire.storage.memory import MemoryStore

pytestmark = pytest.mark.anyio

DESK = shipped("order-desk")


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
async def factory(tmp_path: Path, store: MemoryStore) -> Factory:
    stage = Stage(tmp_path, DESK)
    saver = InMemorySaver(serde=StrictSerializer())
    made = Factory(
        stage.parts,
        store,
        lambda graph, manifest: GraphAgent(graph, manifest, saver=saver, now=stage.now),
        specs={"order-desk": DESK},
        taken=frozenset({"guarded"}),
    )
    await made.open()
    return made


async def test_of_fifty_who_ask_at_once_one_builds(factory: Factory):
    asked = (factory.get_or_build("order-desk", f"user{n}") for n in range(50))
    found = await asyncio.gather(*asked)
    assert len({id(each) for each in found}) == 1
    assert factory.builds == 1


async def test_a_builder_that_is_cancelled_takes_nobody_with_it(factory: Factory):
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(factory.get_or_build("order-desk", "a")) for _ in range(5)]
        await asyncio.sleep(0)
        tasks[0].cancel()
    assert [each.result() is not None for each in tasks[1:]] == [True] * 4


async def test_a_hit_awaits_nothing(factory: Factory):
    await factory.get_or_build("order-desk", "a")
    asked = factory.get_or_build("order-desk", "a")
    with pytest.raises(StopIteration):
        asked.send(None)


async def test_a_changed_spec_is_a_new_agent_and_who_holds_the_old_one_keeps_it(factory: Factory):
    old = await factory.get_or_build("order-desk", "a")
    text = DESK.replace("title: Order desk", "title: Desk of orders")
    record = await factory.put("order-desk", text, author="maria", now=1)
    new = await factory.get_or_build("order-desk", "a")
    assert old is not None
    assert new is not None
    assert (old.title, new.title, new.version) == ("Order desk", "Desk of orders", "1")
    assert record.version == 1
    assert old.version is not None
    assert await factory.of_version("order-desk", old.version, "a") is old
    back = await factory.roll_back("order-desk", old.version, author="tom", now=2)
    again = await factory.get_or_build("order-desk", "a")
    assert again is not None
    assert (again.title, again.version, back.author) == ("Order desk", "2", "tom")


async def test_who_may_do_less_never_gets_the_agent_of_who_may_do_more(factory: Factory):
    text = DESK.replace(
        "access: {audience: staff}",
        "access: {audience: staff, tools: {release_purchase_order: [maria, 'buy*']}}",
    )
    await factory.put("order-desk", text, author="maria", now=1)
    names = ("maria", "buyer", "clerk", "other")
    maria, buyer, clerk, other = [await factory.get_or_build("order-desk", each) for each in names]
    assert maria is buyer
    assert clerk is other
    assert maria is not clerk


async def test_who_is_not_named_has_no_such_agent(factory: Factory):
    text = DESK.replace("{audience: staff}", "{audience: staff, users: [maria]}")
    await factory.put("order-desk", text, author="maria", now=1)
    assert await factory.get_or_build("order-desk", "tom") is None
    assert await factory.get_or_build("order-desk", "maria", is_staff=False) is None
    assert [each.slug for each in await factory.listed("maria", is_staff=True)] == ["order-desk"]
    assert await factory.listed("tom", is_staff=True) == []


async def test_what_cannot_be_used_is_not_kept(factory: Factory, store: MemoryStore):
    with pytest.raises(SpecInvalid):
        await factory.put("order-desk", "slug: order-desk", author="a", now=1)
    with pytest.raises(RequestInvalid, match="one of 'order-desk'"):
        await factory.put("other", DESK, author="a", now=1)
    guarded = DESK.replace("slug: order-desk", "slug: guarded")
    with pytest.raises(RequestInvalid, match="another agent"):
        await factory.put("guarded", guarded, author="a", now=1)
    with pytest.raises(NotFound):
        await factory.roll_back("order-desk", "7", author="a", now=1)
    assert await store.specs() == []


async def test_a_draft_is_served_to_nobody_until_it_is_published(factory: Factory):
    text = DESK.replace("slug: order-desk", "slug: mine")
    await factory.put("mine", text, author="a", now=1, phase="draft")
    assert await factory.get_or_build("mine", "a") is None
    await factory.roll_back("mine", "1", author="a", now=2)
    found = await factory.get_or_build("mine", "a")
    assert found is not None
    assert found.version == "2"


async def test_a_stored_spec_that_went_bad_is_told_when_it_is_asked_for(
    factory: Factory, store: MemoryStore
):
    text = DESK.replace("read_table", "gone_tool").replace("slug: order-desk", "slug: old")
    await store.add_spec("old", text, phase="published", author="a", now=1)
    await factory.open()
    with pytest.raises(SpecInvalid, match="there is no tool 'gone_tool'"):
        await factory.get_or_build("old", "a")
    assert await factory.get_or_build("order-desk", "a") is not None


async def test_so_many_agents_are_kept_and_no_more(
    factory: Factory, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "MOST", 2)
    for number in range(4):
        text = DESK.replace("slug: order-desk", f"slug: desk-{number}")
        await factory.put(f"desk-{number}", text, author="a", now=1)
        await factory.get_or_build(f"desk-{number}", "a")
    before = factory.builds
    await factory.get_or_build("desk-3", "a")
    assert factory.builds == before
    await factory.get_or_build("desk-0", "a")
    assert factory.builds == before + 1
