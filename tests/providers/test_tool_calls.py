"""Tool calls through a chain, over the real client libraries."""

import asyncio

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from tests.providers.asking import PROMPT, chain
from tests.providers.serving import Provider
from turnwire.errors import UpstreamUnavailable


@tool
def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


def called(provider: Provider, protocol: str, *models: str) -> AIMessage:
    bound = chain(provider, protocol, *models).bind_tools([pay])
    return asyncio.run(bound.ainvoke(list(PROMPT)))


def test_a_sound_call_arrives_whole_and_once(provider: Provider, protocol: str):
    message = called(provider, protocol, "demo-tool")
    assert [(each["name"], each["args"]) for each in message.tool_calls] == [
        ("pay", {"amount": 100})
    ]
    assert message.invalid_tool_calls == []
    assert "pay" in str(provider.requests[-1]["tools"])


@pytest.mark.parametrize("fault", ["bad-tool", "cut-tool"])
def test_a_call_that_was_cut_is_never_run(provider: Provider, protocol: str, fault: str):
    with pytest.raises(UpstreamUnavailable):
        called(provider, protocol, f"demo-{fault}")


@pytest.mark.parametrize("fault", ["bad-tool", "cut-tool", "unavailable"])
def test_the_next_model_is_offered_the_same_tools(provider: Provider, protocol: str, fault: str):
    message = called(provider, protocol, f"demo-{fault}", "demo-tool")
    assert [each["args"] for each in message.tool_calls] == [{"amount": 100}]
