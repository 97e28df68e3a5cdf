"""Every flow of the member agent on a real server: live, told again, and as it is kept."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from tests.faults.membership import (
    DemoPortal,
    Membership,
    actions,
    ask,
    conversation,
    decide,
    finish,
    member,
    names,
    said,
    sign_in,
    tools,
)
from tests.providers.serving import Provider
from tests.server.answering import told_again
from tests.server.reading import Frame
from tests.server.running import Api
from tests.server.shipped import with_index
from tests.wires.order import Screen, check_order

CALLBACK = "Please call me back about my claim"
BOTH = "Call me back about my bill and change my address to 9 Oak Street, Hull, HU1 1AA, UK"
MIXED = "What is a waiting period and how much of my dental limit have I used?"
PLAN = "Which plan am I on?"


@pytest.fixture(scope="module")
def failing(
    portal_of_module: DemoPortal, provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Membership]:
    """A server whose model's provider is down."""
    data_dir = with_index(tmp_path_factory, tmp_path_factory.mktemp("failing"))
    model = {"model": "openai:demo-unavailable", "model_base_url": provider.url}
    with Membership(data_dir, portal_of_module, model_api_key="any", **model) as each:
        yield each


@dataclass
class Walk:
    """One member's turn, stream by stream."""

    server: Membership
    api: Api
    streams: list[list[Frame]] = field(default_factory=list[list[Frame]])

    @property
    def opened(self) -> list[Frame]:
        return self.streams[0]

    @property
    def asked(self) -> list[Frame]:
        """Return the frames of the stream that asked last."""
        return self.streams[-1]


Step = Callable[[Walk], list[Frame]]


def approves(tool: str = "request_callback") -> Step:
    return lambda walk: decide(walk.api, walk.opened, tool=tool)


def rejects(tool: str = "request_callback", feedback: str | None = None) -> Step:
    return lambda walk: decide(walk.api, walk.opened, "reject", tool, feedback=feedback)


def signs_in(walk: Walk) -> list[Frame]:
    sign_in(walk.server, walk.api)
    return walk.api.post("/chat/resume", conversation_id=conversation(walk.opened))


@dataclass(frozen=True, kw_only=True)
class Flow:
    """What a member says and does, and what comes of it."""

    says: str
    is_signed_in: bool = True
    then: tuple[Step, ...] = ()
    is_stopped: bool = False
    ends: tuple[str, ...] = ("stop",)
    """How each stream ends."""
    tools: tuple[tuple[str, str], ...] = ()
    actions: tuple[str, ...] = ()
    happened: tuple[str, ...] = ()
    """What the portal did."""
    cites: bool = False
    words: tuple[str, ...] = ()
    never: tuple[str, ...] = ("will call you back", "has been changed")


CALLED = (("request_callback", "ok"),)
WAITS, DONE = ("awaiting_confirmation", "stop"), "an adviser will call you back"

FLOWS = {
    "plain": Flow(says="Hello", words=("I can look up questions",)),
    "searched": Flow(says="What is a waiting period?", cites=True, words=("waiting period",)),
    "tool": Flow(says=PLAN, tools=(("get_plan_details", "ok"),), words=("Family",)),
    "confirmed": Flow(
        says=CALLBACK,
        then=(approves(),),
        ends=WAITS,
        tools=CALLED,
        actions=("ok",),
        happened=("callback",),
        words=(DONE,),
        never=(),
    ),
    "rejected": Flow(
        says=CALLBACK,
        then=(rejects(feedback="I would rather write to you"),),
        ends=WAITS,
        actions=("rejected",),
        words=("nobody will call you",),
    ),
    "two confirmations": Flow(
        says=BOTH,
        then=(approves("change_address"), approves()),
        ends=("awaiting_confirmation", *WAITS),
        tools=(("change_address", "ok"), *CALLED),
        actions=("ok", "ok"),
        happened=("address_change", "callback"),
        words=(DONE, "Your address has been changed"),
        never=(),
    ),
    "one of two": Flow(
        says=BOTH,
        then=(rejects("change_address"), approves()),
        ends=("awaiting_confirmation", *WAITS),
        tools=CALLED,
        actions=("rejected", "ok"),
        happened=("callback",),
        words=(DONE, "your address stays as it was"),
        never=("has been changed",),
    ),
    "read and confirmed": Flow(
        says=f"{PLAN} {CALLBACK}.",
        then=(approves(),),
        ends=WAITS,
        tools=(("get_plan_details", "ok"), *CALLED),  # the read is not made again
        actions=("ok",),
        happened=("callback",),
        words=(DONE, "Family"),
        never=(),
    ),
    "signed in": Flow(
        says=PLAN,
        is_signed_in=False,
        then=(signs_in,),
        ends=("awaiting_sign_in", "stop"),
        tools=(("get_plan_details", "ok"),),
        words=("I need you to sign in", "Family"),
    ),
    "mixed": Flow(
        says=MIXED,
        is_signed_in=False,
        then=(signs_in,),
        ends=("awaiting_sign_in", "stop"),
        tools=(("get_covered_benefits", "ok"),),
        cites=True,
        words=("In general:", "For your own policy:", "£180 used"),
    ),
    "action, signed out": Flow(
        says=CALLBACK,
        is_signed_in=False,
        ends=("sign_in_required",),
        tools=(("request_callback", "error"),),
        words=("only for members who have signed in",),
    ),
    "refused": Flow(says="What is the weather in Paris?", ends=("refused",), words=("only help",)),
    "escalated": Flow(says="I have chest pain", ends=("escalated",), words=("emergency number",)),
    "cancelled": Flow(
        says=PLAN,
        is_stopped=True,
        ends=("cancelled",),
        tools=(("get_plan_details", "error"),),
        never=("Family",),
    ),
}


