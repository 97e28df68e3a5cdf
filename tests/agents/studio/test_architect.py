"""The architect as it ships: an interview in stages, and a draft after an approval."""

from pathlib import Path

import pytest
import yaml

from tests.agents.studio.stage import ORDER, Said, Stage, memory_store, shipped, tools_of
from turnwire.agents.studio.factory import Factory
from turnwire.agents.studio.reading import read_spec
from turnwire.app.specs import saving
from turnwire.graph.agent import Graph, GraphAgent
from turnwire.graph.manifest import Manifest
from turnwire.nodes.memory.own import StoredMemories
from turnwire.nodes.tools.arguments import hash_of
from turnwire.storage.memory import MemoryStore

pytestmark = pytest.mark.anyio

ANSWERS = (
    "Travel desk",
    "It answers our staff's questions about travel rules.",
    "health",
    "Friendly and short; it never books anything.",
)
QUESTIONS = ("be called?", "What shall it do", "From which documents", "How shall it speak")


class Studio(Stage):
    """The architect, with a library that keeps what it drafts."""

    def __init__(self, directory: Path, *, thinker: Said | None = None) -> None:
        self.remembered = memory_store()
        self.drafts = MemoryStore()
        held: list[Factory] = []
        super().__init__(
            directory,
            shipped("architect"),
            models={} if thinker is None else {"thinker": thinker},
            more=[saving(held)],
            memory=self.remembered,
        )
        held.append(Factory(self.parts, self.drafts, self._make, specs={}))

    def _make(self, graph: Graph, manifest: Manifest) -> GraphAgent:
        return GraphAgent(graph, manifest, saver=self.saver, now=self.now)

    async def interview(self, *, conversation: str = "conv_1"):
        for each in ("I want to build an agent", *ANSWERS[:-1]):
            await self.say(each, conversation=conversation)
        return await self.say(ANSWERS[-1], conversation=conversation)


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    return Studio(tmp_path)


async def test_each_stage_is_asked_in_turn(studio: Studio):
    said = [await studio.say(each) for each in ("I want to build an agent", *ANSWERS[:-1])]
    assert all(part in each.text for part, each in zip(QUESTIONS, said, strict=True))


async def test_the_answers_make_a_spec_that_is_saved_only_after_an_approval(studio: Studio):
    played = await studio.interview()
    [pause] = played.pauses
    assert isinstance(pause.payload, dict)
    assert pause.payload["action"] == "save_agent_draft"
    assert await studio.drafts.specs("travel-desk") == []
    done = await studio.decide(played, approved=True)
    assert tools_of(done) == [("save_agent_draft", "ok", None)]
    assert "nobody is served until it is published" in done.text
    [draft] = await studio.drafts.specs("travel-desk")
    assert (draft.phase, draft.author) == ("draft", "maria.lopez")
    spec = read_spec(draft.text, name="draft.yaml", known=studio.parts.known())
    assert spec.title == "Travel desk"
    assert "never books anything" in draft.text
    assert "corpus: health" in draft.text


async def test_a_rejection_saves_nothing_and_ends_the_interview(studio: Studio):
    done = await studio.decide(await studio.interview(), approved=False)
    assert "The draft was not kept" in done.text
    assert await studio.drafts.specs("travel-desk") == []
    assert QUESTIONS[0] in (await studio.say("Once more")).text


async def test_an_edited_spec_is_what_is_saved_and_one_that_cannot_be_used_is_not(studio: Studio):
    for edit, versions in ((("Travel desk", "Trips"), 1), (("rag_retriever", "magic"), 1)):
        played = await studio.interview()
        payload = played.pauses[0].payload
        assert isinstance(payload, dict)
        params = payload["params"]
        assert isinstance(params, dict)
        edited = {"slug": "travel-desk", "spec": str(params["spec"]).replace(*edit)}
        hashed = hash_of("save_agent_draft", edited)
        await studio.decide(played, approved=True, edited=edited, granted=hashed)
        kept = await studio.drafts.specs("travel-desk")
        assert len(kept) == versions
    assert "title: Trips" in kept[0].text


async def test_a_later_conversation_goes_on_where_the_interview_was(studio: Studio):
    for each in ("Hello", *ANSWERS[:2]):
        await studio.say(each, conversation="conv_1")
    again = await studio.say("Where were we?", conversation="conv_2")
    assert QUESTIONS[2] in again.text
    await studio.say(ANSWERS[2], conversation="conv_2")
    played = await studio.say(ANSWERS[3], conversation="conv_2")
    payload = played.pauses[0].payload
    assert isinstance(payload, dict)
    assert "travel rules" in str(payload["params"])
    await studio.decide(played, approved=True)
    assert await StoredMemories(studio.remembered).of("staff:maria.lopez") == []
    assert QUESTIONS[0] in (await studio.say("Another one", conversation="conv_3")).text


async def test_interviews_of_two_users_are_apart(studio: Studio):
    for each in ("Hello", *ANSWERS[:2]):
        await studio.say(each, conversation="conv_1")
    other = await studio.say("Hello", conversation="conv_2", user="staff:tom")
    assert QUESTIONS[0] in other.text


async def test_what_a_model_drafts_is_used_once_it_can_be(tmp_path: Path):
    good = yaml.safe_dump(
        {
            "slug": "trips",
            "title": "Trips",
            "nodes": [{"id": "reply", "type": "message", "text": {"en": "Soon."}}],
            "edges": [{"from": "start", "to": "reply"}, {"from": "reply", "to": "end"}],
        }
    )
    model = Said(replies=["slug: [", f"```yaml\n{good}```"])
    studio = Studio(tmp_path, thinker=model)
    played = await studio.interview()
    assert model.said == 2
    assert "can't be used" in str(model.prompts[-1])
    await studio.decide(played, approved=True)
    assert [each.text for each in await studio.drafts.specs("trips")] == [good]


async def test_a_model_that_only_drafts_nonsense_is_not_believed(tmp_path: Path):
    studio = Studio(tmp_path, thinker=Said(replies=["no YAML at all: ["]))
    await studio.decide(await studio.interview(), approved=True)
    assert len(await studio.drafts.specs("travel-desk")) == 1
    assert ORDER not in studio.stored()
