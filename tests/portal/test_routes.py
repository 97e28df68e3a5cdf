"""What the portal answers to a service and to a member."""

from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.portal.conftest import ANA, DANIEL, GRACE, Calls, Clock
from turnwire.portal.bodies import MAX_BODY
from turnwire.portal.records import seed

NEW_HOME = {"line1": "1 New Street", "city": "Easterby", "postcode": "EA1 1AA", "country": "UK"}
SignIn = Callable[[str], httpx.Client]


def code(answer: httpx.Response) -> tuple[int, str]:
    error = answer.json()["error"]
    assert error["message"]
    return answer.status_code, error["code"]


def test_a_service_learns_whether_a_number_is_known_and_gets_a_token_for_it(
    service: httpx.Client,
):
    for mobile, known in ((ANA, True), ("+447700900999", False)):
        answer = service.post("/service/members", json={"mobile": mobile})
        assert (answer.status_code, answer.json()) == (200, {"known": known})
    answer = service.post("/service/tokens", json={"mobile": ANA}).json()
    assert answer["scopes"] == ["member.read", "member.write"]
    assert answer["expires_in"] == 3600
    assert len(answer["token"]) >= 40
    nobody = service.post("/service/tokens", json={"mobile": "+447700900999"})
    assert code(nobody) == (404, "not_found")


@pytest.mark.parametrize("key", [None, "wrong", "demo-service-key2", "clé"])
def test_without_the_service_key_nothing_is_told(calls: Calls, key: str | None):
    caller = calls()
    headers = {} if key is None else {b"Authorization": f"Bearer {key}".encode()}
    for path in ("/service/members", "/service/tokens"):
        answer = caller.post(path, json={"mobile": ANA}, headers=headers)
        assert code(answer) == (401, "unauthorized")


def test_a_members_token_is_no_service_key_and_a_service_key_no_token(
    ana: httpx.Client, service: httpx.Client
):
    assert code(ana.post("/service/members", json={"mobile": ANA})) == (401, "unauthorized")
    assert code(service.get("/me")) == (401, "unauthorized")


def test_a_token_that_is_missing_unknown_or_expired_opens_nothing(
    calls: Calls, ana: httpx.Client, clock: Clock
):
    paths = ["/me", "/me/plan", "/me/benefits", "/me/claims", "/me/claims/X", "/me/documents"]
    for caller in (calls(), calls("nonsense")):
        assert {code(caller.get(path)) for path in paths} == {(401, "unauthorized")}
    clock.ms += 3_599_000
    assert ana.get("/me").status_code == 200
    clock.ms += 1_000
    for path in paths:
        assert code(ana.get(path)) == (401, "unauthorized")
    late = ana.post("/me/callbacks", json={"reason": "x"})
    assert code(late) == (401, "unauthorized")
    assert late.headers["WWW-Authenticate"] == "Bearer"
    assert calls().get("/demo/actions").json() == []


def test_a_member_reads_their_own_plan_benefits_claims_and_documents(sign_in: SignIn):
    daniel = sign_in(DANIEL)
    me = daniel.get("/me").json()
    assert (me["name"], me["member_number"], me["mobile"]) == ("Daniel Reyes", "M-100102", DANIEL)
    assert me["address"]["postcode"] == "EA7 2LM"
    plan = daniel.get("/me/plan").json()
    assert (plan["plan_id"], plan["annual_limit"], plan["excess"]) == ("family", 150_000, 150)
    dental = next(
        each for each in daniel.get("/me/benefits").json() if each["benefit_id"] == "dental"
    )
    assert dental == {
        "benefit_id": "dental",
        "name": "Dental treatment",
        "covered": True,
        "limit": 600,
        "unit": "GBP",
        "per": "year",
        "used": 180,
        "remaining": 420,
        "copay_percent": 20,
        "waiting_months": 6,
    }
    claims = {each["reference"]: each["status"] for each in daniel.get("/me/claims").json()}
    assert claims == {"CLM-2026-1090": "partly_paid", "CLM-2026-1203": "needs_information"}
    claim = daniel.get("/me/claims/clm-2026-1203").json()
    assert (claim["submitted_on"], claim["updated_on"]) == ("2026-11-16", "2026-11-19")
    assert [each["status"] for each in claim["history"]] == ["submitted", "needs_information"]
    assert "tooth" in claim["note"]
    assert "Family policy wording" in {each["title"] for each in daniel.get("/me/documents").json()}


