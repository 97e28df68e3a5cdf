"""What the page shows of a member's turns: signing in, confirming, and on whose behalf it asks."""

import json

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.fake_server import ATTACK, CODE, FakeServer
from tests.web.test_page import ask, posted

OUTBOX = "/data/outbox"


@pytest.fixture
def opened(page: Page, server: FakeServer) -> Page:
    server.facts = json.dumps({"header": "X-Turnwire-Session", "signIn": {"outbox": OUTBOX}})
    page.goto(server.url)
    return page


def sign_in(page: Page) -> None:
    page.get_by_label("Your mobile number, with its country code").fill("+44 7700 900101")
    page.keyboard.press("Enter")
    expect(page.get_by_label("The code", exact=True)).to_be_focused()
    page.keyboard.type(CODE)
    page.keyboard.press("Enter")


def card(page: Page, summary: str) -> Locator:
    return page.get_by_role("region", name=summary)


def answered(page: Page) -> None:
    expect(page.locator("[data-phase=completed]")).to_be_visible()


def test_a_turn_that_waits_for_a_sign_in_goes_on_after_it(opened: Page, server: FakeServer):
    ask(opened, "What is left of my allowance?")
    sign_in(opened)
    answered(opened)
    expect(opened.locator(".answer")).to_have_text("You have 5 left.")
    expect(opened.locator(".ask-card")).to_have_count(0)
    assert posted(server, "/auth/login") == [{"mobile": "+44 7700 900101"}]
    assert posted(server, "/chat/resume?tokens=true") == [{"conversation_id": "conv_1"}]
    assert len(posted(server, "/chat?tokens=true")) == 1


def test_the_card_says_in_which_folder_the_code_lies_and_never_the_code(opened: Page):
    ask(opened, "What is left of my allowance?")
    expect(opened.locator(".ask-card")).not_to_contain_text(OUTBOX)
    opened.get_by_label("Your mobile number, with its country code").fill("+44 7700 900101")
    opened.get_by_role("button", name="Send code").click()
    expect(opened.locator(".ask-card")).to_contain_text(OUTBOX)
    expect(opened.locator(".ask-card")).not_to_contain_text(CODE)


def test_a_wrong_code_is_told_and_can_be_typed_again(opened: Page):
    ask(opened, "What is left of my allowance?")
    opened.get_by_label("Your mobile number, with its country code").fill("07700 900101")
    opened.keyboard.press("Enter")
    expect(opened.get_by_role("alert")).to_contain_text("with its country code, such as")
    sign_in_wrongly(opened)
    expect(opened.get_by_role("alert")).to_contain_text("wrong or has expired")
    opened.get_by_label("The code", exact=True).fill(CODE)
    opened.keyboard.press("Enter")
    answered(opened)


def sign_in_wrongly(page: Page) -> None:
    page.get_by_label("Your mobile number, with its country code").fill("+44 7700 900101")
    page.keyboard.press("Enter")
    page.get_by_label("The code", exact=True).fill("000000")
    page.keyboard.press("Enter")


def test_a_change_of_the_language_does_not_ask_for_the_number_again(opened: Page):
    ask(opened, "What is left of my allowance?")
    opened.get_by_label("Your mobile number, with its country code").fill("+44 7700 900101")
    opened.keyboard.press("Enter")
    expect(opened.get_by_label("The code", exact=True)).to_be_visible()
    opened.locator("#language").select_option("es")
    expect(opened.get_by_label("El código", exact=True)).to_be_visible()
    opened.get_by_role("button", name="Otro número").click()
    expect(opened.get_by_label("Su número de móvil")).to_have_value("+44 7700 900101")


def test_a_turn_that_ended_for_want_of_a_sign_in_is_asked_again_after_it(
    opened: Page, server: FakeServer
):
    ask(opened, "This is member only")
    expect(opened.locator("[data-finish=sign_in_required]")).to_have_text("Sign-in is required")
    sign_in(opened)
    expect(opened.locator(".answer")).to_contain_text("In adults")
    asked = posted(server, "/chat?tokens=true")
    assert [each["messages"] for each in asked] == [asked[0]["messages"]] * 2
    assert posted(server, "/chat/resume?tokens=true") == []


