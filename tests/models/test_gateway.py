"""What a chain of models does, with models that say what a test wrote."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from tests.models.scripted import Scripted
from tests.models.test_breaker import Clock
from turnwire.errors import BudgetExceeded, UpstreamUnavailable
from turnwire.events import CallOutcome, ModelCalled
from turnwire.graph.context import TurnContext
from turnwire.models.attempt import Upstream
from turnwire.models.breaker import BreakerPolicy, Breakers
from turnwire.models.budget import Budget, Ledger, Spent
from turnwire.models.calls import Terms
from turnwire.models.gateway import Gateway
from turnwire.models.outcome import Outcome
from turnwire.models.roles import Price
from turnwire.nodes.answer.completion import Completion, complete
from turnwire.probe import NOTES, BreakerState

PROMPT: Sequence[BaseMessage] = [HumanMessage("x" * 40)]
"""Ten tokens, as they are estimated."""
PRICE = Price(input=1_000, output=10_000)
THOUGHT: list[Any] = [{"type": "thinking", "thinking": "Hm, let me see."}]
DOWN = ConnectionError("down")


def model(*script: object) -> Scripted:
    return Scripted(script=list(script))


def gateway(*models: Scripted, silent: bool = False, terms: Terms | None = None) -> Gateway:
    upstreams = [
        Upstream(
            name=f"m{at}",
            label=f"test:m{at}",
            key=f"m{at}",
            model=each,
            price=PRICE,
            may_be_silent=silent,
        )
        for at, each in enumerate(models)
    ]
    return Gateway(upstreams=upstreams, terms=terms or Terms(patience=0))


def brittle() -> Terms:
    """Return terms whose breakers open at the first failure and stay open."""
    return Terms(patience=0, breakers=Breakers(clock=Clock(), policy=BreakerPolicy(threshold=1)))


def ask(chain: Gateway) -> tuple[Completion, str, str]:
    said: list[str] = []
    thought: list[str] = []
    done = asyncio.run(complete(chain, PROMPT, say=said.append, think=thought.append))
    return done, "".join(said), "".join(thought)


def merged(chain: Gateway) -> AIMessage:
    return asyncio.run(chain.ainvoke(list(PROMPT)))


def opened(*models: Scripted) -> list[int]:
    return [each.opened for each in models]


def test_a_breaker_spares_a_provider_and_finds_out_with_one_call_that_it_is_back():
    clock = Clock()
    breakers = Breakers(clock=clock, policy=BreakerPolicy(threshold=2, cooldown=10))
    first, second = model(DOWN), model("Two")
    chain = gateway(first, second, terms=Terms(patience=0, breakers=breakers))
    for _ in range(4):
        assert ask(chain)[1] == "Two"
    assert opened(first, second) == [2, 4]
    clock.now += 10
    ask(chain)
    ask(chain)
    assert opened(first, second) == [3, 6], "one probe, then it is left alone again"
    first.script = ["One"]
    clock.now += 20
    assert [ask(chain)[1] for _ in range(3)] == ["One", "One", "One"]


def test_where_every_breaker_is_open_the_turn_fails_at_once():
    first = model(DOWN)
    chain = gateway(first, terms=brittle())
    for _ in range(3):
        with pytest.raises(UpstreamUnavailable):
            ask(chain)
    assert first.opened == 1


def test_a_probe_that_the_client_leaves_does_not_shut_the_provider_out():
    clock = Clock()
    breakers = Breakers(clock=clock, policy=BreakerPolicy(threshold=1, cooldown=10))
    first = model(DOWN)
    chain = gateway(first, terms=Terms(patience=0, breakers=breakers))
    with pytest.raises(UpstreamUnavailable):
        ask(chain)
    clock.now += 10
    first.script = [...]

    async def left() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await chain.ainvoke(list(PROMPT))

    asyncio.run(left())
    assert first.closed == 2
    first.script = ["One"]
    assert ask(chain)[1] == "One"


def test_a_request_that_is_refused_does_not_speak_against_the_provider():
    class Refused(Exception):
        status_code = 400

    first, second = model(Refused()), model("Two")
    chain = gateway(first, second, terms=brittle())
    assert [ask(chain)[1] for _ in range(3)] == ["Two"] * 3
    assert first.opened == 3


def test_what_every_provider_refuses_is_raised_as_it_is():
    class Refused(Exception):
        status_code = 400

    with pytest.raises(Refused):
        ask(gateway(model(Refused()), model(Refused())))


def test_blanks_before_the_first_word_are_no_word():
    first, second = model("\n", " ", DOWN), model("\n", "Two")
    assert ask(gateway(first, second))[1] == "\nTwo"


def test_an_answer_of_blanks_only_is_no_answer():
    assert ask(gateway(model("\n"), model("Two")))[1] == "Two"
    with pytest.raises(UpstreamUnavailable):
        ask(gateway(model("\n")))


def test_the_reasoning_of_a_dead_attempt_is_in_no_message():
    blocks = cast("list[object]", merged(gateway(model(THOUGHT, DOWN), model("Two"))).content)
    assert "Hm" not in str(blocks)


def test_reasoning_is_live_where_it_is_asked_for():
    _, said, thought = ask(
        gateway(model(THOUGHT, DOWN), model("Two"), terms=Terms(patience=0, live_reasoning=True))
    )
    assert (said, thought) == ("Two", "Hm, let me see.")


def test_the_usage_of_failed_calls_is_counted_and_estimated_where_nobody_told():
    done, _, _ = ask(gateway(model(THOUGHT, DOWN), model(DOWN), model("Two")))
    # 10 of the prompt and 4 of the thought; none of the call that gave no sign; 20 and 5 told.
    assert (done.usage.prompt_tokens, done.usage.completion_tokens) == (30, 9)
    assert done.usd == pytest.approx(30 * 0.001 + 9 * 0.01)
    assert done.model == "m2"


def test_a_message_is_merged_with_its_usage_once_and_one_finish_reason():
    message = merged(gateway(model("One ", "two.")))
    assert message.text == "One two."
    assert message.usage_metadata is not None
    assert message.usage_metadata["total_tokens"] == 25
    assert message.response_metadata["finish_reason"] == "stop"
    assert message.response_metadata["turnwire"] == {"model": "m0", "usd": pytest.approx(0.07)}


def test_a_model_that_quotes_may_say_nothing():
    done, said, _ = ask(gateway(model(), silent=True))
    assert (said, done.model) == ("", "m0")


def test_an_answer_that_is_longer_than_the_budget_is_cut_and_says_so():
    first = model(*["word"] * 100)
    done, said, _ = ask(gateway(first, terms=Terms(budget=Budget(tokens=15))))
    assert (said, done.finish) == ("word" * 6, "length")
    assert (first.opened, first.closed) == (1, 1)


def test_reasoning_that_uses_the_budget_up_is_no_answer():
    with pytest.raises(BudgetExceeded):
        ask(gateway(model(*[THOUGHT] * 100), model("Two"), terms=Terms(budget=Budget(tokens=15))))


@pytest.mark.parametrize("budget", [Budget(tokens=10), Budget(usd=0.01)])
def test_a_call_that_the_budget_has_no_room_for_is_not_made(budget: Budget):
    first = model("One")
    with pytest.raises(BudgetExceeded):
        ask(gateway(first, terms=Terms(budget=budget)))
    assert first.opened == 0


class _State(TypedDict, total=False):
    said: str


def test_all_calls_of_a_turn_share_its_budget_and_other_turns_do_not():
    first, ledger = model("One"), Ledger()
    chain = gateway(first, terms=Terms(ledger=ledger, budget=Budget(tokens=50)))

    async def node(state: _State) -> _State:
        return {"said": str((await chain.ainvoke(list(PROMPT))).text)}

    graph: StateGraph[_State, TurnContext] = StateGraph(_State, context_schema=TurnContext)
    graph.add_node("one", node)
    graph.add_node("two", node)
    graph.add_edge(START, "one")
    graph.add_edge("one", "two")
    graph.add_edge("two", END)
    compiled = graph.compile()

    def turn(turn_id: str) -> TurnContext:
        return TurnContext(
            turn_id=turn_id, conversation_id="c", principal="p", locale="en", trace_id="t"
        )

    async def run() -> None:
        await compiled.ainvoke({}, context=turn("a"))
        assert ledger.spent("a") == Spent(40, 10, ledger.spent("a").usd)
        assert ledger.spent("a").usd == pytest.approx(0.14)
        with pytest.raises(BudgetExceeded):
            await compiled.ainvoke({}, context=turn("a"))
        await compiled.ainvoke({}, context=turn("b"))

    asyncio.run(run())
    assert first.opened == 4


def test_words_stream_through_a_graph_once():
    chain = gateway(model(THOUGHT, DOWN), model("One ", "two."))

    async def node(state: _State) -> _State:
        return {"said": str((await chain.ainvoke(list(PROMPT))).text)}

    graph: StateGraph[_State] = StateGraph(_State)
    graph.add_node("one", node)
    graph.add_edge(START, "one")
    graph.add_edge("one", END)

    async def heard() -> list[str]:
        stream: Any = graph.compile().astream({}, stream_mode="messages", version="v2")
        return [str(part["data"][0].text) async for part in stream]

    assert [each for each in asyncio.run(heard()) if each] == ["One ", "two."]


def test_each_call_is_told_to_the_observer():
    told: list[Outcome] = []
    ask(gateway(model(DOWN), model("Two"), terms=Terms(observe=told.append)))
    assert [(each.label, str(each.failure), each.spoke) for each in told] == [
        ("test:m0", "unavailable", False),
        ("test:m1", "None", True),
    ]
    assert told[0].first_seconds is None
    assert told[1].first_seconds is not None


class Health:
    """Keeps what it is told of providers."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, CallOutcome]] = []
        self.states: list[tuple[str, BreakerState]] = []

    def called(self, provider: str, outcome: CallOutcome, *, seconds: float) -> None:
        assert seconds >= 0
        self.calls.append((provider, outcome))

    def breaker(self, provider: str, state: BreakerState) -> None:
        self.states.append((provider, state))