def test_no_answer_has_an_address_of_a_document(sign_in: SignIn):
    for mobile in (each.mobile for each in seed().members):
        assert "http" not in sign_in(mobile).get("/me/documents").text


def test_somebody_elses_claim_is_answered_as_one_that_never_was(ana: httpx.Client):
    theirs, nobodys = ana.get("/me/claims/CLM-2026-1090"), ana.get("/me/claims/CLM-0")
    assert (theirs.status_code, theirs.content) == (404, nobodys.content)


def test_a_new_member_has_no_claims_and_has_used_nothing(sign_in: SignIn):
    grace = sign_in(GRACE)
    assert grace.get("/me/claims").json() == []
    assert {each["used"] for each in grace.get("/me/benefits").json()} == {0}


def test_the_members_that_ship_are_on_every_plan_and_nobodys_real_number():
    plans, members = seed().plans, seed().members
    assert {each.plan_id for each in plans} == {"essential", "family", "plus", "senior"}
    assert {each.plan_id for each in members} == {each.plan_id for each in plans}
    assert all(each.mobile.startswith("+447700900") for each in members)
    assert all(each.email.endswith("@example.org") for each in members)
    by_plan = {plan.plan_id: {each.benefit_id for each in plan.benefits} for plan in plans}
    for member in members:
        assert set(member.used) <= by_plan[member.plan_id]
        assert {each.benefit_id for each in member.claims} <= by_plan[member.plan_id]


def test_a_call_back_is_made_and_kept_in_the_ledger(ana: httpx.Client, calls: Calls):
    answer = ana.post(
        "/me/callbacks", json={"reason": " my claim\nis stuck ", "preferred_time": "after 5"}
    )
    made = answer.json()
    assert answer.status_code == 201
    assert made["reason"] == "my claim\nis stuck"
    assert made["callback_id"].startswith("CB-")
    assert made["created_at"] == "2027-01-15T08:00:00.000+00:00"
    assert calls().get("/demo/actions").json() == [
        {
            "kind": "callback",
            "member_number": "M-100101",
            "idempotency_key": None,
            "body": {"reason": "my claim\nis stuck", "preferred_time": "after 5"},
            "answer": made,
            "created_at": made["created_at"],
        }
    ]


def test_a_changed_address_is_the_members_from_then_on_and_only_theirs(
    ana: httpx.Client, sign_in: SignIn
):
    answer = ana.put("/me/address", json=NEW_HOME)
    assert answer.status_code == 200
    assert answer.json()["change_id"].startswith("AC-")
    assert ana.get("/me").json()["address"] == {**NEW_HOME, "line2": None}
    assert sign_in(DANIEL).get("/me").json()["address"]["city"] == "Easterby"
    assert sign_in(DANIEL).get("/me").json()["address"]["line1"] == "3 Millpond Court"


def test_the_same_key_and_body_get_the_first_answer_again_and_nothing_is_done_twice(
    ana: httpx.Client, calls: Calls
):
    key = {"Idempotency-Key": "cnf_1"}
    first = ana.post("/me/callbacks", json={"reason": "x"}, headers=key)
    again = ana.post("/me/callbacks", json={"reason": "x"}, headers=key)
    assert "Idempotent-Replay" not in first.headers
    assert again.headers["Idempotent-Replay"] == "true"
    assert (again.status_code, again.content) == (201, first.content)
    assert len(calls().get("/demo/actions").json()) == 1


