"""Tools run for whom they may, once, and how they ended is told without anybody's secrets."""

import asyncio
import logging
from dataclasses import replace
from typing import Any

import pytest
from pydantic import JsonValue

from tests.nodes.tools.acting import (
    CNF,
    WHO,
    Book,
    Desk,
    Signed,
    action,
    answer,
    approved,
    call,
    executor,
    heard,
    tool,
)
from turnwire.events import ActionCompleted, ToolCompleted, ToolStarted
from turnwire.nodes.tools.executor import Executor
from turnwire.nodes.tools.tool import Call, Outcome, Proposal, ToolFailed

pytestmark = pytest.mark.anyio
CANARY = "CANARY-7f3a"


async def read(runs: Executor, proposed: Call, locale: str = "en") -> tuple[Outcome, list[Any]]:
    return await heard(lambda: runs.read(proposed, principal=WHO, locale=locale))


async def test_a_read_runs_at_once_and_says_its_pair():
    desk = Desk({"plan": "Plus"})
    outcome, said = await read(executor(tool(desk)), call(reason="a bill"))
    assert (outcome.status, outcome.result) == ("ok", {"plan": "Plus"})
    assert said == [
        ToolStarted(tool_call_id="call_1", name="ask_adviser", arguments={"reason": "a bill"}),
        ToolCompleted(
            tool_call_id="call_1",
            name="ask_adviser",
            status="ok",
            duration_ms=outcome.duration_ms,
            result={"plan": "Plus"},
        ),
    ]


@pytest.mark.parametrize(
    ("proposed", "code"),
    [
        (call("no_such_tool", reason="x"), "unknown_tool"),
        (call(), "invalid_arguments"),
        (call(reason=7), "invalid_arguments"),
        (call(reason="x", token="mine"), "invalid_arguments"),
        (call(reason="x" * 20_000), "invalid_arguments"),
        (call(reason="x", times=float("nan")), "invalid_arguments"),
    ],
)
async def test_what_may_not_be_called_is_refused_with_its_pair_before_anything_runs(
    proposed: Call, code: str
):
    desk = Desk("never")
    outcome, said = await read(executor(tool(desk)), proposed)
    assert (outcome.status, outcome.code, outcome.duration_ms) == ("error", code, 0)
    assert [type(each) for each in said] == [ToolStarted, ToolCompleted]
    assert (said[1].status, said[1].code, said[1].duration_ms) == ("error", code, 0)
    assert desk.calls == []


async def test_what_is_wrong_with_arguments_is_told_without_their_values():
    wrong: dict[str, JsonValue] = {"reason": [CANARY], "times": CANARY, CANARY: 1}
    bad = Call(tool_call_id="call_1", name="ask_adviser", arguments=wrong)
    outcome, said = await read(executor(tool(Desk("never"))), bad)
    assert outcome.error is not None
    assert 'arguments.times: has to pass type: "integer"' in outcome.error
    assert "arguments: has members that are not allowed" in outcome.error
    assert CANARY not in outcome.error
    assert CANARY not in said[1].model_dump_json()


async def test_an_action_is_never_run_as_a_read():
    desk = Desk("done")
    outcome, _ = await read(executor(action(desk)), call(reason="x"))
    assert (outcome.code, desk.calls) == ("needs_confirmation", [])


@pytest.mark.parametrize(
    ("signed", "code"),
    [
        (Signed(token=None), "sign_in_required"),
        (Signed(expires_ms=1), "sign_in_required"),
        (Signed(scopes=frozenset({"other"})), "not_allowed"),
    ],
)
async def test_a_read_without_a_good_credential_fails_closed(signed: Signed, code: str):
    desk = Desk("secret")
    needs = tool(desk, needs_sign_in=True, scopes=frozenset({"member.read"}))
    outcome, said = await read(executor(needs, signed=signed), call(reason="x"))
    assert (outcome.code, said[1].code, desk.calls) == (code, code, [])