def test_the_health_of_providers_is_told_after_each_call():
    health = Health()
    terms = replace(brittle(), health=health)
    ask(gateway(model(DOWN), model("Two"), terms=terms))

    assert health.calls == [("test:m0", "unavailable"), ("test:m1", "ok")]
    assert health.states == [("test:m0", "open"), ("test:m1", "closed")]


def test_a_call_that_the_client_left_speaks_neither_for_nor_against_its_provider():
    health = Health()
    chain = gateway(model("One ", ...), terms=Terms(health=health))

    async def leave() -> None:
        stream = cast("AsyncGenerator[AIMessageChunk, None]", chain.astream(list(PROMPT)))
        async with aclosing(stream) as chunks:
            async for _ in chunks:
                break

    asyncio.run(leave())

    assert health.calls == [("test:m0", "cancelled")]


def test_whoever_stops_to_listen_closes_the_providers_stream():
    first = model("One ", ...)

    async def leave() -> None:
        stream = gateway(first).astream(list(PROMPT))
        async for chunk in stream:
            assert isinstance(chunk, AIMessageChunk)
            break
        await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue]

    asyncio.run(leave())
    assert (first.opened, first.closed) == (1, 1)


def test_a_blocking_call_says_what_to_call_instead():
    with pytest.raises(NotImplementedError, match="ainvoke"):
        gateway(model("One")).invoke(list(PROMPT))


def test_each_call_is_noted_for_the_turn_with_what_it_took():
    noted: list[ModelCalled] = []
    before = NOTES.set(noted.append)
    try:
        ask(gateway(model(THOUGHT, DOWN), model("Two")))
    finally:
        NOTES.reset(before)
    assert [(each.provider, each.outcome) for each in noted] == [
        ("test:m0", "unavailable"),
        ("test:m1", "ok"),
    ]
    failed, good = noted
    assert (failed.tokens_in, failed.tokens_out) == (10, 4)
    assert (good.tokens_in, good.tokens_out) == (20, 5)
    assert good.usd == pytest.approx(PRICE.of(20, 5))
    assert good.first_token_ms is not None


def test_a_call_that_is_cancelled_is_noted_with_what_it_had_said():
    noted: list[ModelCalled] = []

    async def cancelled() -> None:
        NOTES.set(noted.append)
        stream = gateway(model("word" * 5, ...)).astream(list(PROMPT))
        async with aclosing(cast("AsyncGenerator[Any, None]", stream)) as chunks:
            await anext(chunks)

    asyncio.run(cancelled())
    (call,) = noted
    assert (call.outcome, call.tokens_in, call.tokens_out) == ("cancelled", 10, 5)