def test_an_older_turn_asks_for_no_sign_in_any_more(opened: Page):
    ask(opened, "This is member only")
    expect(opened.locator(".ask-card")).to_be_visible()
    ask(opened, "What about a fever?")
    expect(opened.locator("[data-phase=completed]")).to_have_count(2)
    expect(opened.locator(".ask-card")).to_have_count(0)


def test_where_nobody_can_sign_in_no_card_asks_for_it(page: Page, server: FakeServer):
    server.facts = json.dumps({"header": "X-Turnwire-Session", "signIn": None})
    page.goto(server.url)
    ask(page, "This is member only")
    answered(page)
    expect(page.locator(".ask-card")).to_have_count(0)


def test_each_action_is_confirmed_on_its_own(opened: Page, server: FakeServer):
    server.sessions["ses_1"] = True
    opened.evaluate("sessionStorage.setItem('turnwire.session', 'ses_1')")
    opened.reload()
    ask(opened, "Please call me")
    call, move = (
        card(opened, "Ask an adviser to call you back"),
        card(opened, "Change your address"),
    )
    expect(call).to_contain_text("Expires")
    expect(call.locator("dt")).to_have_text(["Reason", "Preferred time"])
    expect(call.locator("dd")).to_have_text([ATTACK, "tomorrow"])
    expect(move.locator("dd")).to_have_text(["12 High Street", "3"])
    move.get_by_label("What should be different?").fill("It is number 14")
    move.get_by_role("button", name="Reject").click()
    expect(move).to_have_count(0)
    call.get_by_role("button", name="Approve").click()
    expect(opened.locator(".answer")).to_have_text("Both were decided.")
    about = {"conversation_id": "conv_1"}
    assert posted(server, "/chat/confirm") == [
        {**about, "confirmation_id": "cnf_2", "decision": "reject", "feedback": "It is number 14"},
        {**about, "confirmation_id": "cnf_1", "decision": "approve"},
    ]


def test_a_refused_confirmation_is_told_and_leaves_the_card(opened: Page):
    ask(opened, "Please call me")
    call = card(opened, "Ask an adviser to call you back")
    call.get_by_role("button", name="Approve").click()
    expect(opened.locator(".turn .notice")).to_contain_text("This cannot be gone on with.")
    expect(call.get_by_role("button", name="Approve")).to_be_enabled()


def test_the_page_asks_as_one_member_and_decides_reviews_as_the_operator(
    opened: Page, server: FakeServer
):
    ask(opened, "Can I stop my medicine?")
    opened.get_by_role("button", name="Approve").click()
    answered(opened)
    opened.reload()
    answered(opened)
    sent = {at: each.get("X-Turnwire-Session") for _, at, each, _ in server.requests}
    assert sent["/chat?tokens=true"] == "ses_1"
    assert sent["/conversations/conv_1"] == "ses_1"
    assert sent["/chat/resume?tokens=true"] is None
    assert sent["/reviews"] is None
    assert list(server.sessions) == ["ses_1"]


def test_a_session_that_the_server_does_not_know_any_more_is_replaced(
    opened: Page, server: FakeServer
):
    ask(opened, "What is left of my allowance?")
    expect(opened.locator(".ask-card")).to_be_visible()
    server.sessions = {"ses_0": False}
    sign_in(opened)
    expect(opened.get_by_role("button", name="Sign out")).to_be_visible()
    assert list(server.sessions) == ["ses_0", "ses_2"]


def test_signing_out_is_offered_to_whoever_is_signed_in(opened: Page, server: FakeServer):
    expect(opened.get_by_role("button", name="Sign out")).to_be_hidden()
    ask(opened, "What is left of my allowance?")
    sign_in(opened)
    answered(opened)
    opened.reload()
    opened.get_by_role("button", name="Sign out").click()
    expect(opened.get_by_role("button", name="Sign out")).to_be_hidden()
    assert server.sessions == {"ses_1": False}


def test_the_member_assistant_is_introduced_with_what_it_can_do(page: Page, server: FakeServer):
    server.agents = [{"slug": "member", "title": "Member assistant", "description": "Plans."}]
    page.goto(server.url)
    expect(page.locator("#examples button")).to_have_count(4)
    expect(page.locator("#examples")).to_contain_text("asks you to sign in")
    page.locator("#language").select_option("es")
    expect(page.locator("#examples")).to_contain_text("pregunta antes de actuar")