async def test_a_store_of_credentials_that_fails_signs_nobody_in():
    class Broken:
        async def credential(self, principal: str, /) -> None:
            raise RuntimeError(CANARY)

        async def refused(self, principal: str, token: str, /) -> None:
            raise AssertionError("nobody was signed in")

    desk = Desk("secret")
    runs = Executor(executor(tool(desk, needs_sign_in=True)).tools, credentials=Broken())
    outcome, _ = await read(runs, call(reason="x"))
    assert (outcome.code, desk.calls) == ("sign_in_required", [])


async def test_the_token_reaches_the_tool_and_nothing_else():
    desk = Desk({"plan": "Plus"})
    outcome, said = await read(executor(tool(desk, needs_sign_in=True)), call(reason="x"))
    [(_, caller)] = desk.calls
    assert caller.token == "CANARY-token"
    assert "CANARY" not in f"{outcome}{said}{caller}"


_REFUSED = ToolFailed("Your sign-in has ended.", code="sign_in_required")


async def test_a_token_that_the_upstream_refuses_is_dropped():
    signed = Signed()
    runs = executor(tool(Desk(_REFUSED), needs_sign_in=True), signed=signed)
    outcome, _ = await read(runs, call(reason="x"))
    assert outcome.code == "sign_in_required"
    assert signed.token is None


async def test_a_failure_that_is_none_of_the_tokens_drops_no_token():
    signed = Signed()
    runs = executor(
        tool(Desk(ToolFailed("Busy."), TimeoutError()), needs_sign_in=True), signed=signed
    )
    for _ in range(2):
        await read(runs, call(reason="x"))
    assert signed.token == "CANARY-token"


async def test_a_refused_token_that_cannot_be_dropped_changes_nothing_of_what_is_told(
    caplog: pytest.LogCaptureFixture,
):
    class Stuck(Signed):
        async def refused(self, principal: str, token: str, /) -> None:
            raise RuntimeError(token)

    outcome, said = await read(
        executor(tool(Desk(_REFUSED), needs_sign_in=True), signed=Stuck()), call(reason="x")
    )
    assert (outcome.code, said[-1].error) == ("sign_in_required", "Your sign-in has ended.")
    assert "RuntimeError" in caplog.text
    assert "CANARY" not in caplog.text


async def test_an_approved_action_whose_token_is_refused_is_not_done_and_the_token_dropped():
    signed, book, desk = Signed(), Book(), Desk(_REFUSED)
    runs = executor(action(desk, needs_sign_in=True, idempotent=True), book=book, signed=signed)
    outcome, _ = await approved(runs, book, call(reason="x"))
    assert (outcome.code, len(desk.calls), signed.token) == ("sign_in_required", 1, None)
    assert book.noted == [(CNF, "tool_failed", "sign_in_required", None)]


async def test_a_tool_that_needs_no_sign_in_gets_no_token():
    desk = Desk("x")
    await read(executor(tool(desk)), call(reason="x"))
    assert desk.calls[0][1].token is None


@pytest.mark.parametrize(
    ("answers", "code", "error"),
    [
        (ToolFailed("The line is busy.", code="busy"), "busy", "The line is busy."),
        (RuntimeError(CANARY), "tool_failed", "This did not work."),
        (5.0, "timeout", "This took too long."),
        (object(), "bad_result", "The answer could not be read."),
    ],
)
async def test_a_tool_that_fails_is_an_outcome_in_words_that_a_member_may_read(
    answers: object, code: str, error: str, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.WARNING, "turnwire.tools"):
        outcome, said = await read(executor(tool(Desk(answers), timeout=0.05)), call(reason="x"))
    assert (outcome.code, outcome.error) == (code, error)
    assert (said[1].status, said[1].error) == ("error", error)
    told = [vars(each) for each in caplog.records]
    assert len(told) == (0 if code == "busy" else 1)
    assert all(each["error_id"].startswith("err_") and each["code"] == code for each in told)
    assert CANARY not in f"{told} {caplog.text}".replace(repr(RuntimeError(CANARY)), "")


