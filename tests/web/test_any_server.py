"""What the page does with every server; run it against a real one with `--web-url`."""

from playwright.sync_api import Page, expect

PATIENCE_MS = 30_000


def test_an_example_question_gets_an_answer_and_lights_the_graph(page: Page, base_url: str):
    page.goto(base_url)
    page.locator("#examples button").first.click()
    expect(page.locator("[data-phase=completed]")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.locator(".answer")).not_to_be_empty()
    expect(page.locator("svg.graph .node[data-state=done]").first).to_be_visible()


def test_a_reload_shows_the_conversation_again(page: Page, base_url: str):
    page.goto(base_url)
    page.locator("#examples button").first.click()
    expect(page.locator("[data-phase=completed]")).to_be_visible(timeout=PATIENCE_MS)
    answer = page.locator(".answer").inner_text()
    page.reload()
    expect(page.locator("[data-phase=completed]")).to_be_visible(timeout=PATIENCE_MS)
    assert page.locator(".answer").inner_text() == answer
    expect(page.locator("svg.graph .node[data-state=done]").first).to_be_visible()


def test_the_risky_example_waits_for_a_reviewer_and_goes_on_when_approved(
    page: Page, base_url: str
):
    page.goto(base_url)
    page.locator("#examples button").last.click()
    page.locator("[data-decision=approve]").click(timeout=PATIENCE_MS)
    expect(page.locator("[data-phase=completed]")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.locator(".answer")).not_to_be_empty()


def test_the_page_speaks_spanish_after_a_switch_and_remembers_it(page: Page, base_url: str):
    page.goto(base_url)
    page.locator("#language").select_option("es")
    expect(page.locator("#send")).to_have_text("Enviar")
    page.reload()
    expect(page.locator("html")).to_have_attribute("lang", "es")
    expect(page.locator("#empty h2")).to_have_text("¿Qué le gustaría saber?")


def test_a_narrow_screen_never_scrolls_sideways(page: Page, base_url: str):
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(base_url)
    page.locator("#examples button").first.click()
    expect(page.locator("[data-phase=completed]")).to_be_visible(timeout=PATIENCE_MS)
    page.locator("#graph-toggle").click()
    expect(page.locator("svg.graph")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
