"""Requests that nobody wrote by hand: no 500, every error in its envelope, nothing left behind.

`python -m tests.faults.generating 50000` sends the whole number.
"""

from collections.abc import Iterator

import pytest

from tests.faults.generating.application import Answered, Application, Sent
from tests.faults.generating.judging import wrong
from tests.faults.generating.running import Found, run

SOME = 3_000
VERIFY = "POST /auth/verify"
"""Nobody guesses a code that was sent to somebody."""


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    with Application(tmp_path_factory.mktemp("generated")) as each:
        yield each


@pytest.fixture(scope="module")
def found(application: Application) -> Found:
    return run(application, SOME, seed=5)


def test_no_generated_request_gets_a_500_or_leaves_anything_when_it_is_refused(found: Found):
    assert found.wrong == {}
    assert found.sent == SOME


def test_the_generated_requests_come_everywhere(application: Application, found: Found):
    described = {
        f"{method.upper()} {path}"
        for path, methods in application.document["paths"].items()
        for method in methods
    }
    welcome = {route for route, status in found.routes if status in (200, 202, 204)}
    assert welcome == described - {VERIFY}
    assert (VERIFY, 401) in found.routes
    assert {400, 401, 403, 404, 405, 413, 422, 429} <= found.statuses.keys()


def _judged(application: Application, answered: Answered, method: str = "GET") -> list[str]:
    sent = Sent(method=method, target=b"/conversations")
    return list(wrong(sent, answered, application.document))


def test_an_answer_that_nobody_may_get_is_noticed(application: Application):
    no_json = Answered(404, {}, bytearray(b"nothing here"))
    assert "404 is not in the envelope" in _judged(application, no_json)
    assert "status 500" in _judged(application, Answered(500, {}, bytearray(b"{}")))
    assert "status 418 is not described" in _judged(application, Answered(418, {}, bytearray()))
    events = {"content-type": "text/event-stream"}
    for names, what in (
        (["token"], ["token is followed by None"]),
        (["paused", "token", "turn_completed"], ["paused is followed by token"]),
        (["graph_topology", "paused", "graph_topology", "turn_completed"], []),
        (["message.started", "error"], ["a stream that failed"]),
        ([], ["a stream of nothing"]),
    ):
        stream = "".join(f"event: {name}\ndata: {{}}\n\n" for name in names)
        assert _judged(application, Answered(200, events, bytearray(stream.encode()))) == what
    assert _judged(application, Answered(200, {}, bytearray(b"{}"))) == []


def test_rows_are_counted_in_every_table_of_both_stores(application: Application):
    before = application.rows()
    assert {"main.turns", "main.usage", "main.meters", "checkpoints.checkpoints"} <= before.keys()
    application.seed()
    grown = {name for name, count in application.rows().items() if count > before[name]}
    assert {"main.turns", "main.events", "main.sessions", "checkpoints.writes"} <= grown
