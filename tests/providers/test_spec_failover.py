"""An agent from a spec, whose answer's first provider is down."""

from pathlib import Path
from typing import Any

import pytest

from tests.providers.serving import Provider
from tests.server.running import InThread
from tests.server.shipped import with_index


def test_the_nodes_end_says_who_failed_and_who_answered(
    provider: Provider, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
):
    failing: list[dict[str, Any]] = [
        {"provider": "openai", "model": "demo-unavailable", "base_url": provider.url},
        {"provider": "openai", "model": "demo", "base_url": provider.url},
    ]
    roles = {"answer": [{"provider": "quoting"}], "executor": failing}
    data_dir = with_index(tmp_path_factory, tmp_path / "data")
    with InThread(data_dir, None, roles=roles) as server:
        api = server.api("chat", "studio")
        text = SPEC
        put = api.http.put("/studio/agents/echo-desk", json={"spec": text})
        assert put.status_code == 200, put.text
        body = {"messages": [{"role": "user", "content": "Hello there"}], "agent": "echo-desk"}
        with api.http.stream(
            "POST", "/chat", json=body, headers={"Accept": "text/event-stream"}
        ) as response:
            told = response.read().decode()
        metrics = api.http.get("/metrics").text
    assert '"failed":["openai:demo-unavailable (unavailable)"' in told
    assert '"answered":"openai:demo"' in told
    assert 'turnwire_failovers_total{agent="echo-desk",outcome="answered"} 1' in metrics


SPEC = """\
slug: echo-desk
title: Echo
nodes:
  - {id: reply, type: llm_agent, role: executor, grounded: false, prompt: {en: Answer.}}
edges:
  - {from: start, to: reply}
  - {from: reply, to: end}
"""