async def test_texts_are_in_the_members_language():
    outcome, _ = await read(executor(tool(Desk(RuntimeError()))), call(reason="x"), "es-MX")
    assert outcome.error == "Esto no ha funcionado."


async def test_previews_are_redacted_and_what_runs_is_not():
    desk = Desk({"phone": "+1 202-555-0143"})
    outcome, said = await read(executor(tool(desk)), call(reason="call +1 202-555-0143"))
    assert desk.calls[0][0] == {"reason": "call +1 202-555-0143"}
    assert outcome.result == {"phone": "+1 202-555-0143"}
    assert "202-555" not in f"{said}"


async def test_a_huge_result_is_bounded():
    outcome, said = await read(executor(tool(Desk(["word"] * 100_000))), call(reason="x"))
    assert isinstance(outcome.result, dict)
    assert outcome.result["truncated"] is True
    assert len(str(outcome.result)) < 20_000
    assert len(said[1].model_dump_json()) < 20_000


async def test_a_proposal_says_what_would_run_without_running_it():
    desk = Desk("done")
    proposal = executor(action(desk, expires_in=90.0)).propose(
        call(reason="my number is +1 202-555-0143"), principal=WHO, locale="es"
    )
    assert isinstance(proposal, Proposal)
    assert proposal.summary.startswith("Pedir un asesor: my number is [")
    assert proposal.arguments_preview != proposal.call.arguments
    assert (proposal.risk, proposal.expires_in, desk.calls) == ("send", 90.0, [])
    assert len(proposal.arguments_hash) == 64


def test_the_hash_is_of_the_tool_and_its_arguments_whatever_their_order():
    runs = executor(action(Desk("x")), action(Desk("x"), name="other"))

    def hashed(*names: str, **arguments: JsonValue) -> str:
        proposal = runs.propose(call(*names, **arguments), principal=WHO, locale="en")
        assert isinstance(proposal, Proposal)
        return proposal.arguments_hash

    assert hashed(reason="a", times=1) == hashed(times=1, reason="a")
    others = {hashed(reason="a"), hashed(reason="b"), hashed("other", reason="a")}
    assert len(others) == 3


@pytest.mark.parametrize(
    ("proposed", "code"),
    [
        (call(reason=1), "invalid_arguments"),
        (call("unknown", reason="x"), "unknown_tool"),
        (call("get_plan", reason="x"), "needs_no_confirmation"),
    ],
)
async def test_what_can_not_be_proposed_is_refused_with_its_pair(proposed: Call, code: str):
    runs = executor(action(Desk("x")), tool(Desk("x"), name="get_plan"))

    async def propose() -> Proposal | Outcome:
        return runs.propose(proposed, principal=WHO, locale="en")

    outcome, said = await heard(propose)
    assert isinstance(outcome, Outcome)
    assert outcome.code == code
    assert [type(each) for each in said] == [ToolStarted, ToolCompleted]


async def test_an_approved_action_runs_once_and_says_its_pair_and_then_its_end():
    desk, book = Desk({"callback_id": "cb_7"}), Book()
    runs = executor(action(desk, needs_sign_in=True), book=book)
    outcome, said = await approved(runs, book, call(reason="a bill"))
    assert (outcome.status, outcome.result) == ("ok", {"callback_id": "cb_7"})
    assert [type(each) for each in said] == [ToolStarted, ToolCompleted, ActionCompleted]
    assert said[2] == ActionCompleted(confirmation_id=CNF, decision="approve", status="ok")
    [(arguments, caller)] = desk.calls
    assert arguments == {"reason": "a bill"}
    assert (caller.idempotency_key, caller.token) == (CNF, "CANARY-token")
    assert book.noted == [(CNF, "ok", None, "cb_7")]