def test_a_key_with_another_body_is_refused_and_one_of_another_member_or_route_is_another(
    ana: httpx.Client, sign_in: SignIn, calls: Calls
):
    key = {"Idempotency-Key": "cnf_1"}
    ana.post("/me/callbacks", json={"reason": "x"}, headers=key)
    other = ana.post("/me/callbacks", json={"reason": "y"}, headers=key)
    assert code(other) == (422, "idempotency_key_reused")
    assert ana.put("/me/address", json=NEW_HOME, headers=key).status_code == 200
    assert sign_in(DANIEL).post("/me/callbacks", json={"reason": "y"}, headers=key).is_success
    done = [(each["kind"], each["member_number"]) for each in calls().get("/demo/actions").json()]
    assert done == [
        ("callback", "M-100101"),
        ("address_change", "M-100101"),
        ("callback", "M-100102"),
    ]


def test_an_emptied_ledger_forgets_its_keys(ana: httpx.Client, calls: Calls):
    key = {"Idempotency-Key": "cnf_1"}
    ana.post("/me/callbacks", json={"reason": "x"}, headers=key)
    assert calls().delete("/demo/actions").status_code == 204
    assert calls().get("/demo/actions").json() == []
    assert (
        "Idempotent-Replay"
        not in ana.post("/me/callbacks", json={"reason": "x"}, headers=key).headers
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", (400, "invalid_request")),
        (b"{", (400, "invalid_request")),
        (b"\xff", (400, "invalid_request")),
        (b'{"reason": "\\ud800"}', (400, "invalid_request")),
        (b"[" * 9000, (400, "invalid_request")),
        (b"[]", (422, "validation_error")),
        (b"{}", (422, "validation_error")),
        (b'{"reason": ""}', (422, "validation_error")),
        (b'{"reason": "  "}', (422, "validation_error")),
        (b'{"reason": 7}', (422, "validation_error")),
        (b'{"reason": "a\\u0000b"}', (422, "validation_error")),
        (b'{"reason": "x", "member_number": "M-100102"}', (422, "validation_error")),
        (b'{"reason": "' + b"x" * 501 + b'"}', (422, "validation_error")),
        (b'{"reason": "' + b"x" * MAX_BODY + b'"}', (413, "request_too_large")),
    ],
)
def test_a_bad_body_is_told_and_nothing_is_done(
    ana: httpx.Client, calls: Calls, body: bytes, expected: tuple[int, str]
):
    assert code(ana.post("/me/callbacks", content=body)) == expected
    assert calls().get("/demo/actions").json() == []


def test_a_body_that_does_not_say_its_length_is_bounded_too(ana: httpx.Client):
    def endless() -> Iterator[bytes]:
        for _ in range(MAX_BODY):
            yield b"  "

    assert code(ana.post("/me/callbacks", content=endless())) == (413, "request_too_large")


@pytest.mark.parametrize("key", ["", "a b", "x" * 256])
def test_a_bad_idempotency_key_is_told(ana: httpx.Client, key: str):
    answer = ana.post("/me/callbacks", json={"reason": "x"}, headers={"Idempotency-Key": key})
    assert code(answer) == (422, "validation_error")


@pytest.mark.parametrize("mobile", ["07700 900101", "+44 7700 900101", "447700900101", "+0", ""])
def test_a_number_that_is_not_e164_is_told_without_being_repeated(
    service: httpx.Client, mobile: str
):
    answer = service.post("/service/members", json={"mobile": mobile})
    assert code(answer) == (422, "validation_error")
    assert not mobile or mobile not in answer.text


def test_what_is_not_there_is_told_as_everything_else(ana: httpx.Client):
    assert code(ana.get("/me/nothing")) == (404, "not_found")
    assert code(ana.delete("/me/plan")) == (405, "method_not_allowed")
    assert ana.get("/healthz").json() == {"status": "ok"}