@pytest.mark.parametrize("name", FLOWS)
def test_a_flow_is_the_same_live_told_again_and_as_it_is_kept(
    server: Membership, portal: DemoPortal, name: str
):
    flow = FLOWS[name]
    api = member(server, signed_in=flow.is_signed_in)
    if flow.is_stopped:
        portal.switch(delay_ms=5_000)
    walk = Walk(server, api, [_stopped(api, flow.says) if flow.is_stopped else ask(api, flow.says)])
    _check_waits(walk)
    for each in flow.then:
        walk.streams.append(each(walk))
        _check_waits(walk)
    live = _whole(walk.streams)
    assert tuple(map(finish, walk.streams)) == flow.ends
    assert tuple(tools(live)) == flow.tools
    assert tuple(actions(live)) == flow.actions
    assert tuple(each["kind"] for each in portal.acted()) == flow.happened
    assert all(each in said(live) for each in flow.words), said(live)
    assert not any(each in said(live) for each in flow.never), said(live)
    assert ("citation" in names(live)) == flow.cites
    _check_kept(walk, live)


def _check_waits(walk: Walk) -> None:
    """Check one stream's order; what waits is told again as it was."""
    last = walk.streams[-1]
    check_order(last)
    again = told_again(walk.api, walk.opened)
    check_order(again)
    assert again == _whole(walk.streams)


def _whole(streams: list[list[Frame]]) -> list[Frame]:
    """Return the message that several streams told: opened once, and ended once."""
    first, *others = streams
    assert all(each[0].data == first[0].data for each in others), "the same message, opened again"
    frames = list(first)
    for each in others:
        frames = [*frames[:-1], *each[1:]]
    return frames


def _check_kept(walk: Walk, live: list[Frame]) -> None:
    """What is kept of the turn is what was streamed."""
    shown = Screen().take(live)
    api, opened = walk.api, walk.opened[0]
    turn = api.turn(conversation(live), opened.turn_id)
    assert turn["content"] == shown.text
    assert (turn["finish_reason"] or turn["error_code"]) == shown.ending
    assert {each["id"] for each in turn["citations"]} == set(shown.citations)
    [kept] = api.http.get(f"/conversations/{conversation(live)}").json()["turns"]
    assert kept["content"] == shown.text
    assert api.http.get(f"/conversations/{conversation(live)}/pauses").json() == {"pauses": []}


def _stopped(api: Api, message: str) -> list[Frame]:
    """Ask, stop the turn while a tool works, and return the whole stream."""
    with api.ask(message, agent="member") as reader:
        opened = reader.next()
        frames = [opened, reader.until("tool.started")]
        api.http.post(f"/conversations/{opened.data['conversation_id']}/cancel").raise_for_status()
        return [*frames, *reader.rest()]


def test_a_turn_that_fails_says_so_and_the_next_one_is_answered(
    failing: Membership, portal: DemoPortal
):
    api = member(failing)
    walk = Walk(failing, api, [ask(api, "What is a waiting period?")])
    _check_waits(walk)
    assert finish(walk.opened) == "upstream_unavailable"
    assert names(walk.opened)[-1] == "error"
    _check_kept(walk, walk.opened)
    again = ask(api, "Hello", conversation_id=conversation(walk.opened))
    assert finish(again) == "stop"
