"""What the page shows of each way a turn can go, against the scripted server."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.fake_server import (
    ATTACK,
    DRAFT,
    REJECTED,
    FakeServer,
    Turn,
    review_of,
    reviewed,
)


@pytest.fixture
def opened(page: Page, server: FakeServer) -> Page:
    page.goto(server.url)
    return page


def ask(page: Page, question: str) -> None:
    page.locator("#question").fill(question)
    page.locator("#question").press("Enter")


def node(page: Page, name: str) -> Locator:
    return page.locator(f"[data-node={name}]")


def posted(server: FakeServer, path: str) -> list[dict[str, object]]:
    return [body for method, at, _, body in server.requests if method == "POST" and at == path]


def test_an_answer_links_its_markers_to_the_sources(opened: Page):
    ask(opened, "What about a fever?")
    marker = opened.get_by_role("link", name="Source 1: Fever in adults")
    expect(marker).to_have_attribute("href", "#turn-1-source-1")
    marker.click()
    expect(opened.locator("#turn-1-source-1")).to_contain_text("A temperature of 38 °C")
    expect(opened.locator(".answer")).to_contain_text("[7] is no source")
    expect(opened.locator(".answer a")).to_have_count(2)
    expect(opened.locator(".answer strong")).to_have_text("38 °C or more")
    expect(opened.locator(".cost")).to_have_text(
        "demo-writer-1 · 1,812 tokens in, 143 out · 1.3 s · $0.0021"
    )
    expect(opened.locator(".chip").first).to_have_text("Input passed")


def test_the_request_carries_locale_and_thread(opened: Page, server: FakeServer):
    opened.locator("#language").select_option("es")
    ask(opened, "¿Fiebre?")
    expect(opened.locator("[data-phase=completed]")).to_be_visible()
    ask(opened, "¿Y mañana?")
    expect(opened.locator("[data-phase=completed]")).to_have_count(2)
    assert posted(server, "/chat?tokens=true") == [
        {"messages": [{"role": "user", "content": "¿Fiebre?"}], "locale": "es"},
        {
            "messages": [{"role": "user", "content": "¿Y mañana?"}],
            "locale": "es",
            "thread_id": "conv_1",
        },
    ]


def test_nodes_settle_with_their_duration_and_the_bypass_stays_grey(opened: Page):
    ask(opened, "What about a fever?")
    expect(node(opened, "retrieve_context")).to_have_attribute("data-state", "done")
    expect(node(opened, "retrieve_context")).to_contain_text("retrieval · 38 ms")
    expect(opened.locator(".edge.conditional")).to_have_count(2)
    expect(opened.locator(".edge.conditional.taken")).to_have_count(1)


def test_a_skipped_node_is_dashed_and_the_refusal_is_labelled(opened: Page):
    ask(opened, "Who wins at football?")
    expect(node(opened, "retrieve_context")).to_have_attribute("data-state", "skipped")
    expect(opened.locator("[data-finish=refused]")).to_have_text("Declined by a guardrail")
    expect(opened.locator(".chip.bad")).to_have_text("Scope rules refused · off topic")
    expect(opened.locator(".cost")).to_have_text("No model was called")


def test_a_draft_waits_and_is_approved(opened: Page, server: FakeServer):
    ask(opened, "Can I stop my medicine?")
    expect(node(opened, "review_response")).to_have_attribute("data-state", "waiting")
    expect(opened.locator(".ask-card textarea")).to_have_value(DRAFT)
    expect(opened.locator("#reviews-title")).to_have_text("Reviews waiting (1)")
    expect(opened.locator(".answer")).to_be_empty()
    opened.get_by_role("button", name="Approve").click()
    expect(opened.locator("[data-phase=completed]")).to_be_visible()
    expect(opened.locator(".answer")).to_contain_text("Do not stop a prescribed medicine")
    expect(node(opened, "intake")).to_have_attribute("data-state", "done")
    expect(node(opened, "closing")).to_have_attribute("data-state", "done")
    expect(opened.locator(".chip")).to_have_text("Review approved · medication change")
    expect(opened.locator(".cost")).to_contain_text("waited 2 min for a person")
    expect(opened.locator("#reviews")).to_be_hidden()
    resumed = posted(server, "/chat/resume?tokens=true")
    assert resumed == [{"thread_id": "conv_1", "review_id": "rev_trn_1", "decision": "approve"}]


def test_an_edited_draft_can_only_be_saved_as_an_edit(opened: Page, server: FakeServer):
    ask(opened, "Can I stop my medicine?")
    expect(opened.get_by_role("button", name="Save edit")).to_be_disabled()
    opened.locator(".ask-card textarea").fill("Ask your doctor.")
    expect(opened.get_by_role("button", name="Approve")).to_be_disabled()
    opened.get_by_role("button", name="Save edit").click()
    expect(opened.locator(".answer")).to_have_text("Ask your doctor.")
    assert posted(server, "/chat/resume?tokens=true") == [
        {
            "thread_id": "conv_1",
            "review_id": "rev_trn_1",
            "decision": "edit",
            "edited_text": "Ask your doctor.",
        }
    ]


def test_a_review_from_the_queue_opens_without_changing_the_conversation(
    page: Page, server: FakeServer
):
    open_review_of_another(page, server)
    expect(node(page, "generate_response")).to_have_attribute("data-state", "done")
    expect(node(page, "review_response")).to_have_attribute("data-state", "waiting")
    expect(page.locator(".ask-card textarea")).to_have_value(DRAFT)
    page.get_by_role("button", name="Reject").click()
    expect(page.locator(".answer")).to_have_text(REJECTED)
    expect(page.locator("[data-finish=refused]")).to_have_text("Declined by a reviewer")
    expect(page.locator(".quiet-label")).to_have_count(1)
    ask(page, "What about a fever?")
    expect(page.locator("[data-phase=completed]")).to_have_count(2)
    assert "thread_id" not in posted(server, "/chat?tokens=true")[0]


def open_review_of_another(page: Page, server: FakeServer) -> None:
    other = Turn("trn_x", "conv_x", "May I double the medicine?", "en")
    list(reviewed(other))
    server.turns["trn_x"] = other
    server.queue.append(review_of(other))
    page.goto(server.url)
    page.locator("#reviews-title").click()
    page.get_by_role("button", name="Open").click()


def test_a_review_whose_events_are_not_open_says_so_and_can_be_decided(
    page: Page, server: FakeServer
):
    server.are_events_open = False
    open_review_of_another(page, server)
    expect(page.locator("#graph")).to_contain_text("cannot be read")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("[data-phase=completed]")).to_be_visible()
    expect(node(page, "closing")).to_have_attribute("data-state", "done")


def test_an_urgent_message_is_not_said_to_be_handed_to_anybody(opened: Page):
    ask(opened, "My chest hurts")
    expect(opened.locator("[data-finish=escalated]")).to_have_text(
        "Urgent: please follow the advice above"
    )
    expect(opened.locator(".chip")).to_have_text("Warning signs found · acute chest pain")
    opened.locator("#language").select_option("es")
    expect(opened.locator("[data-finish=escalated]")).to_have_text(
        "Urgente: siga el consejo de arriba"
    )


def test_an_edit_is_told_in_a_sentence(opened: Page):
    ask(opened, "Can I stop my medicine?")
    opened.locator(".ask-card textarea").fill("Ask your doctor.")
    opened.get_by_role("button", name="Save edit").click()
    expect(opened.locator(".quiet-label")).to_have_text("A reviewer changed this answer.")
    opened.locator("#language").select_option("es")
    expect(opened.locator(".quiet-label")).to_have_text("Un revisor cambió esta respuesta.")


def test_only_the_health_agent_that_ships_is_introduced_with_health(page: Page, server: FakeServer):
    server.agents = [{"slug": "guarded", "title": "Your documents", "description": ""}]
    page.goto(server.url)
    expect(page.locator("#empty-title")).to_have_text("Your documents")
    expect(page.locator("#about")).to_have_text("Ask this agent a question.")
    expect(page.locator("#examples")).to_be_hidden()


def test_the_header_takes_two_rows_at_most_on_a_telephone(page: Page, server: FakeServer):
    server.agents.append({"slug": "pharmacy", "title": "Pharmacy", "description": "Medicines."})
    other = Turn("trn_x", "conv_x", "May I double the medicine?", "es")
    server.queue.append(review_of(other))
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(server.url)
    page.locator("#language").select_option("es")
    expect(page.locator("#reviews-title")).to_be_visible()
    expect(page.locator("#agent")).to_be_visible()
    assert page.locator("header").evaluate("header => header.offsetHeight") < 105
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_an_input_pause_takes_json_or_text(opened: Page, server: FakeServer):
    ask(opened, "What is right at that age?")
    expect(opened.locator(".ask-card pre").first).to_contain_text("How old is the patient?")
    opened.get_by_label("Your reply, as text or JSON").fill("42")
    opened.get_by_role("button", name="Send reply").click()
    expect(opened.locator(".answer")).to_contain_text('Noted: {"pau_in": 42}')
    assert posted(server, "/chat/resume?tokens=true") == [
        {"thread_id": "conv_1", "answers": {"pau_in": 42}}
    ]


def test_a_broken_stream_is_joined_again_where_it_broke(opened: Page, server: FakeServer):
    server.may_attach.clear()
    ask(opened, "Does a fever break?")
    expect(opened.locator("[data-phase=reconnecting]")).to_be_visible()
    server.may_attach.set()
    expect(opened.locator("[data-phase=completed]")).to_be_visible()
    expect(opened.locator(".answer")).to_contain_text("In adults, a temperature of 38 °C or more")
    attached = [(at, h["Last-Event-ID"]) for _, at, h, _ in server.requests if "events" in at]
    at = "/conversations/conv_1/turns/trn_1/events?wire=execution&tokens=true"
    assert attached == [(at, "trn_1.11")]


def test_a_stream_that_breaks_before_its_first_event_asks_only_once(
    opened: Page, server: FakeServer
):
    ask(opened, "Does a fever break at once?")
    expect(opened.locator("[data-phase=completed]")).to_be_visible()
    keys = [headers["Idempotency-Key"] for _, at, headers, _ in server.requests if "/chat?" in at]
    assert len(keys) == 2
    assert keys[0] == keys[1]
    assert list(server.turns) == ["trn_1"]


def test_a_reload_in_the_middle_goes_on_with_the_turn(opened: Page, server: FakeServer):
    ask(opened, "Can I stop my medicine?")
    expect(opened.locator(".ask-card")).to_be_visible()
    opened.reload()
    expect(opened.locator(".question")).to_have_text("Can I stop my medicine?")
    expect(node(opened, "review_response")).to_have_attribute("data-state", "waiting")
    opened.get_by_role("button", name="Approve").click()
    expect(opened.locator("[data-phase=completed]")).to_be_visible()


def test_a_new_conversation_forgets_the_old_one(opened: Page):
    ask(opened, "What about a fever?")
    expect(opened.locator("[data-phase=completed]")).to_be_visible()
    opened.get_by_role("button", name="New conversation").click()
    expect(opened.locator("#empty")).to_be_visible()
    opened.reload()
    expect(opened.locator("#empty")).to_be_visible()


def test_without_a_session_the_page_says_how_to_get_in(page: Page, server: FakeServer):
    server.is_signed_in = False
    page.goto(server.url)
    expect(page.locator("#page-notice")).to_contain_text("turnwire serve")
    ask(page, "What about a fever?")
    expect(page.locator(".turn .notice")).not_to_contain_text("Sign in first.")
    expect(page.locator("#page-notice")).not_to_contain_text("Sign in first.")
    expect(page.locator(".notice.bad")).to_have_count(0)
    expect(page.locator(".turn .notice")).to_contain_text("Open the link")
    server.is_signed_in = True
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("[data-phase=completed]")).to_be_visible()


def test_a_refused_question_comes_back_into_the_box(opened: Page):
    ask(opened, "something forbidden")
    expect(opened.locator(".turn .notice")).to_contain_text("The message is not allowed.")
    expect(opened.locator("#question")).to_have_value("something forbidden")


def test_markup_in_an_answer_stays_text(opened: Page):
    ask(opened, "Send me markup")
    expect(opened.locator("[data-phase=completed]")).to_be_visible()
    assert opened.locator(".answer").inner_text() == ATTACK.replace("**", "")
    expect(opened.locator(".answer img, .answer script")).to_have_count(0)
    expect(opened).to_have_title("turnwire")


def test_a_rewritten_answer_replaces_the_words(opened: Page):
    ask(opened, "rewrite this")
    expect(opened.locator(".answer")).to_have_text("The better words")
    expect(opened.locator(".quiet-label")).to_contain_text("persona stability")


def test_stop_ends_the_turn_at_the_server(opened: Page, server: FakeServer):
    ask(opened, "something slow")
    expect(opened.locator(".answer")).to_have_text("This takes a while")
    expect(node(opened, "generate_response")).to_have_attribute("data-state", "running")
    opened.get_by_role("button", name="Stop").click()
    expect(opened.locator("[data-finish=cancelled]")).to_have_text("Stopped")
    expect(node(opened, "generate_response")).to_have_attribute("data-state", "stopped")
    expect(opened.locator(".cost")).to_have_count(0)
    expect(node(opened, "__end__")).to_have_attribute("data-state", "pending")
    expect(opened.get_by_role("button", name="Send")).to_be_visible()
    assert posted(server, "/conversations/conv_1/cancel") == [{}]


def test_a_failed_turn_is_red_and_can_be_tried_again(opened: Page):
    ask(opened, "What about a timeout?")
    expect(opened.locator(".turn .notice")).to_contain_text("The model did not answer in time.")
    expect(opened.locator(".turn .notice")).to_contain_text("err_42")
    expect(node(opened, "generate_response")).to_have_attribute("data-state", "failed")
    expect(opened.get_by_role("button", name="Try again")).to_be_visible()


def test_several_agents_are_offered_and_the_chosen_one_is_asked(page: Page, server: FakeServer):
    server.agents.append({"slug": "pharmacy", "title": "Pharmacy", "description": "Medicines."})
    page.goto(server.url)
    page.get_by_label("Agent", exact=True).select_option("pharmacy")
    expect(page.locator("#about")).to_have_text("Medicines.")
    ask(page, "What about a fever?")
    expect(page.locator("[data-phase=completed]")).to_be_visible()
    assert posted(server, "/chat?tokens=true")[0]["agent"] == "pharmacy"
