"""What a conversation keeps of its turns is what the policy's sink ``memory`` lets it keep."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiosqlite
import pytest

from tests.agents.guarded.stage import HEALTH, Shelf
from tests.graph.stage import Host, Played
from tests.models.scripted import Scripted
from turnwire.agents.guarded import GuardedParts, build, manifest
from turnwire.graph.agent import GraphAgent
from turnwire.graph.saver import SqliteSaver
from turnwire.graph.serializer import StrictSerializer
from turnwire.nodes.guardrails.pii_rules import PiiRules

MAIL, PHONE = "quillon@example.test", "+1 202-555-0143"
ASKED = f"Is 39 °C a fever? I am {MAIL}"
SAYS = "Yes, [EMAIL_1], it is [1]."


def parts(memory: str, script: Sequence[Any] = (SAYS,), **more: Any) -> GuardedParts:  # noqa: ANN401
    pii = PiiRules.model_validate({"sinks": {"memory": memory}})
    named: dict[str, Any] = {"model_name": "scripted", "retriever": Shelf(), **more}
    return GuardedParts(
        policy=HEALTH.model_copy(update={"pii": pii}), model=Scripted(script=list(script)), **named
    )


def host_of(made: GuardedParts) -> Host:
    return Host(build(made), manifest(made))


def model_of(made: GuardedParts) -> Scripted:
    assert isinstance(made.model, Scripted)
    return made.model


def on_disk(folder: Path) -> bytes:
    return b"".join(each.read_bytes() for each in folder.iterdir())


@pytest.mark.parametrize(("memory", "kept"), [("redact", "[EMAIL]"), ("block", "[EMAIL]")])
def test_the_member_reads_their_own_words_and_the_conversation_keeps_none(memory: str, kept: str):
    host = host_of(parts(memory))

    played = asyncio.run(host.play(ASKED))

    assert played.ending.content == f"Yes, {MAIL}, it is [1]."
    assert MAIL not in host.stored()
    assert kept in host.stored()


def test_of_a_message_that_is_blocked_only_the_kind_stays():
    host = host_of(parts("block"))

    async def remembered() -> list[str]:
        await host.play(ASKED)
        return [each.text for each in await host.messages()]

    assert asyncio.run(remembered()) == ["[EMAIL]", "[EMAIL]"]


def test_a_later_turn_reads_that_there_was_something_and_puts_nothing_back():
    made = parts("redact")
    host = host_of(made)

    async def both() -> Played:
        await host.play(ASKED)
        return await host.play(f"And with {PHONE}?")

    later = asyncio.run(both())

    read = str(model_of(made).prompts[-1])
    assert "I am [EMAIL]" in read
    assert "with [PHONE_1]?" in read
    assert later.ending.content.startswith("Yes, [EMAIL_1]"), "which stands for nothing any more"
    assert MAIL not in host.stored()


def test_where_memory_is_left_alone_a_later_turn_puts_the_members_words_back():
    host = host_of(parts("none"))

    async def both() -> Played:
        await host.play(ASKED)
        return await host.play("And at night?")

    assert asyncio.run(both()).ending.content == f"Yes, {MAIL}, it is [1]."
    assert MAIL in host.stored()


def test_while_a_turn_waits_for_a_person_its_words_are_kept_and_then_no_longer():
    made = parts("redact", ["Take 500 mg every 6 hours, [EMAIL_1] [1]."], hitl=True)
    host = host_of(made)

    async def paused() -> Played:
        played = await host.play(ASKED)
        (asked,) = played.pauses
        assert MAIL in host.stored()
        return await host.answer(played, {asked.pause_id: {"decision": "approve"}})

    ended = asyncio.run(paused())

    assert MAIL in ended.ending.content
    assert MAIL not in host.stored()


def test_the_file_of_checkpoints_has_none_of_the_words_left(tmp_path: Path):
    made = parts("redact")

    async def play() -> None:
        async with aiosqlite.connect(tmp_path / "checkpoints.db") as connection:
            saver = SqliteSaver(connection, serde=StrictSerializer())
            await saver.setup()
            host = host_of(made)
            host.agent = GraphAgent(build(made), manifest(made), saver=saver, now=host.now)
            for _ in range(2):
                await host.play(ASKED)
            files = on_disk(tmp_path)
            assert b"[EMAIL]" in files
            assert b"quillon" not in files

    asyncio.run(play())
