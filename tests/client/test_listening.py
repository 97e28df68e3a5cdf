"""The core of the client, without a server: what it sends, tells, waits for and gives up."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwire.client.account import Account
from turnwire.client.endings import Broken, Completed, Failed, Paused
from turnwire.client.errors import BrokenStream, Refused, refusal
from turnwire.client.events import AnswerReplaced, Event, Unknown
from turnwire.client.listening import Listening
from turnwire.client.requests import Hints, Sent, ask, confirm
from turnwire.client.retry import Retry
from turnwire.wires.answer_frames import CitationFrame, TokenDelta

Said = tuple[int, str, dict[str, Any]]

STARTED: Said = (1, "message.started", {"message_id": "t", "conversation_id": "c", "model": "m"})
EVENTS = "/conversations/c/turns/t/events?wire=answer"


def token(seq: int, text: str) -> Said:
    return seq, "token.delta", {"text": text}


def citation(seq: int, id: str) -> Said:
    return seq, "citation", {"id": id, "title": "T", "document_id": "d", "snippet": "s"}


def completed(seq: int, reason: str = "stop") -> Said:
    return seq, "message.completed", {"message_id": "t", "finish_reason": reason}


def error(seq: int, code: str) -> Said:
    return seq, "error", {"code": code, "message": "m", "retryable": True}


def listening(*, can_attach: bool = True, **retry: Any) -> Listening:  # noqa: ANN401
    opening = ask("hi", conversation_id=None, agent=None, hints=Hints(), key="k")
    patience = Retry(**{"tries": 3, **retry}, first=1.0, longest=3.0)
    return Listening(opening, Account(), can_attach=can_attach, retry=patience, chance=lambda: 1.0)


def hear(core: Listening, *frames: Said) -> list[Event]:
    """Return what a stream with these frames tells."""
    told: list[Event] = []
    for seq, name, data in frames:
        assert not core.at_the_end
        told += core.hear(f"t.{seq}", name, json.dumps(data))
    return told


def cut(core: Listening, *frames: Said) -> list[Event]:
    """Return what a stream tells that begins with these frames and breaks."""
    core.request()
    told = hear(core, *frames)
    return [*told, *core.lose(None)]


def words(events: Sequence[Event]) -> list[str]:
    return [each.text for each in events if isinstance(each, TokenDelta)]


def no(status: int, code: str, after: float | None = None) -> Refused:
    return Refused(status, code, "no", retry_after=after)


def test_the_question_is_sent_under_its_key_again_until_something_was_heard():
    core = listening()
    first = core.request()
    core.lose(OSError())
    assert core.request() == first
    assert first.headers["idempotency-key"] == "k"
    hear(core, STARTED, token(2, "a"))
    core.lose(None)
    assert core.request() == Sent("GET", EVENTS, headers={"last-event-id": "t.2"})


def test_frames_of_an_event_that_arrived_in_part_are_not_told_twice():
    core = listening()
    cut(core, STARTED, token(5, "a"), citation(6, "1"), citation(6, "2"))
    core.request()
    told = hear(core, citation(6, "1"), citation(6, "2"), citation(6, "3"), completed(7))
    assert [each.id for each in told if isinstance(each, CitationFrame)] == ["3"]
    assert [each.id for each in core.account.citations] == ["1", "2", "3"]


def test_two_equal_words_are_two():
    core = listening()
    cut(core, STARTED, token(2, "ha"))
    core.request()
    assert words(hear(core, token(3, "ha"), token(4, "ha"), completed(5))) == ["ha", "ha"]
    assert core.account.text == "hahaha"


WHOLE: list[Said] = [
    STARTED,
    token(3, "a"),
    (3, "tool.started", {"tool_call_id": "1", "name": "x", "arguments": {}}),
    token(4, "a"),
    token(6, "b"),
    citation(7, "1"),
    citation(7, "1"),
    citation(7, "2"),
    completed(8),
]


def after(last: str) -> list[Said]:
    """Return what a server tells after an id: all frames of each later event."""
    # The frame before the last of its event has the number before.
    of_event = [1, 3, 4, 4, 6, 8, 8, 8, 8]
    number = int(last.removeprefix("t.") or 0)
    return [each for each, event in zip(WHOLE, of_event, strict=True) if event > number]


@given(cuts=st.lists(st.integers(0, 9), max_size=6), can_attach=st.booleans())
def test_wherever_a_turn_is_cut_it_is_told_once_and_whole(cuts: list[int], can_attach: bool):
    core, told = listening(can_attach=can_attach, tries=99), list[Event]()
    for most in [*cuts, 99]:
        sent = core.request()
        frames = after(sent.headers.get("last-event-id", "") if sent.method == "GET" else "")
        told += hear(core, *frames[:most])
        if core.over:
            break
        told += core.lose(None)
    whole = listening()
    whole.request()
    assert told == hear(whole, *WHOLE)


def test_what_a_client_does_not_know_is_passed_on_as_unknown():
    core = listening()
    core.request()
    odd: list[Said] = [(2, "sparkle", {"x": 1}), (3, "tool.completed", {"status": "maybe"})]
    assert hear(core, STARTED, *odd)[1:] == [
        Unknown(name="sparkle", data={"x": 1}),
        Unknown(name="tool.completed", data={"status": "maybe"}),
    ]
    assert core.hear("t.4", "sparkle", "{") == [Unknown(name="sparkle", data=None)]


def test_fields_that_a_client_does_not_know_are_left_out():
    core = listening()
    core.request()
    new = {"id": "1", "title": "T", "document_id": "d", "snippet": "s", "mood": "good"}
    assert hear(core, STARTED, (2, "citation", new))[1:] == [
        CitationFrame(id="1", title="T", document_id="d", snippet="s")
    ]


@pytest.mark.parametrize("reason", ["stop", "moonlight"])
def test_whatever_the_finish_reason_is_it_is_passed_through(reason: str):
    core = listening()
    core.request()
    hear(core, STARTED, completed(2, reason))
    assert core.ending == Completed(reason)


def test_an_awaiting_that_a_client_does_not_know_is_a_pause():
    core = listening()
    core.request()
    hear(core, STARTED, completed(2, "awaiting_moonlight"))
    assert core.ending == Paused("moonlight")


def test_waits_grow_to_a_bound_and_then_the_stream_is_broken():
    core, waits = listening(tries=4), list[float]()
    for _ in range(4):
        cut(core)
        waits.append(core.wait)
    assert waits == [1.0, 2.0, 3.0, 3.0]
    core.request()
    with pytest.raises(BrokenStream, match=r"broke \(OSError\)"):
        core.lose(OSError())
    assert isinstance(core.ending, Broken)


def test_something_new_or_a_heartbeat_begins_the_count_anew_and_nothing_else_does():
    core = listening(tries=2)
    cut(core, STARTED, token(2, "a"), citation(2, "1"))
    cut(core, citation(2, "1"))
    assert core.wait == 2.0
    core.request()
    core.hear("t.2", "", "")
    core.lose(None)
    assert core.wait == 1.0
    cut(core, citation(2, "1"))
    with pytest.raises(BrokenStream):
        cut(core, citation(2, "1"))


@pytest.mark.parametrize(
    ("refused", "wait"),
    [
        (no(503, "overloaded", 2.0), 3.0),
        (no(429, "rate_limited", 7.0), 8.0),
        (no(502, "unknown"), 1.0),
    ],
)
def test_a_refusal_that_may_pass_is_waited_for(refused: Refused, wait: float):
    core = listening()
    first = core.request()
    assert core.refuse(refused) == ()
    assert core.wait == wait
    assert core.request() == first


@pytest.mark.parametrize(
    "refused",
    [no(429, "quota_exceeded", 3600.0), no(429, "rate_limited"), no(503, "draining", 31.0)]
    + [no(status, "x", 1.0) for status in (400, 401, 403, 404, 409, 413, 422, 500)],
)
def test_a_refusal_that_does_not_pass_soon_is_raised_at_once(refused: Refused):
    core = listening()
    core.request()
    with pytest.raises(Refused) as raised:
        core.refuse(refused)
    assert raised.value is refused
    assert core.ending == Broken(refused)


def test_refusals_end_too():
    core = listening(tries=2)
    for _ in range(2):
        core.request()
        core.refuse(no(503, "overloaded", 1.0))
    core.request()
    with pytest.raises(Refused, match="overloaded"):
        core.refuse(no(503, "overloaded", 1.0))


# What was told and does not stand


@pytest.mark.parametrize("can_attach", [True, False])
def test_after_words_were_taken_back_the_turn_is_told_anew(can_attach: bool):
    core = listening(can_attach=can_attach)
    opening = core.request()
    told = hear(core, STARTED, token(2, "ten"), error(2, "answer_replaced"))
    assert (told[-1], core.account.text, core.ending) == (AnswerReplaced(), "", None)
    assert core.request() == (Sent("GET", EVENTS) if can_attach else opening)
    assert words(hear(core, STARTED, token(3, "No."), completed(4))) == ["No."]
    assert (core.account.text, core.ending) == ("No.", Completed("stop"))


def test_an_answer_that_never_stands_fails_in_the_end():
    core = listening(tries=2)
    for _ in range(2):
        core.request()
        hear(core, STARTED, token(2, "a"), error(2, "answer_replaced"))
    core.request()
    hear(core, STARTED, error(2, "answer_replaced"))
    assert isinstance(core.ending, Failed)


def test_words_that_a_crash_took_from_the_log_are_forgotten():
    core = listening()
    core.request()
    told = hear(core, STARTED, token(2, "a"), token(3, "b"), error(4, "stream_interrupted"))
    assert words(told) == ["a", "b"]
    assert core.ending is None
    assert core.request() == Sent("GET", EVENTS)
    told = hear(core, STARTED, token(2, "a"), error(3, "stream_interrupted"))
    assert (told[0], words(told)) == (AnswerReplaced(), ["a"])
    assert core.account.text == "a"
    assert isinstance(core.ending, Failed)
    assert core.ending.code == "stream_interrupted"


def test_where_only_the_stream_failed_the_turn_is_heard_to_its_end():
    core = listening()
    core.request()
    hear(core, STARTED, token(2, "a"), error(2, "stream_interrupted"))
    core.request()
    told = hear(core, STARTED, token(2, "a"), token(3, "b"), completed(4))
    assert (words(told), core.account.text, core.ending) == (["b"], "ab", Completed("stop"))


def test_an_interrupted_turn_has_failed_where_nobody_answers_any_more():
    core = listening(tries=1)
    core.request()
    hear(core, STARTED, error(2, "stream_interrupted"))
    core.request()
    [told] = core.lose(OSError())
    assert told == core.hear("t.2", "error", json.dumps(error(2, "stream_interrupted")[2]))[-1]
    assert isinstance(core.ending, Failed)


def test_a_turn_that_is_told_otherwise_from_its_beginning_is_told_anew():
    core = listening(can_attach=False)
    cut(core, STARTED, token(2, "ten"), token(3, " pills"))
    core.request()
    told = hear(core, STARTED, token(5, "No."), completed(6))
    assert (told[0], words(told), core.account.text) == (AnswerReplaced(), ["No."], "No.")


# Answers to a pause


def paused() -> Listening:
    core = listening()
    core.request()
    card = {"confirmation_id": "x", "name": "n", "summary": "s", "risk": "send"}
    hear(core, STARTED, (3, "action.confirmation_required", card))
    hear(core, completed(4, "awaiting_confirmation"))
    assert isinstance(core.ending, Paused)
    assert [each.confirmation_id for each in core.ending.confirmations] == ["x"]
    core.go_on(confirm("c", "x", approve=True, feedback=None))
    return core


def test_an_answer_that_was_lost_on_its_way_is_sent_again():
    core = paused()
    first = core.request()
    core.lose(OSError())
    assert core.request() == first
    assert first.path == "/chat/confirm"


def test_an_answer_that_was_taken_although_nobody_heard_is_followed():
    core = paused()
    cut(core)
    core.request()
    core.refuse(no(403, "confirmation_unavailable"))
    assert core.request() == Sent("GET", EVENTS, headers={"last-event-id": "t.4"})
    hear(core, token(6, "Done."), completed(7))
    assert core.ending == Completed("stop")


def test_an_answer_that_was_not_taken_is_refused_and_the_turn_still_waits():
    core = paused()
    cut(core)
    core.request()
    core.refuse(no(403, "confirmation_unavailable"))
    core.request()
    with pytest.raises(Refused, match="confirmation_unavailable"):
        hear(core, completed(4, "awaiting_confirmation"))
    assert isinstance(core.ending, Paused)


def test_answers_that_came_twice_are_followed_though_the_second_is_told_of_a_conflict():
    core = paused()
    cut(core)
    core.request()
    core.refuse(no(409, "already_decided"))
    assert core.request().method == "GET"
    hear(core, token(6, "Done."), completed(7))
    assert core.ending == Completed("stop")


def test_an_answer_that_is_refused_leaves_the_turn_waiting():
    core = paused()
    core.request()
    with pytest.raises(Refused):
        core.refuse(no(403, "confirmation_unavailable"))
    assert isinstance(core.ending, Paused)
    assert len(core.ending.confirmations) == 1


def test_what_was_confirmed_is_not_asked_again_at_the_next_pause():
    core = paused()
    core.request()
    done = {"confirmation_id": "x", "status": "ok", "decision": "approve"}
    hear(core, STARTED, (6, "action.completed", done), completed(7, "awaiting_sign_in"))
    assert core.ending == Paused("sign_in")


def test_a_refusal_reads_the_envelope_and_lives_without_one():
    body = {
        "error": {"code": "overloaded", "message": "Busy.", "retryable": True, "request_id": "r"}
    }
    told = refusal(503, {"retry-after": "2"}, json.dumps(body).encode())
    assert (told.code, told.retryable, told.retry_after, told.request_id) == (
        "overloaded",
        True,
        2.0,
        "r",
    )
    for odd in (b"<html>", b"[]", b'{"error": 1}', b"\xff"):
        told = refusal(502, {"retry-after": "soon"}, odd)
        assert (told.status, told.code, told.retryable, told.retry_after) == (
            502,
            "unknown",
            False,
            None,
        )
