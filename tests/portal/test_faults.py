"""The switches that make the portal fail, and what it has done meanwhile."""

import time

import httpx
import pytest

from tests.portal.conftest import ANA, Calls
from turnwire.portal.address import PortalAddress

CALLBACKS = "POST /me/callbacks"
OFF: dict[str, object] = {"delay_ms": 0, "fail": {}, "idempotency": True, "answer": "once"}


def ask(member: httpx.Client, key: str | None = None, **more: float) -> httpx.Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    return member.post("/me/callbacks", json={"reason": "x"}, headers=headers, **more)  # pyright: ignore[reportArgumentType]


class Desk:
    """Turns the switches and reads the ledger."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def turn(self, **switches: object) -> None:
        self.client.put("/demo/switches", json=switches).raise_for_status()

    @property
    def done(self) -> int:
        return len(self.client.get("/demo/actions").json())


@pytest.fixture
def desk(calls: Calls) -> Desk:
    return Desk(calls())


def test_a_failure_before_the_effect_comes_as_often_as_said_and_does_nothing(
    ana: httpx.Client, desk: Desk
):
    desk.turn(fail={CALLBACKS: {"status": 503, "times": 2}})
    failed = ask(ana)
    assert failed.json()["error"]["code"] == "demo_failure"
    assert [failed.status_code, ask(ana).status_code, desk.done] == [503, 503, 0]
    assert desk.client.get("/demo/switches").json() == OFF
    assert [ask(ana).status_code, desk.done] == [201, 1]


def test_a_failure_after_the_effect_has_done_it_and_the_key_finds_it(ana: httpx.Client, desk: Desk):
    desk.turn(fail={CALLBACKS: {"after_effect": True}})
    assert [ask(ana, "cnf_1").status_code, desk.done] == [500, 1]
    again = ask(ana, "cnf_1")
    assert (again.status_code, again.headers["Idempotent-Replay"]) == (201, "true")
    assert desk.done == 1


def test_a_failure_without_an_end_stays_until_it_is_switched_off_and_others_are_well(
    ana: httpx.Client, desk: Desk
):
    desk.turn(fail={CALLBACKS: {"status": 429, "times": None}})
    assert {ask(ana).status_code for _ in range(5)} == {429}
    assert ana.get("/me").status_code == 200
    desk.turn()
    assert ask(ana).status_code == 201


def test_a_route_with_a_parameter_fails_by_its_template(ana: httpx.Client, desk: Desk):
    desk.turn(fail={"GET /me/claims/{reference}": {}})
    assert ana.get("/me/claims/CLM-2026-1041").status_code == 500
    assert ana.get("/me/claims/CLM-2026-1041").status_code == 200


def test_without_idempotency_the_same_key_acts_again(ana: httpx.Client, desk: Desk):
    desk.turn(idempotency=False)
    assert [ask(ana, "cnf_1").status_code, ask(ana, "cnf_1").status_code] == [201, 201]
    assert desk.done == 2


@pytest.mark.parametrize(("idempotency", "done"), [(True, 1), (False, 2)])
def test_what_is_done_twice_happens_once_where_the_key_counts(
    ana: httpx.Client, desk: Desk, idempotency: bool, done: int
):
    desk.turn(answer="twice", idempotency=idempotency)
    answer = ask(ana, "cnf_1")
    assert answer.status_code == 201
    assert answer.headers.get("Idempotent-Replay") == ("true" if idempotency else None)
    assert desk.done == done


def test_a_slow_call_is_done_although_its_caller_has_left(ana: httpx.Client, desk: Desk):
    desk.turn(delay_ms=400)
    with pytest.raises(httpx.ReadTimeout):
        ask(ana, timeout=0.1)
    assert desk.done == 0
    deadline = time.monotonic() + 5
    while desk.done == 0 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert desk.done == 1


def test_a_refusal_is_not_said_either_where_nothing_is_answered(calls: Calls, desk: Desk):
    desk.turn(answer="never")
    with pytest.raises(httpx.ReadTimeout):
        ask(calls("nonsense"), timeout=0.3)
    assert desk.done == 0


def test_a_call_that_is_never_answered_is_done(ana: httpx.Client, desk: Desk):
    desk.turn(answer="never")
    with pytest.raises(httpx.ReadTimeout):
        ask(ana, timeout=0.3)
    assert desk.done == 1


def test_switches_reach_the_service_calls_and_never_themselves(service: httpx.Client, desk: Desk):
    desk.turn(fail={"POST /service/tokens": {"times": None}}, delay_ms=300)
    began = time.monotonic()
    assert service.post("/service/tokens", json={"mobile": ANA}).status_code == 500
    assert time.monotonic() - began >= 0.3
    began = time.monotonic()
    desk.turn()
    assert time.monotonic() - began < 0.3


@pytest.mark.parametrize(
    "switches",
    [
        {"fail": {"POST /me/callback": {}}},
        {"fail": {"GET /demo/actions": {}}},
        {"fail": {CALLBACKS: {"status": 200}}},
        {"fail": {CALLBACKS: {"times": 0}}},
        {"delay_ms": -1},
        {"answer": "thrice"},
        {"speed": 1},
    ],
)
def test_a_switch_that_is_none_is_told_and_nothing_is_turned(
    desk: Desk, switches: dict[str, object]
):
    desk.turn(delay_ms=1)
    answer = desk.client.put("/demo/switches", json=switches)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "validation_error")
    assert desk.client.get("/demo/switches").json() == {**OFF, "delay_ms": 1}


def test_the_key_is_not_in_what_an_address_says_of_itself(portal: PortalAddress):
    assert portal.service_key not in repr(portal)
