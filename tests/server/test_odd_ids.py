"""Ids that are not ids, on every route: unknown like any other, and nothing is reached by them."""

import json
import logging
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from tests.server.answering import Members, asked
from tests.server.running import Api

ODD = {
    "a number": "1",
    "a star": "*",
    "a percent": "%",
    "an underscore": "conv_%",
    "a colon": "a:b",
    "a path": "../x",
    "a path of its own": "conv_1/turns/trn_1",
    "10 kB": "x" * 10_000,
    "composed": unicodedata.normalize("NFC", "conv_\u00e9"),
    "decomposed": unicodedata.normalize("NFD", "conv_\u00e9"),
    "NUL": "conv_\0",
    "a line break": "conv_1\r\nX: y",
    "SQL": "' OR 1=1 --",
    "empty": "",
}


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Members]:
    with Members(tmp_path_factory.mktemp("members")) as server:
        yield server


def _bodies(id: object) -> list[tuple[str, dict[str, object]]]:
    return [
        ("/chat", {"messages": [{"role": "user", "content": "plain"}], "thread_id": id}),
        ("/chat/stream", {"message": "plain", "conversation_id": id}),
        (
            "/chat/confirm",
            {"conversation_id": id, "confirmation_id": "cnf_1", "decision": "approve"},
        ),
        (
            "/chat/confirm",
            {"conversation_id": "conv_1", "confirmation_id": id, "decision": "approve"},
        ),
        ("/chat/resume", {"conversation_id": id}),
        ("/chat/resume", {"conversation_id": id, "answers": {"cnf_1": 1}}),
        ("/chat/resume", {"conversation_id": "conv_1", "answers": {str(id): 1}}),
        ("/chat/resume", {"thread_id": id, "answers": {"cnf_1": 1}}),
    ]


def _paths(id: str, known: str) -> list[tuple[str, str]]:
    one = quote(id, safe="")
    at = f"/conversations/{one}"
    return [
        ("GET", at),
        ("DELETE", at),
        ("POST", f"{at}/cancel"),
        ("GET", f"{at}/turns/trn_1"),
        ("GET", f"{at}/turns/trn_1/events?wire=answer"),
        ("GET", f"/conversations/{known}/turns/{one}"),
        ("GET", f"/conversations/{known}/turns/{one}/events?wire=answer"),
        ("GET", f"/conversations/{known}/turns/{one}/events"),
    ]


def _error(answer: httpx.Response) -> dict[str, object]:
    return answer.json()["error"] | {"request_id": ""}


@pytest.mark.parametrize("name", ODD)
def test_an_id_that_is_none_is_unknown_on_every_route_and_reaches_nothing(
    members: Members, name: str
):
    api = members.api()
    known = asked(api, "confirm")[0].data["conversation_id"]
    before = api.http.get(f"/conversations/{known}").content
    every = api.http.get("/conversations").content
    for method, path in _paths(ODD[name], known):
        answer = api.http.request(method, path)
        if name == "empty" or answer.status_code == 405:  # another route, or none
            assert answer.status_code in (200, 404, 405), path
            continue
        assert answer.status_code == 404, (path, answer.text)
        assert _error(answer)["code"] == "not_found"
        assert len(answer.content) < 500, "what was sent is not quoted back"
    for path, body in _bodies(ODD[name]):
        answer = api.http.post(path, json=body)
        assert answer.status_code in (403, 404, 422), (path, answer.text)
        assert len(answer.content) < 1000, "what was sent is not quoted back"
    assert api.http.get(f"/conversations/{known}").content == before
    assert api.http.get("/conversations").content == every


@pytest.mark.parametrize("id", [1, 1.5, True, None, [], {}, ["conv_1"]])
def test_an_id_of_another_type_is_422_or_left_out(members: Members, id: object):
    api = members.api()
    for path, body in _bodies(id):
        if id is None and path in ("/chat", "/chat/stream"):
            continue  # the same as none: a new conversation
        if "answers" in body and body.get("conversation_id") == "conv_1":
            continue  # the names of members of an object are texts
        answer = api.http.post(path, content=json.dumps(body))
        assert answer.status_code == 422, (path, body, answer.text)


def test_twins_of_an_id_are_other_ids(members: Members):
    api = members.api()
    known = asked(api, "plain")[0].data["conversation_id"]
    assert api.http.get(f"/conversations/{known}").status_code == 200
    wide = known.replace("c", "\uff43", 1)
    for twin in (known.upper(), f" {known}", f"{known} ", f"{known}\0", wide, f"{known}\u200b"):
        assert unicodedata.normalize("NFKC", wide) == known
        assert api.http.get(f"/conversations/{quote(twin, safe='')}").status_code == 404, twin
        answer = api.http.post("/chat/stream", json={"message": "plain", "conversation_id": twin})
        assert answer.status_code in (404, 422), twin
    assert len(api.http.get(f"/conversations/{known}").json()["turns"]) == 1


def _foreign(api: Api, conversation_id: str, turn_id: str, pause_id: str) -> list[httpx.Response]:
    http, at = api.http, f"/conversations/{conversation_id}"
    confirm = {"confirmation_id": pause_id, "decision": "approve"}
    about = {"conversation_id": conversation_id}
    return [
        http.post("/chat/stream", json={"message": "plain", **about}),
        http.post("/chat/confirm", json={**about, **confirm}),
        http.post("/chat/resume", json=about),
        http.post("/chat/resume", json={**about, "answers": {pause_id: 1}}),
        http.get(at),
        http.delete(at),
        http.post(f"{at}/cancel"),
        http.get(f"{at}/turns/{turn_id}"),
        http.get(f"{at}/turns/{turn_id}/events?wire=answer"),
    ]


@pytest.mark.parametrize("kind", ["confirm", "sign-in", "input"])
def test_anothers_conversation_is_as_unknown_as_none_and_the_attempt_is_logged(
    members: Members, kind: str, caplog: pytest.LogCaptureFixture
):
    mine = members.api()
    frames = asked(mine, kind)
    opened = frames[0].data
    asks = [each.data.get("confirmation_id") or each.data.get("resume_id") for each in frames]
    asks += [each["pause_id"] for each in frames[-1].data.get("pauses", ())]
    (pause_id,) = [each for each in asks if each]
    before = mine.http.get(f"/conversations/{opened['conversation_id']}").content
    members.sign_ins.everybody = True
    try:
        for other in (members.api(), members.stranger()):
            with caplog.at_level(logging.INFO, "turnwire.server"):
                caplog.clear()
                ids = opened["conversation_id"], opened["message_id"], pause_id
                foreign = _foreign(other, *ids)
                lines = [e for e in caplog.records if e.getMessage().startswith("refused: ")]
            unknown = _foreign(other, "conv_unknown", "trn_unknown", "cnf_unknown")
            assert [(e.status_code, _error(e)) for e in foreign] == [
                (e.status_code, _error(e)) for e in unknown
            ]
            assert {each.status_code for each in foreign} == {403, 404}
            assert len(lines) == len(foreign)
            assert all(getattr(each, "client", "") for each in lines)
    finally:
        members.sign_ins.everybody = False
    assert mine.http.get(f"/conversations/{opened['conversation_id']}").content == before


def test_a_conversation_of_an_erased_name_can_not_be_begun_by_a_client(
    members: Members, tmp_path: Path
):
    api = members.api()
    known = asked(api, "plain")[0].data["conversation_id"]
    assert api.http.delete(f"/conversations/{known}").status_code == 204
    again = api.http.post("/chat/stream", json={"message": "plain", "conversation_id": known})
    assert again.status_code == 404
