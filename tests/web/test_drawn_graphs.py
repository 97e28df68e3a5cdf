"""An agent's graph can be read on the page without scrolling the page."""

from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.agents.member.choosing import Choosing
from tests.faults.membership import parts_of
from tests.web.fake_server import FakeServer
from tests.web.test_page import ask
from turnwire.agents.member import build, manifest
from turnwire.agents.member.tools import portal_client, portal_tools
from turnwire.graph.topology import topology

READABLE = 10.0
"""Pixels of a label's font at least."""

WIDE_ENOUGH = 1280
"""Pixels of a window from which on the graph's own place has no need to scroll sideways either."""

MEASURES = """() => {
  const place = document.querySelector("#graph");
  const nodes = [...document.querySelectorAll("svg.graph .node")].map((node) => {
    const [box, label, detail] =
      ["rect", ".label", ".detail"].map((each) => node.querySelector(each));
    const font = parseFloat(getComputedStyle(label).fontSize) * label.getScreenCTM().a;
    const right = Math.max(...[label, detail].map((each) => each.getBoundingClientRect().right));
    return { label: label.textContent, font, fits: right <= box.getBoundingClientRect().right };
  });
  return {
    nodes,
    page: document.documentElement.scrollWidth - innerWidth,
    place: place.scrollWidth - place.clientWidth,
  };
}"""


def member_graph(*, chooses: bool) -> dict[str, Any]:
    """Return the member agent's graph as the wire draws it, without or with a model for tools."""
    parts = parts_of(portal_tools(portal_client("http://portal.invalid")))
    parts = replace(parts, executor=Choosing(rounds=[])) if chooses else parts
    drawn = topology(build(parts), manifest(parts)).model_dump(mode="json")
    return {"nodes": drawn["nodes"], "edges": drawn["edges"]}


def measured(page: Page, server: FakeServer, *, width: int) -> dict[str, Any]:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(server.url)
    ask(page, "What about a fever?")
    expect(page.locator("[data-phase=completed]")).to_be_visible()
    return page.evaluate(MEASURES)


@pytest.mark.parametrize("width", [1024, 1280, 1600])
@pytest.mark.parametrize("chooses", [False, True], ids=["by rules", "with a model"])
def test_the_member_agents_labels_are_read_without_scrolling_sideways(
    page: Page, server: FakeServer, width: int, chooses: bool
):
    server.drawn = member_graph(chooses=chooses)
    seen = measured(page, server, width=width)
    names = {each["id"] for each in server.drawn["nodes"] if not each["id"].startswith("__")}
    assert {each["label"] for each in seen["nodes"]} == names
    assert min(each["font"] for each in seen["nodes"]) >= READABLE
    assert all(each["fits"] for each in seen["nodes"])
    assert seen["page"] == 0
    assert seen["place"] == 0 or width < WIDE_ENOUGH


def test_a_graph_that_is_wider_than_its_place_scrolls_there_and_stays_readable(
    page: Page, server: FakeServer
):
    wide = [f"a_node_with_a_long_name_{number}" for number in range(8)]
    server.drawn = {
        "nodes": [{"id": each, "kind": "node", "conditional": False} for each in wide],
        "edges": [{"source": "__start__", "target": each, "conditional": False} for each in wide],
    }
    seen = measured(page, server, width=1280)
    assert min(each["font"] for each in seen["nodes"]) >= READABLE
    assert seen["page"] == 0
    assert seen["place"] > 0
