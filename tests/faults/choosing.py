"""A provider whose model calls the tools that a test wrote for a question, and then answers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from tests.providers.serving import Provider
from turnwire.models.demo.faults import FAULTS, Ask, Reply, Step

Rounds = Sequence[Sequence[tuple[str, Mapping[str, Any]]] | Step]
"""The calls of each round: names and arguments; or one step, such as ``HANG``."""

TALK = "CANARY-what-the-choosing-model-said"


def choose(provider: Provider, asked: Mapping[str, Rounds], *, answer: Sequence[Step] = ()) -> None:
    """Have the model call tools: those of the first key that is in the member's last message."""

    def reply(ask: Ask) -> Reply:
        found = chosen(ask)
        # A client's idle connection would outlive the event loop of the test that opened it.
        return replace(found, headers={**found.headers, "connection": "close"})

    def chosen(ask: Ask) -> Reply:
        body = provider.requests[-1]
        if not body.get("tools"):
            return Reply(answer) if answer else FAULTS["ok"](ask)
        messages = body["messages"]
        question = next(str(e["content"]) for e in reversed(messages) if e["role"] == "user")
        rounds = next((each for key, each in asked.items() if key in question), ())
        at = sum(1 for each in messages if each.get("tool_calls"))
        if at >= len(rounds):
            return FAULTS["ok"](ask)
        step = rounds[at]
        if isinstance(step, Sequence) and not isinstance(step, bytes):
            return Reply([*ask.dialect.words([TALK]), _calls(at, step), *ask.ending("tool")])
        return Reply([*ask.dialect.opening(), step])

    provider.app.reply = reply


def _calls(at: int, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> bytes:
    made = [
        {
            "index": number,
            "id": f"call_{at}_{number}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for number, (name, arguments) in enumerate(calls)
    ]
    choice = {"index": 0, "delta": {"tool_calls": made}, "finish_reason": None}
    about = {"id": "chatcmpl-demo", "object": "chat.completion.chunk", "created": 0, "model": "x"}
    return f"data: {json.dumps({**about, 'choices': [choice]})}\n\n".encode()


def check_history(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Fail where a strict provider would refuse; return what assistants said."""
    calls = [call["id"] for each in messages for call in each.get("tool_calls") or ()]
    results = [each["tool_call_id"] for each in messages if each["role"] == "tool"]
    assert sorted(calls) == sorted(results), "each call has one result"
    assert len(set(calls)) == len(calls)
    for before, after in pairwise(messages):
        if before.get("tool_calls"):
            assert after["role"] == "tool", "results follow their calls"
        elif before["role"] != "tool":
            assert before["role"] != after["role"]
    return [each["content"] for each in messages if each["role"] == "assistant"]
