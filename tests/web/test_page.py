"""What the page shows of each way a turn can go, against the scripted server."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.fake_server import ATTACK, DRAFT, REJECTED, FakeServer, Turn, review_of


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
    other = Turn("trn_x", "conv_x", "May I double the medicine?", "en")
    server.turns["trn_x"] = other
    server.queue.append(review_of(other))
    page.goto(server.url)
    page.locator("#reviews-title").click()
    page.get_by_role("button", name="Open").click()
    page.get_by_role("button", name="Reject").click()
    expect(page.locator(".answer")).to_have_text(REJECTED)
    ask(page, "What about a fever?")
    expect(page.locator("[data-phase=completed]")).to_have_count(2)
    assert "thread_id" not in posted(server, "/chat?tokens=true")[0]


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
    ask(opened, "Does a fever break?")
    expect(opened.locator("[data-phase=reconnecting]")).to_be_visible()
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
    expect(page.locator(".turn .notice")).to_contain_text("Sign in first.")
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
