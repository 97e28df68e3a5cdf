"""A judge behind a real provider: its verdict counts, its failures are the policy's to say."""

import json
import re
from collections.abc import Callable, Iterator

import pytest

from tests.providers.serving import HANG, Provider, answer, delta
from tests.server.running import InThread
from turnwire.models.demo.faults import Ask, Reply, Step

STRANGE = "how old is the universe"
_STREAM = {"content-type": "text/event-stream", "connection": "close"}


def saying(verdict: str) -> Callable[[Provider], list[Step]]:
    """Return a judge that repeats the word that only the prompt has."""

    def steps(provider: Provider) -> list[Step]:
        fence = re.search(r"<message-([0-9a-f]+)>", str(provider.requests[-1]["messages"]))
        assert fence
        return [answer(json.dumps({"message": fence[1], "verdict": verdict}))]

    return steps


def babbling(_: Provider) -> list[Step]:
    return [answer("Well, ", "that depends. ", '{"verdict": "in_scope"}')]


def hanging(_: Provider) -> list[Step]:
    return [delta("{"), HANG]


@pytest.fixture(scope="module")
def server(running: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InThread]:
    judge = {"provider": "openai", "model": "judge", "base_url": running.url}
    roles = {"answer": [{"provider": "quoting"}], "judge": [judge]}
    data_dir = tmp_path_factory.mktemp("judged")
    with InThread(data_dir, None, policy="insurance", hitl=False, roles=roles) as started:
        yield started


def asked(server: InThread) -> tuple[str, dict[str, str]]:
    done = server.api().chat(STRANGE).json()
    decided = {each["check"]: each for each in done["guardrail_decisions"]}
    outcomes = {check: each["outcome"] for check, each in decided.items()}
    return done["finish_reason"], outcomes | {"why": str(decided["scope_judge"].get("reason"))}


@pytest.mark.parametrize(
    ("judge", "finish", "outcome", "why"),
    [
        (saying("in_scope"), "no_match", "pass", ""),
        (saying("out_of_scope"), "refused", "refuse", ""),
        (saying("injection"), "refused", "refuse", ""),
        (babbling, "refused", "refuse", "judge_unreadable"),
        (hanging, "refused", "refuse", "judge_timeout"),
    ],
    ids=["in scope", "out of scope", "injection", "babbling", "hanging"],
)
def test_a_judges_word_counts_and_without_one_the_policy_closes(
    provider: Provider,
    server: InThread,
    judge: Callable[[Provider], list[Step]],
    finish: str,
    outcome: str,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
):
    def reply(_: Ask) -> Reply:
        return Reply(judge(provider), 200, _STREAM)

    monkeypatch.setattr(provider.app, "reply", reply)
    reason, decided = asked(server)
    assert (reason, decided["scope_judge"]) == (finish, outcome)
    assert why in decided["why"]
    assert [each["model"] for each in provider.requests] == ["judge"]


def test_a_judge_that_is_down_closes_and_its_provider_is_asked_once(
    provider: Provider, server: InThread
):
    provider.status = 503
    reason, decided = asked(server)
    assert (reason, decided["scope_judge"]) == ("refused", "refuse")
    assert "judge_unavailable" in decided["why"]
