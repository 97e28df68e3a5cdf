"""A spec that can't be used is refused with file, line and reason."""

import time

import pytest

from turnwire.agents.studio.checking import Known
from turnwire.agents.studio.errors import SpecInvalid
from turnwire.agents.studio.reading import LONGEST, read_spec

KNOWN = Known(tools={"read_table": False, "release_order": True}, corpora=("turnwire",))
GOOD = """\
slug: desk
title: Order desk
tools: [read_table, release_order]
nodes:
  - id: think
    type: thinker
    prompt: {en: Think.}
    operations: [read_table, release_order]
    offline:
      - say: ["release order {order}"]
        operation: release_order
        params: {order: "{order}"}
        thought: {en: Release it.}
  - {id: look, type: portal_task, operations: [read_table]}
  - {id: act, type: portal_task, operations: [release_order]}
  - {id: reply, type: llm_agent, prompt: {en: Answer.}}
  - {id: refused, type: message, text: {en: It was not done.}}
edges:
  - {from: start, to: think}
  - {from: look, to: think}
  - {from: act, to: reply}
  - {from: reply, to: end}
  - {from: refused, to: end}
routes:
  think: {read_table: look, release_order: act, answer: reply}
interrupt_before:
  act: {on_reject: refused}
limits: {iterations: 4}
"""


def refused(text: str) -> str:
    with pytest.raises(SpecInvalid) as caught:
        read_spec(text, name="desk.yaml", known=KNOWN)
    return str(caught.value)


def test_a_good_spec_is_read():
    spec = read_spec(GOOD, name="desk.yaml", known=KNOWN)
    assert [each.id for each in spec.nodes] == ["think", "look", "act", "reply", "refused"]
    assert spec.interrupt_before["act"].on_reject == "refused"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("type: thinker", "type: wizard", "desk.yaml:5: nodes.0: there is no node type 'wizard'"),
        (
            "tools: [read_table, release_order]",
            "tools: [read_table, release_order, fly]",
            "desk.yaml:3: tools.2: there is no tool 'fly'",
        ),
        (
            "tools: [read_table, release_order]",
            "tools: [release_order]",
            "nodes.0.operations.0: the operation 'read_table' is missing in the agent's tools",
        ),
        (
            "  - {from: look, to: think}\n",
            "  - {from: look, to: reply}\n  - {from: look, to: think}\n",
            "desk.yaml:14: nodes.1: 2 edges lead from 'look'; it can have one",
        ),
        (
            "  - {id: refused,",
            "  - {id: lost, type: message, text: {en: x}}\n  - {id: refused,",
            "desk.yaml:17: nodes.4: no way leads to the node 'lost'",
        ),
        (
            "read_table: look, release_order: act, answer",
            "release_order: act, answer",
            "desk.yaml:25: routes.think: the route 'read_table' has no target",
        ),
        (
            "answer: reply}",
            "answer: nowhere}",
            "desk.yaml:25: routes.think.answer: there is no node 'nowhere'",
        ),
        (
            "answer: reply}",
            "answer: reply, fly: reply}",
            "desk.yaml:25: routes.think.fly: the node never sets 'fly'",
        ),
        (
            "limits: {iterations: 4}",
            "limits: {seconds: 4}",
            "desk.yaml:28: limits: the loop of look, think has no limit; give limits.iterations",
        ),
        (
            "interrupt_before:\n  act: {on_reject: refused}\n",
            "",
            "desk.yaml:15: nodes.2: release_order changes something; name 'act' in",
        ),
        (
            "on_reject: refused",
            "on_reject: act",
            "desk.yaml:27: interrupt_before.act.on_reject: 'act' is no node",
        ),
        (
            "title: Order desk",
            "title: Order desk\ntitle: Twice",
            "desk.yaml:3: title: the key is here twice; it stands on line 2 already",
        ),
        ("slug: desk", "slug: De sk", "desk.yaml:1: slug: has to be of the form"),
        ("title: Order desk", "tittle: x", "desk.yaml:2: tittle: this is not known here"),
        ("- {id: look,", "- {id: closing,", "the name 'closing' is turnwire's own"),
        ("- {id: look,", "- {id: think,", "two nodes are called 'think'"),
        (
            "release order {order}",
            "release {what}",
            "desk.yaml:10: nodes.0.offline.0.say.0: params uses order, which this form does not",
        ),
        ("release order {order}", "release (a|) {order}", "has an empty alternative"),
        ("limits: {iterations: 4}", "limits: {iterations: 4", "desk.yaml:29: is no YAML"),
        ("title: Order desk", "title: !!python/name:os.system x", "the tag"),
        ("title: Order desk", "title: &a Order\ndescription: *a", "desk.yaml:2: anchors"),
    ],
)
def test_a_fault_is_told_with_its_file_line_and_reason(old: str, new: str, fault: str):
    assert old in GOOD
    assert fault in refused(GOOD.replace(old, new, 1))


def test_all_faults_are_told_at_once():
    text = GOOD.replace("type: thinker", "type: wizard").replace("title: Order desk", "titel: x")
    assert len(refused(text).splitlines()) == 3


def test_what_was_made_to_blow_up_is_refused_at_once():
    laughs = "a: &a [x, x]\n" + "".join(
        f"b{n}: &b{n} [*{'a' if not n else f'b{n - 1}'}, *a]\n" for n in range(40)
    )
    began = time.monotonic()
    assert "anchors" in refused(laughs)
    assert "nested more than" in refused("a: " + "[" * 20_000)
    assert "longer than" in refused("a: " + "x" * LONGEST)
    assert "more than" in refused("a: [" + "1, " * 20_000 + "]")
    assert time.monotonic() - began < 5


def test_a_text_that_is_no_map_is_refused():
    assert "has to be a map" in refused("- a")
    assert "has to be a map" in refused("")
    assert "is no YAML" in refused("a: \x00")


def test_a_date_in_a_text_stays_a_text():
    spec = read_spec(GOOD.replace("Order desk", "2026-01-01"), name="d", known=KNOWN)
    assert spec.title == "2026-01-01"
