"""The diagrams of a member's turns are what a real server does, step for step."""

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route

from tests.docs.test_written_commands import text_of
from tests.faults.membership import (
    Membership,
    ask,
    cards,
    conversation,
    decide,
    finish,
    names,
    portal_at,
    sign_in,
)
from tests.server.confirming import steps
from tests.server.reading import Frame
from tests.server.running import Api
from tests.server.shipped import with_index
from turnwire.clock import system_now
from turnwire.portal.address import DEMO_SERVICE_KEY
from turnwire.portal.routes import Portal
from turnwire.portal.store import PortalStore

PAGES = {
    "docs/sequence.md": ("A member's turn with a sign-in", "A member's action"),
    "docs/es/secuencia.md": (
        "El turno de un miembro con inicio de sesión",
        "La acción de un miembro",
    ),
}


def lines(page: str, title: str) -> list[str]:
    """Return the lines of a chapter's diagram."""
    chapter = text_of(page).partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    (diagram,) = re.findall(r"^```mermaid\n(.*?)^```", chapter, re.DOTALL | re.MULTILINE)
    return diagram.splitlines()


def found(drawn: list[str], pattern: str) -> list[Any]:
    return [each for line in drawn for each in re.findall(pattern, line)]


def asked(drawn: list[str]) -> str:
    (message,) = found(drawn, r"->>API: POST /chat/stream: (.*)$")
    return message


def told(drawn: list[str]) -> list[tuple[list[str], str]]:
    """Return what the member's streams are said to tell: events, and the ending."""
    streams = found(drawn, r"API-->>\w+: (message\.started.*) \((\w+)\)$")
    return [(events.split(", "), ending) for events, ending in streams]


def heard(*streams: list[Frame]) -> list[tuple[list[str], str]]:
    """Return what streams told: several of a kind in a row count as one."""
    return [([each for each, _ in groupby(names(one))], finish(one)) for one in streams]


def ran(api: Api, frames: list[Frame]) -> list[str]:
    """Return the nodes that ran in a turn, over all its runs."""
    with api.events(conversation(frames), frames[0].data["message_id"]) as reader:
        return [each.data["node"] for each in reader.rest() if each.event == "node_started"]


def drawn_nodes(drawn: list[str], known: set[str]) -> list[str]:
    notes = [each for each in drawn if re.match(r"\s*Note over (Graph|Grafo):", each)]
    return [each for each in found(notes, r"[a-z_]+") if each in known]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Membership]:
    data_dir = with_index(tmp_path_factory, tmp_path_factory.mktemp("sequence") / "data")
    with (
        portal_at(tmp_path_factory.mktemp("portal")) as portal,
        Membership(data_dir, portal) as each,
    ):
        yield each


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest) -> str:
    return request.param


def _language(page: str) -> dict[str, object]:
    return {"client": {"locale": "es" if "/es/" in page else "en"}}


def test_a_turn_with_a_sign_in_goes_as_it_is_drawn(server: Membership, page: str):
    drawn = lines(page, PAGES[page][0])
    api = server.api("chat").be_member()
    first = ask(api, asked(drawn), **_language(page))
    sign_in(server, api)
    second = api.post("/chat/resume", conversation_id=conversation(first))
    assert told(drawn) == heard(first, second)
    nodes = ran(api, first)
    assert drawn_nodes(drawn, set(nodes)) == nodes
    assert found(drawn, r"->>API: (\S+ /[a-z/]+)") == [
        "POST /chat/stream",
        "POST /auth/login",
        "POST /auth/verify",
        "POST /chat/resume",
    ]


def test_an_action_goes_as_it_is_drawn(server: Membership, page: str):
    drawn = lines(page, PAGES[page][1])
    api = server.api("chat").be_member()
    sign_in(server, api)
    server.portal.forget()
    first = ask(api, asked(drawn), **_language(page))
    second = decide(api, first)
    assert told(drawn) == heard(first, second)
    nodes = ran(api, first)
    assert drawn_nodes(drawn, set(nodes)) == nodes
    named = cards(first)["request_callback"]
    assert found(drawn, r"`(\w+)`") == steps(server.data_dir, named)
    [done] = server.portal.acted()
    assert done["idempotency_key"] == named


def test_every_call_of_the_portal_that_is_drawn_is_one_of_its_routes(page: str, tmp_path: Path):
    with PortalStore(tmp_path / "portal.db") as store:
        served = Portal(store, service_key=DEMO_SERVICE_KEY, now=system_now).app().routes
    known = [each for each in served if isinstance(each, Route)]
    routes = {f"{method} {each.path}" for each in known for method in each.methods or ()}
    for title in PAGES[page]:
        called = found(lines(page, title), r"->>Portal: (\S+ /[a-z/]+)")
        assert called
        assert set(called) <= routes
