"""Codes, numbers, tokens, keys and the system prompt are nowhere but where they belong."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.faults.choosing import TALK, Rounds, choose
from tests.faults.membership import (
    DANIEL,
    DemoPortal,
    ask,
    conversation,
    decide,
    finish,
    member,
    said,
    settings_for,
    sign_in,
    tools,
)
from tests.providers.serving import Provider
from tests.server.running import Process
from tests.server.shipped import with_index
from turnwire.portal.store import PortalStore
from turnwire.sign_in.sealing import KEY_FILE

MIXED = "What is a waiting period and how much of my dental limit have I used?"
CALLBACK = "Please call me back about my claim"
DETAILS = "Which details do you have of me?"
OWN = "+44 7700 900777"
"""A number that the member writes into a message."""
DOCUMENTS = "https://documents.example.org/CANARY-base"
PERSONA = "do not repeat these rules"
TASK = "You choose tools for an assistant"


@dataclass
class Run:
    """What one run of a server left and said."""

    data_dir: Path
    has_content: bool
    """Whether prompts and answers are told in spans."""
    service_key: str
    tokens: list[str] = field(default_factory=list[str])
    codes: list[str] = field(default_factory=list[str])
    spans: str = ""
    log: str = ""
    heard: str = ""
    """All that clients were told: streams, every event, history, pauses, audit and metrics."""

    @property
    def files(self) -> dict[Path, str]:
        """Every file that the server wrote, but for the codes that are on their way."""
        return {
            each: each.read_bytes().decode("latin-1")
            for each in self.data_dir.rglob("*")
            if each.is_file() and each.parent.name != "outbox" and each.name != "index.db"
        }

    @property
    def places(self) -> dict[str, str]:
        files = {str(name): text for name, text in self.files.items()}
        return {"spans": self.spans, "log": self.log, "clients": self.heard, **files}


@pytest.fixture(scope="module", params=[True, False], ids=["spans with content", "spans without"])
def run(
    request: pytest.FixtureRequest,
    portal_of_module: DemoPortal,
    provider: Provider,
    tmp_path_factory: pytest.TempPathFactory,
) -> Run:
    pytest.importorskip("opentelemetry.sdk")
    data_dir = with_index(tmp_path_factory, tmp_path_factory.mktemp("secrets"))
    provider.reset()
    asked: dict[str, Rounds] = {
        MIXED: [[("get_covered_benefits", {}), ("search_knowledge", {"query": "waiting period"})]],
        CALLBACK: [[("request_callback", {"reason": "my claim"})]],
        DETAILS: [[("get_my_details", {})]],
    }
    choose(provider, asked)
    model: dict[str, Any] = {
        "model": "openai:demo",
        "model_base_url": provider.url,
        "model_api_key": "any",
    }
    found = Run(data_dir, request.param, portal_of_module.address.service_key)
    give = PortalStore.new_token

    def noted(store: PortalStore, mobile: str, *, expires_ms: int) -> str | None:
        token = give(store, mobile, expires_ms=expires_ms)
        found.tokens += [token] if token else []
        return token

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PortalStore, "new_token", noted)
        with Process(
            data_dir,
            None,
            "--log-level",
            "debug",
            variables={"OTEL_TRACES_EXPORTER": "console"},
            trace_content=request.param,
            document_base_url=DOCUMENTS,
            **settings_for(portal_of_module),
            **model,
        ) as server:
            _lives(server, found)
            server.terminate()
            server.process.wait(20)
        found.spans, found.log = "".join(server.out), "".join(server.err)
    return found


def _lives(server: Process, found: Run) -> None:
    """Ask a mixed question, sign in amid it, have a call-back, and write down a number."""
    api = member(server, "chat", "admin", signed_in=False)
    waits = ask(api, MIXED)
    assert finish(waits) == "awaiting_sign_in"
    found.codes += [sign_in(server, api)]
    at = conversation(waits)
    resumed = api.post("/chat/resume", conversation_id=at)
    proposed = ask(api, CALLBACK, conversation_id=at)
    called = decide(api, proposed)
    assert "will call you back" in said(called)
    wrote = ask(api, f"Please call me back about my new number {OWN}", conversation_id=at)
    details = ask(api, DETAILS, conversation_id=at)
    assert tools(details) == [("get_my_details", "ok")]
    streams = repr([*waits, *resumed, *proposed, *called, *wrote, *details])
    paths = [f"/conversations/{at}", f"/conversations/{at}/pauses", "/metrics", "/auth/session"]
    for each in api.http.get(f"/conversations/{at}").json()["turns"]:
        turn = f"/conversations/{at}/turns/{each['turn_id']}"
        paths += [turn, f"{turn}/events?wire=answer", f"{turn}/events?wire=execution&tokens=true"]
    told = [api.http.get(each).text for each in paths]
    found.heard = "\n".join([streams, *told])
    assert "graph_topology" in found.heard


def test_the_run_has_words_and_calls_among_what_is_searched(run: Run):
    assert len(run.tokens) == len(run.codes) == 1
    assert '"name": "execute_tool' in run.spans
    assert ("waiting period" in run.spans) == run.has_content
    assert (TALK in run.spans) == run.has_content
    assert "Finished server process" in run.log
    names = {each.name for each in run.files}
    assert {"turnwire.db", "checkpoints.db", KEY_FILE} <= names


def test_the_members_token_and_the_service_key_are_nowhere(run: Run):
    for place, text in run.places.items():
        for secret in (*run.tokens, run.service_key):
            assert secret not in text, place


def test_the_one_time_code_is_nowhere_but_in_what_was_sent(run: Run):
    [code] = run.codes
    # By itself: six digits may stand in a longer number or a hash by chance.
    alone = re.compile(rf"(?<![0-9A-Za-z.]){code}(?![0-9A-Za-z])")
    for place, text in run.places.items():
        assert not alone.search(text), place


def test_the_number_that_a_member_signs_in_with_is_nowhere(run: Run):
    digits = DANIEL.removeprefix("+44")
    for place, text in run.places.items():
        assert digits not in re.sub(r"[ ()-]", "", text), place


def test_a_number_that_a_member_writes_is_in_no_log_span_and_preview(run: Run):
    digits = OWN.replace(" ", "").removeprefix("+44")
    for place in ("spans", "log"):
        assert digits not in run.places[place].replace(" ", ""), place


def test_the_system_prompt_and_the_choosing_models_words_are_nowhere_else(run: Run):
    for place, text in run.places.items():
        for each in (PERSONA, TASK, TALK):
            assert each not in text or (place == "spans" and run.has_content), (place, each)


def test_where_documents_stand_is_told_to_members_and_kept_nowhere(run: Run):
    assert DOCUMENTS in run.heard
    for place, text in run.places.items():
        assert DOCUMENTS not in text or place == "clients", place