@pytest.mark.parametrize("receipt", ["Ada Lovelace, 1 High Street", {"a": 1}, None, "x" * 500])
async def test_a_receipt_that_is_no_identifier_is_not_kept(receipt: JsonValue):
    book = Book()
    await approved(
        executor(action(Desk({"callback_id": receipt})), book=book), book, call(reason="x")
    )
    assert book.noted == [(CNF, "ok", None, None)]


@pytest.mark.parametrize(
    "said_by_member",
    [
        answer("reject", "Not today"),
        answer("approve?"),
        answer("APPROVE"),
        {"decision": "approve"},
        {"decision": "approve", "confirmation_id": 7},
        {"decision": True, "confirmation_id": CNF},
        "approve",
        ["approve"],
        None,
    ],
)
async def test_whatever_is_no_clear_approval_is_a_rejection(said_by_member: JsonValue):
    desk, book = Desk("done"), Book()
    runs = executor(action(desk), book=book)
    proposal = runs.propose(call(reason="x"), principal=WHO, locale="en")
    assert isinstance(proposal, Proposal)
    book.approve(proposal)
    outcome, said = await heard(
        lambda: runs.decided(proposal, said_by_member, principal=WHO, locale="en")
    )
    assert (outcome.code, desk.calls) == ("rejected", [])
    assert [(type(each), each.status) for each in said] == [(ActionCompleted, "rejected")]  # type: ignore[attr-defined]
    assert book.granted


async def test_what_nobody_answered_in_time_is_not_done_and_no_rejection():
    desk, book = Desk("done"), Book()
    runs = executor(action(desk), book=book)
    proposal = runs.propose(call(reason="x"), principal=WHO, locale="en")
    assert isinstance(proposal, Proposal)
    book.approve(proposal)
    late: JsonValue = {"decision": "expired", "confirmation_id": CNF}
    outcome, said = await heard(lambda: runs.decided(proposal, late, principal=WHO, locale="en"))
    assert (outcome.status, outcome.code, desk.calls) == ("error", "expired", [])
    told = "The time to confirm this has passed, and it was not done."
    assert said == [
        ActionCompleted(confirmation_id=CNF, decision="reject", status="error", error=told)
    ]
    assert book.granted


async def test_what_a_member_says_to_a_rejection_reaches_the_model():
    runs = executor(action(Desk("done")))
    proposal = runs.propose(call(reason="x"), principal=WHO, locale="en")
    assert isinstance(proposal, Proposal)
    outcome = await runs.decided(
        proposal, answer("reject", "Not today"), principal=WHO, locale="en"
    )
    assert outcome.result == {"feedback": "Not today"}


async def test_without_its_grant_nothing_runs():
    desk, book = Desk("done"), Book()
    runs = executor(action(desk), book=book)
    proposal = runs.propose(call(reason="x"), principal=WHO, locale="en")
    assert isinstance(proposal, Proposal)
    book.approve(proposal)
    foreign = replace(proposal, call=call(reason="another"))
    forged = runs.propose(call(reason="another"), principal=WHO, locale="en")
    assert isinstance(forged, Proposal)
    for who, asked in ((WHO, foreign), (WHO, forged), ("member:2", proposal)):
        outcome, said = await heard(
            lambda who=who, asked=asked: runs.decided(
                asked, answer("approve"), principal=who, locale="en"
            )
        )
        assert outcome.code == "confirmation_unavailable"
        assert [(type(each), each.status) for each in said] == [(ActionCompleted, "error")]  # type: ignore[attr-defined]
    assert desk.calls == []
    outcomes = await asyncio.gather(
        *(runs.decided(proposal, answer("approve"), principal=WHO, locale="en") for _ in range(20))
    )
    assert sorted(each.status for each in outcomes) == ["error"] * 19 + ["ok"]
    assert len(desk.calls) == 1


