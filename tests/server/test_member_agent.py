"""The member agent on a real server, over every wire, with a model that talks beside its calls."""

import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from tests.agents.member.choosing import CANARY, Choosing
from tests.agents.member.stage import DANIEL, ENCODER, INSURANCE, WORDINGS, Wordings
from tests.models.scripted import Scripted
from tests.server.answering import asked, card
from tests.server.member_graph import SignIns
from tests.server.running import Api, InThread
from turnwire.agents.member import MemberParts, build, manifest
from turnwire.agents.member.tools import portal_client, portal_tools
from turnwire.app import Served, create
from turnwire.models.quoting import Quoting
from turnwire.nodes.tools.executor import Executor
from turnwire.nodes.tools.registry import Registry
from turnwire.nodes.tools.tool import Credential
from turnwire.portal.serving import FILE, serving
from turnwire.portal.store import PortalStore


class Everybody:
    """Who is signed in: nobody, until there is a token."""

    def __init__(self) -> None:
        self.token = ""

    async def credential(self, _principal: str, /) -> Credential | None:
        scopes = frozenset({"member.read", "member.write"})
        return Credential(token=self.token, scopes=scopes) if self.token else None

    async def refused(self, _principal: str, token: str, /) -> None:
        assert token == self.token
        self.token = ""


class Members(InThread):
    """The member agent beside the demo portal."""

    def __init__(self, data_dir: Path, portal: str, **parts: Any) -> None:  # noqa: ANN401
        super().__init__(data_dir, None)
        self.people = Everybody()
        self.signed = SignIns()
        self._client = portal_client(portal)
        self._parts = parts

    def application(self) -> FastAPI:
        tools = portal_tools(self._client)
        named: dict[str, Any] = {"model": Quoting(encoder=ENCODER), "model_name": "quoting"}
        parts = MemberParts(
            policy=INSURANCE,
            retriever=Wordings(texts=WORDINGS),
            encoder=ENCODER,
            tools=tools,
            actions=Executor(Registry(tools, locales=("en", "es"))),
            **{**named, **self._parts},
        )
        served = Served(((build(parts), manifest(parts)),), closing=(self._client.aclose,))
        return create(self.settings, served=served, sign_ins=self.signed, credentials=self.people)

    def sign_in(self) -> None:
        with PortalStore(self.data_dir / FILE) as store:
            token = store.new_token(DANIEL, expires_ms=9_000_000_000_000)
        assert token is not None
        self.people.token = token
        self.signed.everybody = True

    def acted(self) -> int:
        with PortalStore(self.data_dir / FILE) as store:
            return len(store.actions())


@contextmanager
def serving_members(data_dir: Path, **parts: Any) -> Generator[Members]:  # noqa: ANN401
    with serving(data_dir) as portal, Members(data_dir, portal.url, **parts) as server:
        yield server


@pytest.fixture
def members(tmp_path: Path) -> Iterator[Members]:
    with serving_members(tmp_path) as server:
        yield server


def text_of(frames: list[Any]) -> str:
    return "".join(each.data["text"] for each in frames if each.event == "token.delta")


def conversation_of(frames: list[Any]) -> str:
    return str(frames[0].data["conversation_id"])


def test_a_member_signs_in_within_the_turn_and_gets_the_answer(members: Members):
    api = members.api("chat").be_member()
    frames = asked(api, "What is a waiting period and how much of my dental limit have I used?")
    shown = card(frames, "auth.required")
    assert shown["resumable"] is True
    assert shown["tool"] == "get_covered_benefits"
    assert frames[-1].data["finish_reason"] == "awaiting_sign_in"
    assert text_of(frames).startswith("In general:")
    members.sign_in()
    resumed = api.post("/chat/resume", conversation_id=conversation_of(frames))
    names = [each.event for each in resumed]
    assert names.index("tool.completed") < names.index("token.delta")
    assert names.count("retrieval.completed") == 1
    assert "£180 used" in text_of(resumed)
    assert resumed[-1].data["finish_reason"] == "stop"
    turn = api.turn(conversation_of(frames), frames[0].data["message_id"])
    assert turn["content"] == text_of(frames) + text_of(resumed)


