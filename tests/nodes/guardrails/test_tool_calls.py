"""A tool gets the member's details if the policy lets it; the model never reads them."""

import asyncio
import json
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from tests.graph.stage import Host, Played
from turnwire.events import ToolCompleted, ToolStarted
from turnwire.graph.agent import GraphAgent, Previewed
from turnwire.graph.manifest import Manifest
from turnwire.nodes.guardrails.pii_rules import PiiRules
from turnwire.nodes.guardrails.tool_calls import PrivateTools

PHONE, MAIL, CARD = "+1 202-555-0143", "ada@example.test", "4111 1111 1111 1111"
ASKED = f"Text {PHONE} and mail {MAIL}"
MANIFEST = Manifest(slug="graph", title="Graph", speaks=False)


class Desk:
    """Tools that note what they were called with."""

    def __init__(self, returns: Any = "done", *, blocking: bool = False) -> None:  # noqa: ANN401
        self.got: list[Any] = []

        def work(args: Any) -> Any:  # noqa: ANN401
            self.got.append(args)
            if isinstance(returns, Exception):
                raise returns
            return returns

        if blocking:

            @tool
            def send(to: Any) -> Any:  # noqa: ANN401
                """Send something."""
                return work(to)

        else:

            @tool
            async def send(to: Any) -> Any:  # noqa: ANN401
                """Send something."""
                return work(to)

        self.tool = send


def rules(**given: object) -> PiiRules:
    return PiiRules.model_validate(given)


def calling(*args: Any) -> AIMessage:  # noqa: ANN401
    calls = [{"id": f"c{n}", "name": "send", "args": {"to": each}} for n, each in enumerate(args)]
    return AIMessage("", tool_calls=calls)


class Office:
    """A graph whose model calls a tool once, and then says what it read last."""

    def __init__(self, desk: Desk, call: AIMessage, pii: PiiRules, **options: Any) -> None:  # noqa: ANN401
        self.read: list[list[BaseMessage]] = []
        self.kept: Sequence[AnyMessage] = ()
        self.says = "[EMAIL_1] [EMAIL_2] [EMAIL_3]"
        private = PrivateTools(pii)

        async def ask(state: MessagesState) -> dict[str, Any]:
            reading = private.read(state["messages"])
            self.read.append(reading.messages)
            self.kept = state["messages"]
            if len(self.read) == 1:
                return {"messages": [call]}
            return {"messages": [AIMessage(reading.restore(self.says))]}

        def route(state: MessagesState) -> str:
            last = state["messages"][-1]
            return "tools" if isinstance(last, AIMessage) and last.tool_calls else END

        graph: StateGraph[Any] = StateGraph(MessagesState)
        graph.add_node("ask", ask)
        graph.add_node("tools", ToolNode([desk.tool], **private.wrappers, **options))
        graph.add_edge(START, "ask")
        graph.add_conditional_edges("ask", route, ["tools", END])
        graph.add_edge("tools", "ask")
        self.graph = graph
        self.pii = pii

    def ask(self, text: str = ASKED, *, previewed: Previewed | None = None) -> Played:
        host = Host(self.graph, MANIFEST)
        host.agent = GraphAgent(
            self.graph.compile(),
            MANIFEST,
            saver=host.saver,
            now=host.now,
            previewed=previewed or self.pii.log_text,
        )
        return asyncio.run(host.play(text))

    @property
    def results(self) -> list[ToolMessage]:
        return [each for each in self.read[-1] if isinstance(each, ToolMessage)]

    def shown_to_the_model(self) -> str:
        return "\n".join(each.model_dump_json() for several in self.read for each in several)


def test_the_model_reads_placeholders_and_the_tool_gets_the_members_words():
    desk = Desk()
    office = Office(desk, calling("[PHONE_1]"), rules())

    played = office.ask()

    assert office.read[0][0].text == "Text [PHONE_1] and mail [EMAIL_1]"
    assert desk.got == [PHONE]
    assert PHONE not in office.shown_to_the_model()
    assert played.ending.content.startswith(MAIL), "the member sees their own words"


