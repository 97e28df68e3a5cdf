"""A browser, and a server for it: the scripted one, or a real one given with `--web-url`."""

import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.needs import chromium
from tests.web.fake_server import FakeServer

NO_OPTION = ""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--web-url", default=NO_OPTION, help="the page of a running turnwire server")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = chromium()
    if path is None:
        pytest.fail("Chromium is missing: run `python -m tests.needs`")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path,
            args=["--no-sandbox", "--disable-background-networking", "--disable-gpu"],
        )
        yield browser
        browser.close()


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        for turn in server.turns.values():
            turn.cancelled.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def base_url(request: pytest.FixtureRequest) -> str:
    """The page under test; without `--web-url` the scripted server's."""
    given = request.config.getoption("--web-url", default=NO_OPTION)
    if isinstance(given, str) and given:
        return given
    server = request.getfixturevalue("server")
    assert isinstance(server, FakeServer)
    return server.url


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An English desktop page; an error in its console fails the test."""
    context = browser.new_context(locale="en-GB", viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(10_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    yield page
    context.close()
    # A refusal's status and a cut stream show up there too; the tests look at what the page says.
    assert [e for e in errors if not e.startswith("Failed to load resource")] == []