async def test_a_store_that_fails_grants_nothing():
    class Down(Book):
        async def take_grant(self, *_: object, **__: object) -> bool:
            raise RuntimeError(CANARY)

    desk, book = Desk("done"), Down()
    outcome, _ = await approved(executor(action(desk), book=book), book, call(reason="x"))
    assert (outcome.code, desk.calls) == ("confirmation_unavailable", [])


async def test_an_action_goes_on_and_is_noted_although_the_run_is_cancelled():
    desk, book = Desk(0.1), Book()
    runs = executor(action(desk), book=book)
    proposal = runs.propose(call(reason="x"), principal=WHO, locale="en")
    assert isinstance(proposal, Proposal)
    book.approve(proposal)
    run = asyncio.get_running_loop().create_task(
        runs.decided(proposal, answer("approve"), principal=WHO, locale="en")
    )
    await desk.called.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    async with asyncio.timeout(5):
        await book.wrote.wait()
    assert book.noted == [(CNF, "ok", None, None)]


@pytest.mark.parametrize(
    "fails", [5.0, RuntimeError(CANARY), ToolFailed("No answer.", happened=None)]
)
async def test_of_an_action_without_an_answer_it_is_said_that_nobody_knows(fails: object):
    desk, book = Desk(fails), Book()
    outcome, said = await approved(
        executor(action(desk, timeout=0.05), book=book), book, call(reason="x")
    )
    assert outcome.code == "outcome_unknown"
    assert outcome.error is not None
    assert outcome.error.startswith("We could not find out whether this was done.")
    assert said[2].error == outcome.error  # type: ignore[attr-defined]
    assert len(desk.calls) == 1
    assert book.noted == [(CNF, "unknown", "outcome_unknown", None)]


async def test_an_idempotent_upstream_is_asked_once_more_under_the_same_key():
    desk, book = Desk(ToolFailed("No answer.", happened=None), {"callback_id": "cb_1"}), Book()
    runs = executor(action(desk, idempotent=True), book=book)
    outcome, _ = await approved(runs, book, call(reason="x"))
    assert outcome.status == "ok"
    assert [caller.idempotency_key for _, caller in desk.calls] == [CNF, CNF]
    assert book.noted == [(CNF, "ok", None, "cb_1")]


async def test_an_idempotent_upstream_that_stays_silent_is_asked_twice_at_most():
    desk, book = Desk(ToolFailed("No answer.", happened=None)), Book()
    runs = executor(action(desk, idempotent=True), book=book)
    outcome, _ = await approved(runs, book, call(reason="x"))
    assert (outcome.code, len(desk.calls)) == ("outcome_unknown", 2)


async def test_what_did_not_happen_for_sure_is_not_tried_again():
    desk, book = Desk(ToolFailed("The line is busy.", code="busy")), Book()
    runs = executor(action(desk, idempotent=True), book=book)
    outcome, said = await approved(runs, book, call(reason="x"))
    assert (outcome.code, outcome.error, len(desk.calls)) == ("busy", "The line is busy.", 1)
    assert said[2].error == "The line is busy."  # type: ignore[attr-defined]
    assert book.noted == [(CNF, "tool_failed", "busy", None)]


async def test_an_approved_action_of_who_has_signed_out_is_not_done():
    desk, book = Desk("done"), Book()
    runs = executor(action(desk, needs_sign_in=True), book=book, signed=Signed(token=None))
    outcome, said = await approved(runs, book, call(reason="x"))
    assert (outcome.code, desk.calls) == ("sign_in_required", [])
    assert [type(each) for each in said] == [ToolStarted, ToolCompleted, ActionCompleted]
    assert book.noted == [(CNF, "tool_failed", "sign_in_required", None)]


async def test_an_action_that_was_done_counts_although_its_answer_can_not_be_read():
    desk, book = Desk(object()), Book()
    outcome, _ = await approved(executor(action(desk), book=book), book, call(reason="x"))
    assert (outcome.status, outcome.result) == ("ok", None)
