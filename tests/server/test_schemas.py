"""``/schemas/{wire}.json``: generated from the types, and true of every golden frame."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from tests.server.running import InThread
from tests.wires.foreign import parsed
from tests.wires.golden import FOLDER

FILES = sorted(FOLDER.glob("*.sse"))
MESSAGES = sorted(FOLDER.glob("*.studio.jsonl"))
WIRES = ("answer", "execution", "studio")


@pytest.fixture(scope="module")
def judges(shared: InThread) -> dict[str, Draft202012Validator]:
    return {wire: Draft202012Validator(_schema(shared, wire)) for wire in WIRES}


def _schema(server: InThread, wire: str) -> dict[str, Any]:
    answer = server.api("chat").http.get(f"/schemas/{wire}.json")
    assert answer.headers["content-type"] == "application/schema+json"
    Draft202012Validator.check_schema(answer.json())
    return answer.json()


def _frames(body: bytes) -> Iterator[dict[str, Any]]:
    for each in parsed(body):
        yield {"id": each.id, "event": each.event, "data": json.loads(each.data)}


@pytest.mark.parametrize("file", FILES, ids=lambda each: each.name)
def test_every_golden_frame_is_of_its_wires_schema(
    judges: dict[str, Draft202012Validator], file: Path
):
    wire = file.name.split(".")[1].partition("-")[0]
    for each in _frames(file.read_bytes()):
        judges[wire].validate(each)


@pytest.mark.parametrize("file", MESSAGES, ids=lambda each: each.name)
def test_every_golden_message_of_a_socket_is_of_its_schema(
    judges: dict[str, Draft202012Validator], file: Path
):
    for each in file.read_text().splitlines():
        judges["studio"].validate(json.loads(each))


@pytest.mark.parametrize(
    "frame",
    [
        {"id": "t.1", "event": "token.delta", "data": {}},
        {"id": "t.1", "event": "token.delta", "data": {"text": 1}},
        {"id": "t.1", "event": "token", "data": {"text": "x"}},
        {"event": "token.delta"},
        {
            "event": "action.completed",
            "data": {"confirmation_id": "c", "decision": "approve", "status": "maybe"},
        },
    ],
    ids=str,
)
def test_what_is_no_frame_is_not_of_the_schema(
    judges: dict[str, Draft202012Validator], frame: dict[str, Any]
):
    assert not judges["answer"].is_valid(frame)


def test_what_a_later_version_adds_is_of_the_schema(judges: dict[str, Draft202012Validator]):
    done = {"message_id": "t", "finish_reason": "a_new_one", "more": 1}

    assert judges["answer"].is_valid({"id": "t.1", "event": "message.completed", "data": done})


def test_there_are_no_other_schemas(shared: InThread):
    answer: httpx.Response = shared.api("chat").http.get("/schemas/other.json")

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
