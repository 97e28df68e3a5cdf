"""The TypeScript client in Chromium, from a page of another origin."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.needs import chromium
from tests.server.answering import Members
from tests.server.running import environment
from tests.ui.cutting import Cut, CuttingProxy
from tests.ui.test_client import options

_ASK = """
async ({ options, message }) => {
  const { Turnwire } = await import("/index.js");
  const turn = new Turnwire(options).ask(message);
  const names = [];
  try {
    for await (const { event } of turn) names.push(event);
  } catch (error) {
    return { name: error.name, code: error.code, requestId: error.requestId };
  }
  return { names, text: turn.message.text, reason: turn.message.ending.reason };
}
"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def origin(built: Path) -> Iterator[str]:
    """An origin that serves the built client."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(built))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def in_browser(origin: str, *asked: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what comes of questions that a page of this origin asks."""
    if chromium() is None:
        pytest.fail("Chromium is missing: run `python -m tests.needs`")
    given = {"origin": f"{origin}/", "scripts": [[_ASK, each] for each in asked]}
    done = subprocess.run(
        [sys.executable, "-m", "tests.ui.in_browser"],
        input=json.dumps(given),
        env=environment({}),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_page_of_an_allowed_origin_streams_an_answer_and_mends_a_cut(origin: str, tmp_path: Path):
    with (
        Members(tmp_path, cors_origins=(origin,)) as server,
        CuttingProxy(server.address, *[Cut(1200)] * 3) as proxy,
    ):
        given = options(server.api())
        told, cut, refused = in_browser(
            origin,
            {"options": given, "message": "searches"},
            {"options": {**given, "url": proxy.url}, "message": "searches"},
            {"options": {**given, "key": "x"}, "message": "plain"},
        )
    for each in (told, cut):
        assert each["text"] == "Two days [1], then easy [2]."
        assert each["names"][0] == "message.started"
        assert each["names"].count("citation") == 2
        assert each["reason"] == "stop"
    assert proxy.done >= 1
    assert refused["code"] == "invalid_api_key"
    assert refused["requestId"].startswith("req_")


def test_a_page_of_another_origin_reads_nothing(origin: str, tmp_path: Path):
    with Members(tmp_path, cors_origins=("https://app.example.org",)) as server:
        given = {**options(server.api()), "attempts": 2}
        (told,) = in_browser(origin, {"options": given, "message": "plain"})
    assert told["name"] == "Disconnected"
