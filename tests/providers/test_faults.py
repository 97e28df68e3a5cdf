"""Every fault of a provider, over OpenAI's and Anthropic's own client libraries."""

import time

import pytest

from tests.providers.asking import PROMPT, TEXT, asked, chain
from tests.providers.serving import Provider
from turnwire.errors import (
    TurnBroken,
    UpstreamRateLimited,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from turnwire.events import Usage
from turnwire.graph.failures import classify
from turnwire.models.demo.faults import FAULTS

USAGE = Usage(prompt_tokens=7, completion_tokens=8, total_tokens=15)

BEFORE_THE_FIRST_WORD: dict[str, type[TurnBroken] | None] = {
    "rate-limited-long": UpstreamRateLimited,
    "unavailable": UpstreamUnavailable,
    "overloaded": UpstreamUnavailable,
    "bad-request": None,
    "unauthorized": UpstreamUnavailable,
    "forbidden": UpstreamUnavailable,
    "html": UpstreamUnavailable,
    "garbled": UpstreamUnavailable,
    "cut-first": UpstreamUnavailable,
    "error-first": UpstreamUnavailable,
    "quota-first": UpstreamRateLimited,
    "empty": UpstreamUnavailable,
    "filtered": UpstreamUnavailable,
    "reasoning-only": UpstreamUnavailable,
    "bad-tool": UpstreamUnavailable,
    "cut-tool": UpstreamUnavailable,
}
AFTER_TWO_WORDS = ("cut", "error", "no-end")
HARMLESS = ("ok", "usage-only", "usage-each", "reasoning", "length")
TIMED = ("slow", "hang")
ELSEWHERE = ("rate-limited", "tool")


def test_every_fault_is_tried_here():
    tried = {*BEFORE_THE_FIRST_WORD, *AFTER_TWO_WORDS, *HARMLESS, *TIMED, *ELSEWHERE}
    assert tried == set(FAULTS)


@pytest.mark.parametrize("fault", BEFORE_THE_FIRST_WORD)
def test_a_fault_before_the_first_word_is_invisible(provider: Provider, protocol: str, fault: str):
    told = asked(provider, chain(provider, protocol, f"demo-{fault}", "demo"))
    assert told.error is None
    assert told.text == TEXT
    assert told.calls == [f"demo-{fault}", "demo"]
    assert told.completion is not None
    assert told.completion.model == "demo"
    assert told.completion.finish == "stop"


@pytest.mark.parametrize("fault", TIMED)
def test_a_provider_that_gives_no_sign_in_time_is_left(
    provider: Provider, protocol: str, fault: str
):
    began = time.monotonic()
    told = asked(provider, chain(provider, protocol, f"demo-{fault}", "demo", timeout=0.3))
    assert (told.text, told.calls) == (TEXT, [f"demo-{fault}", "demo"])
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("fault", AFTER_TWO_WORDS)
def test_a_fault_after_the_first_word_ends_the_answer_and_nobody_else_is_asked(
    provider: Provider, protocol: str, fault: str
):
    told = asked(provider, chain(provider, protocol, f"demo-{fault}", "demo"))
    assert told.text.startswith("The ")
    assert TEXT.startswith(told.text)
    assert told.text != TEXT
    assert isinstance(told.error, UpstreamUnavailable)
    assert told.calls == [f"demo-{fault}"]


@pytest.mark.parametrize("fault", [each for each in HARMLESS if each != "length"])
def test_what_is_no_fault_is_one_whole_answer_with_its_usage_counted_once(
    provider: Provider, protocol: str, fault: str
):
    told = asked(provider, chain(provider, protocol, f"demo-{fault}", "demo"))
    assert (told.text, told.calls) == (TEXT, [f"demo-{fault}"])
    assert told.completion is not None
    assert told.completion.usage == USAGE
    assert told.completion.usd == pytest.approx(7 * 0.001 + 8 * 0.01)


def test_the_providers_length_limit_is_told(provider: Provider, protocol: str):
    told = asked(provider, chain(provider, protocol, "demo-length", "demo"))
    assert told.completion is not None
    assert (told.completion.finish, told.calls) == ("length", ["demo-length"])


def test_anthropics_thinking_is_no_part_of_the_answer(provider: Provider):
    told = asked(provider, chain(provider, "anthropic", "demo-reasoning"))
    assert (told.text, told.thought) == (TEXT, ["Hm. "])


@pytest.mark.parametrize(("fault", "kind"), BEFORE_THE_FIRST_WORD.items())
def test_where_nobody_else_is_left_the_failure_says_what_it_was(
    provider: Provider, protocol: str, fault: str, kind: type[TurnBroken] | None
):
    told = asked(provider, chain(provider, protocol, f"demo-{fault}"))
    assert told.said == []
    assert told.error is not None
    broken = classify(told.error)
    assert (type(broken) if broken else None) is kind
    assert told.completion is None


@pytest.mark.parametrize("fault", ["bad-request", "unauthorized", "forbidden", "filtered"])
def test_what_another_try_cannot_mend_is_not_tried_again(
    provider: Provider, protocol: str, fault: str
):
    assert len(asked(provider, chain(provider, protocol, f"demo-{fault}")).calls) == 1


@pytest.mark.parametrize("fault", ["unavailable", "cut-first", "empty", "error-first"])
def test_a_provider_without_a_stand_in_is_tried_once_more(
    provider: Provider, protocol: str, fault: str
):
    provider.faults = [fault, "ok"]
    told = asked(provider, chain(provider, protocol, "demo"))
    assert (told.text, told.calls) == (TEXT, ["demo", "demo"])


def test_a_short_retry_after_is_waited_for(provider: Provider, protocol: str):
    provider.faults = ["rate-limited", "ok"]
    began = time.monotonic()
    told = asked(provider, chain(provider, protocol, "demo", "demo-unavailable"))
    assert (told.text, told.calls) == (TEXT, ["demo", "demo"])
    assert 1 <= time.monotonic() - began < 3


def test_a_long_retry_after_means_the_next_provider_at_once_and_no_call_until_then(
    provider: Provider, protocol: str
):
    gateway = chain(provider, protocol, "demo-rate-limited-long", "demo")
    began = time.monotonic()
    assert asked(provider, gateway).calls == ["demo-rate-limited-long", "demo"]
    assert asked(provider, gateway).calls == ["demo"]
    assert time.monotonic() - began < 2


def test_protocols_stand_in_for_each_other(provider: Provider):
    told = asked(provider, chain(provider, "", "anthropic:demo-overloaded", "openai:demo"))
    assert (told.text, told.calls) == (TEXT, ["demo-overloaded", "demo"])


def test_when_all_fail_one_error_names_them_and_none_of_their_words(
    provider: Provider, protocol: str
):
    told = asked(provider, chain(provider, protocol, "demo-unauthorized", "demo-unavailable"))
    assert isinstance(told.error, UpstreamUnavailable)
    said = str(told.error)
    assert f"{protocol}:demo-unauthorized: unauthorized (401)" in said
    assert f"{protocol}:demo-unavailable: unavailable (500)" in said
    assert "the demo provider answers" not in said
    assert str(PROMPT[0].text) not in said


def test_silence_of_every_provider_is_a_timeout(provider: Provider, protocol: str):
    told = asked(provider, chain(provider, protocol, "demo-hang", "demo-slow", timeout=0.2))
    assert isinstance(told.error, UpstreamTimeout)