def test_an_action_is_done_once_after_the_members_word(members: Members):
    members.sign_in()
    api = members.api("chat").be_member()
    frames = asked(api, "Please call me back about my claim")
    shown = card(frames, "action.confirmation_required")
    assert shown["name"] == "request_callback"
    assert members.acted() == 0
    said = api.post(
        "/chat/confirm",
        conversation_id=conversation_of(frames),
        confirmation_id=shown["confirmation_id"],
        decision="approve",
    )
    assert members.acted() == 1
    assert card(said, "action.completed")["status"] == "ok"
    assert "an adviser will call you back" in text_of(said)


def test_somebody_without_a_session_gets_the_card_that_does_not_wait(members: Members):
    frames = asked(members.api("chat"), "Which plan am I on?")
    shown = card(frames, "auth.required")
    assert "resumable" not in shown or not shown["resumable"]
    assert frames[-1].data["finish_reason"] == "sign_in_required"


def test_a_channel_of_text_is_sent_to_the_app(members: Members):
    api = members.api("chat").be_member()
    with api.ask("Which plan am I on?", channel="text") as reader:
        frames = reader.rest()
    assert [each.event for each in frames] == [
        "message.started",
        "token.delta",
        "message.completed",
    ]
    assert "sign in through the app" in text_of(frames)
    assert frames[-1].data["finish_reason"] == "sign_in_required"


def test_a_channel_that_there_is_not_is_refused(members: Members):
    answer = members.api("chat").http.post("/chat/stream", json={"message": "x", "channel": "sms"})
    assert answer.status_code == 422


def test_the_words_of_the_model_that_chooses_are_on_no_wire_and_in_no_file(tmp_path: Path):
    choosing = Choosing(
        rounds=[
            [("get_plan_details", {}), ("search_knowledge", {"query": "waiting period"})],
            [("request_callback", {"reason": "my claim"})],
        ]
    )
    answer = Scripted(script=["You are on the Family plan."])
    with serving_members(tmp_path, executor=choosing, model=answer) as server:
        server.sign_in()
        api: Api = server.api("chat", "review").be_member()
        frames = asked(api, "Which plan am I on? And call me back about my claim.")
        told = api.http.get(
            f"/conversations/{conversation_of(frames)}/turns/{frames[0].data['message_id']}"
            "/events?wire=execution&tokens=true"
        ).text
        shown = card(frames, "action.confirmation_required")
        said = api.post(
            "/chat/confirm",
            conversation_id=conversation_of(frames),
            confirmation_id=shown["confirmation_id"],
            decision="reject",
            feedback="No, thank you",
        )
        assert CANARY not in repr(frames) + repr(said) + told
        assert "You are on the Family plan." in text_of(said)
        token = server.people.token
    for file in tmp_path.glob("*.db*"):
        assert CANARY.encode() not in file.read_bytes(), file
        if file.name.startswith("portal"):
            continue
        assert token.encode() not in file.read_bytes(), file
    with closing(sqlite3.connect(tmp_path / "turnwire.db")) as stored:
        assert stored.execute("SELECT count(*) FROM turns").fetchone()[0] >= 1


def test_it_is_served_beside_the_others_where_there_is_a_portal(tmp_path: Path):
    with (
        serving(tmp_path) as portal,
        InThread(
            tmp_path, None, portal_url=portal.url, portal_service_key=portal.service_key
        ) as server,
    ):
        told = server.api("chat").http.get("/agents").json()["agents"]
        fixed = ["guarded", "turnwire-docs", "member"]
        assert [each["slug"] for each in told] == [*fixed, "support-triage"]
        assert told[2]["title"] == "Member assistant"
        frames = asked(server.api("chat"), "What is a deductible?", agent="member")
        assert frames[-1].data["finish_reason"] == "no_match"  # nothing was read into the index