def test_placeholders_are_put_back_wherever_they_stand_in_the_arguments():
    desk = Desk()
    nested = {"a": [{"[EMAIL_1]": "call [PHONE_1] or [EMAIL_1]"}, 7, None, True, "[PHONE_9]"]}
    Office(desk, calling(nested), rules()).ask()

    assert desk.got == [{"a": [{MAIL: f"call {PHONE} or {MAIL}"}, 7, None, True, "[PHONE_9]"]}]


@pytest.mark.parametrize("blocking", [False, True], ids=["async", "sync"])
def test_where_tools_get_no_details_the_placeholder_stays(blocking: bool):
    desk = Desk(blocking=blocking)
    pii = rules(sinks={"tools": "redact"}, entities={"EMAIL": {"tools": "none"}})
    office = Office(desk, calling(f"[PHONE_1] [EMAIL_1] {PHONE} 202-555-0199"), pii)

    office.ask()

    assert desk.got == [f"[PHONE_1] {MAIL} [PHONE_1] [PHONE_2]"]


@pytest.mark.parametrize("blocking", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("written", ["[PHONE_1]", {"to": ["x", "+1 202 555 0199"]}])
def test_where_they_are_blocked_the_tool_does_not_run_and_the_model_is_told(
    written: object, blocking: bool
):
    desk = Desk(blocking=blocking)
    office = Office(desk, calling(written), rules(entities={"PHONE": {"tools": "block"}}))

    played = office.ask()

    assert desk.got == []
    assert office.results[0].status == "error"
    assert office.results[0].text.startswith("This call was not made: private details (PHONE)")
    assert [(each.tool_call_id, each.name) for each in played.of(ToolStarted)] == [("c0", "send")]
    assert [(each.status, each.duration_ms) for each in played.of(ToolCompleted)] == [("error", 0)]
    assert "555" not in str(played.of(ToolStarted) + played.of(ToolCompleted))


@pytest.mark.parametrize("blocking", [False, True], ids=["async", "sync"])
def test_what_a_tool_brings_is_redacted_before_the_model_reads_it_and_said_to_the_member(
    blocking: bool,
):
    desk = Desk("Her address is eve@example.test", blocking=blocking)
    office = Office(desk, calling("x"), rules())

    played = office.ask()

    assert [each.text for each in office.results] == ["Her address is [EMAIL_2]"]
    assert "eve@" not in office.shown_to_the_model()
    assert played.ending.content == f"{MAIL} eve@example.test [EMAIL_3]"


def test_tools_that_run_beside_each_other_take_different_placeholders():
    desk = Desk("eve@example.test")
    office = Office(desk, calling("x", "y"), rules())

    office.ask()

    assert sorted(each.text for each in office.results) == ["[EMAIL_2]", "[EMAIL_3]"]


@pytest.mark.parametrize(
    ("returned", "read"),
    [
        ({"mail": "eve@example.test", "n": 3}, {"mail": "[EMAIL_2]", "n": 3}),
        ({"phone": 12025550199}, {"phone": "[PHONE_2]"}),
        (["ada@example.test", {"a": None}], ["[EMAIL_1]", {"a": None}]),
    ],
)
def test_a_result_that_is_json_stays_json(returned: object, read: object):
    office = Office(Desk(returned), calling("x"), rules())

    office.ask()

    assert json.loads(office.results[0].text) == read


def test_of_a_result_in_blocks_the_texts_are_redacted_and_files_are_left():
    blocks = [
        {"type": "text", "text": "to eve@example.test"},
        {"type": "image", "base64": "MjAyLTU1NS0wMTk5", "mime_type": "image/png"},
    ]
    office = Office(Desk(blocks), calling("x"), rules())

    office.ask()

    assert office.results[0].content == [{"type": "text", "text": "to [EMAIL_2]"}, blocks[1]]


def test_a_result_that_is_a_command_is_redacted_as_well():
    told = ToolMessage("eve@example.test", tool_call_id="c0", name="send")
    office = Office(Desk(Command(update={"messages": [told]})), calling("x"), rules())

    office.ask()

    assert [each.text for each in office.results] == ["[EMAIL_2]"]


@pytest.mark.parametrize("blocking", [False, True], ids=["async", "sync"])
def test_what_a_tool_that_failed_says_is_redacted(blocking: bool):
    desk = Desk(ValueError("no such user eve@example.test"), blocking=blocking)
    office = Office(desk, calling("x"), rules(), handle_tool_errors=True)

    office.ask()

    assert "[EMAIL_2]" in office.results[0].text
    assert office.results[0].status == "error"


def test_a_tool_that_raises_fails_the_turn_as_without_the_wrapper():
    office = Office(Desk(RuntimeError("out of order")), calling("x"), rules())

    with pytest.raises(RuntimeError, match="out of order"):
        office.ask()


def test_a_result_with_what_the_model_may_never_get_is_withheld():
    office = Office(
        Desk(f"paid with {CARD}"), calling("x"), rules(entities={"CARD": {"model": "block"}})
    )

    office.ask()

    assert office.results[0].text == "The result was withheld: it holds private details (CARD)."
    assert "4111" not in str(office.kept)


def test_the_previews_of_a_call_show_no_details():
    office = Office(Desk({"mail": "eve@example.test"}), calling("[PHONE_1]"), rules())

    played = office.ask()

    assert [each.arguments for each in played.of(ToolStarted)] == [{"to": "[PHONE]"}]
    assert [each.result for each in played.of(ToolCompleted)] == ['{"mail": "[EMAIL]"}']


def test_the_previews_of_a_call_show_no_names_and_are_made_off_the_event_loop():
    pii = rules(kinds=["EMAIL", "PERSON"], sinks={"model": "none"})
    office = Office(Desk({"by": "Mr Jones"}), calling("Mrs Brown"), pii)
    threads: set[str] = set()

    def previewed(text: str, /, *, locale: str) -> str:
        threads.add(threading.current_thread().name)
        return pii.log_text(text, locale=None if locale == "en" else locale)

    played = office.ask(previewed=previewed)

    assert [each.arguments for each in played.of(ToolStarted)] == [{"to": "Mrs [PERSON]"}]
    assert [each.result for each in played.of(ToolCompleted)] == ['{"by": "Mr [PERSON]"}']
    assert "MainThread" not in threads


def test_a_later_turn_reads_what_an_earlier_one_brought_under_the_same_placeholder():
    private = PrivateTools(rules())
    office = Office(Desk("eve@example.test"), calling("x"), rules())
    office.ask()
    later = [
        *office.kept,
        AIMessage("It is eve@example.test"),
        HumanMessage("And bob@example.test?"),
    ]

    reading = private.read(later)

    assert [each.text for each in reading.messages[-3:]] == [
        "[EMAIL_2]",
        "It is [EMAIL_2]",
        "And [EMAIL_3]?",
    ]


def test_a_graph_that_runs_without_an_event_loop_is_kept_private_as_well():
    desk = Desk("eve@example.test", blocking=True)
    private = PrivateTools(rules(entities={"CARD": {"tools": "block"}}))
    graph: StateGraph[Any] = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([desk.tool], **private.wrappers))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    asked = [HumanMessage(ASKED), calling("[EMAIL_1]", CARD)]

    told = graph.compile().invoke({"messages": asked})["messages"][2:]

    assert desk.got == [MAIL]
    assert [each.status for each in told] == ["success", "error"]
    assert told[0].text == "[EMAIL_3]", "the first of two shares: 1, 3, 5, …"
