import asyncio
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel, FakeListChatModel

from tests.models.scripted import Scripted
from turnwire.events import Usage
from turnwire.nodes.answer.completion import Completion, complete


def run(model: BaseChatModel) -> tuple[Completion, list[str], list[str]]:
    said: list[str] = []
    thought: list[str] = []
    completion = asyncio.run(complete(model, [], say=said.append, think=thought.append))
    return completion, said, thought


def test_each_piece_is_said_as_it_comes_and_the_tokens_are_counted():
    completion, said, _ = run(Scripted(script=["One ", "two."]))
    assert said == ["One ", "two."]
    assert completion.finish == "stop"
    assert completion.usage == Usage(prompt_tokens=20, completion_tokens=5, total_tokens=25)


@pytest.mark.parametrize(
    "ending",
    [{"finish_reason": "length"}, {"stop_reason": "max_tokens"}, {"done_reason": "length"}],
)
def test_an_answer_that_the_limit_cut_says_so(ending: dict[str, Any]):
    assert run(Scripted(script=["One"], ending=ending))[0].finish == "length"


def test_reasoning_is_kept_apart_from_the_answer():
    blocks = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes."}]
    _, said, thought = run(Scripted(script=[blocks]))
    assert (said, thought) == (["Yes."], ["Hm."])


def test_a_model_that_adds_to_its_iterator_is_called_its_own_way():
    _, said, _ = run(FakeListChatModel(responses=["Yes."], disable_streaming=True))
    assert "".join(said) == "Yes."


def test_time_is_taken_from_the_clock():
    times = iter([10.0, 10.25])
    model = Scripted(script=["One"])
    completion = asyncio.run(
        complete(model, [], say=lambda _: None, think=lambda _: None, clock=lambda: next(times))
    )
    assert completion.latency_ms == 250


def test_a_model_that_dies_closes_its_stream_and_is_heard_of():
    model = Scripted(script=["One ", ConnectionError("gone")])
    with pytest.raises(ConnectionError):
        run(model)
    assert model.closed == 1


def test_cancelling_closes_the_providers_stream():
    model = Scripted(script=["One ", ...])

    async def cancelled() -> None:
        def stop(_: str) -> None:
            task.cancel()

        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(complete(model, [], say=stop, think=lambda _: None))

    asyncio.run(cancelled())
    assert (model.opened, model.closed) == (1, 1)
