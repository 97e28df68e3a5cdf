"""A log line has the ids that belong to it, and nobody's words."""

import asyncio
import json
import logging
import sys
from typing import Any

import pytest

from tests.scenarios.every import SCENARIOS
from tests.scenarios.play import envelopes
from turnwire.ids import ConversationId, RunId, TurnId
from turnwire.telemetry.logs import JsonLines, LogReporter, TextLines, about, log_to_stderr
from turnwire.work import Work

CANARY = "CANARY-what-the-member-said"


def record(
    name: str = "turnwire.server", message: str = "said", **extra: object
) -> logging.LogRecord:
    made = logging.LogRecord(name, logging.WARNING, "/srv/app/place.py", 7, message, (), None)
    for key, each in extra.items():
        setattr(made, key, each)
    return made


def line(made: logging.LogRecord, *, messages: bool = False) -> dict[str, Any]:
    return json.loads(JsonLines(messages=messages).format(made))


def test_a_line_is_one_object_with_time_level_logger_and_message():
    said = line(record())
    assert set(said) == {"at", "level", "logger", "message"}
    assert (said["level"], said["logger"]) == ("warning", "turnwire.server")
    assert said["message"] == "said"


def test_a_line_has_the_ids_of_what_surrounds_it():
    with about(request_id="req_1"), about(turn_id="trn_1", trace_id="ab"):
        said = line(record())
    assert (said["request_id"], said["turn_id"], said["trace_id"]) == ("req_1", "trn_1", "ab")
    assert "request_id" not in line(record())


def test_ids_are_known_in_tasks_and_threads_that_begin_inside():
    def there() -> str:
        return line(record())["turn_id"]

    async def both() -> tuple[str, str]:
        async def task() -> str:
            return there()

        with about(turn_id="trn_1"):
            async with asyncio.TaskGroup() as group:
                begun = group.create_task(task())
            return begun.result(), await asyncio.to_thread(there)

    assert asyncio.run(both()) == ("trn_1", "trn_1")


def test_an_id_of_the_lines_own_wins():
    with about(turn_id="trn_1"):
        assert line(record(turn_id="trn_2"))["turn_id"] == "trn_2"


def test_an_exception_is_told_by_its_kind_and_its_place():
    try:
        raise ValueError(CANARY)
    except ValueError:
        made = record()
        made.exc_info = sys.exc_info()
    said = line(made)
    assert said["error"] == "ValueError"
    assert said["where"][-1].startswith("test_logs.py:")
    assert CANARY not in json.dumps(said)
    assert CANARY in line(made, messages=True)["traceback"]


def test_what_a_library_says_is_withheld_and_its_place_told():
    said = line(record("asyncio", f"Task exception was never retrieved: {CANARY}"))
    assert said["message"] == "(withheld) place.py:7"
    assert line(record("asyncio", CANARY), messages=True)["message"] == CANARY


def test_text_lines_say_the_same_for_people():
    with about(turn_id="trn_1"):
        text = TextLines(messages=False).format(record(where=["a.py:1 f", "b.py:2 g"]))
    assert text.endswith(" warning turnwire.server said turn_id=trn_1 where=a.py:1 f,b.py:2 g")


def test_every_logger_of_the_process_writes_such_lines(capsys: pytest.CaptureFixture[str]):
    logging.getLogger("uvicorn.error").setLevel(logging.NOTSET)  # a server here may have set it
    log_to_stderr("info")
    logging.getLogger("turnwire.engine").info("ours")
    logging.getLogger("uvicorn.error").info("the server's")
    logging.getLogger("somebody.else").info("not even heard")
    logging.getLogger("somebody.else").warning(CANARY)
    lines = [json.loads(each) for each in capsys.readouterr().err.splitlines()]
    assert [each["logger"] for each in lines] == [
        "turnwire.engine",
        "uvicorn.error",
        "somebody.else",
    ]
    assert CANARY not in json.dumps(lines)


def test_the_end_of_a_turn_is_one_line_with_its_outcome(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "turnwire")
    reporter = LogReporter(messages=False)
    for scenario in SCENARIOS:
        for each in envelopes(scenario):
            reporter.heard([each])
    endings = [each for one in SCENARIOS for each in envelopes(one) if _ends(each.event.type)]
    assert len(caplog.records) == len(endings)
    assert {each.getMessage() for each in caplog.records} == {"turn ended", "turn paused"}
    outcomes = {str(vars(each)["outcome"]) for each in caplog.records}
    assert {"stop", "paused", "cancelled"} <= outcomes


def _ends(kind: str) -> bool:
    return kind in ("turn.paused", "turn.completed", "turn.failed")


def test_a_run_gives_its_ids_to_what_is_logged_in_it():
    work = Work(
        turn_id=TurnId("trn_1"),
        conversation_id=ConversationId("conv_1"),
        run_id=RunId("run_1"),
        principal="key:1",
        locale="en",
        trace_id="ab",
        started_ms=0,
    )
    with LogReporter(messages=False).running(work):
        assert line(record())["trace_id"] == "ab"
