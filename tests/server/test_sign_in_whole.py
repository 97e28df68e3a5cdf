"""Signing in on ``turnwire serve``, with a portal over HTTP, and everything that it writes."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from cryptography.fernet import Fernet
from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response

from tests.server.answering import asked
from tests.server.running import Api, InThread, Process, eventually
from tests.sign_in.signing import KNOWN, TOKEN, letters
from turnwire.sign_in.sealing import KEY_FILE

SERVICE_KEY = "service-CANARY-8c21"


class Portal(InThread):
    """The service calls of a portal with one member."""

    heard: list[str]

    def application(self) -> FastAPI:
        self.heard = []
        app = FastAPI()

        @app.post("/service/{call}")
        async def service(call: str, request: Request) -> Response:
            self.heard.append(request.headers["authorization"])
            is_known = (await request.json())["mobile"] == KNOWN
            if call == "members":
                return JSONResponse({"known": is_known})
            if not is_known:
                return Response(status_code=404)
            return JSONResponse({"token": TOKEN, "scopes": ["member.read"], "expires_in": 900})

        return app


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Portal]:
    with Portal(tmp_path_factory.mktemp("portal")) as serving:
        yield serving


def _sign_in(server: Process, api: Api) -> tuple[str, httpx.Response]:
    before = len(letters(server.data_dir))
    assert api.http.post("/auth/login", json={"mobile": KNOWN}).status_code == 202
    code = eventually(lambda: letters(server.data_dir)[before:])[0]["code"]
    body = {"mobile": KNOWN, "code": code}
    return code, api.http.post("/auth/verify", json=body)


def test_nothing_that_a_server_writes_has_code_number_token_or_keys(portal: Portal, tmp_path: Path):
    pytest.importorskip("opentelemetry.sdk")
    graph, data_dir = "tests.server.member_graph:member", tmp_path / "data"
    own, variables = Fernet.generate_key().decode(), {"OTEL_TRACES_EXPORTER": "console"}
    with Process(
        data_dir,
        graph,
        "--log-level",
        "debug",
        variables=variables,
        portal_url=portal.url,
        portal_service_key=SERVICE_KEY,
        credential_keys=json.dumps([own]),
    ) as server:
        api = server.api("chat").be_member()
        conversation_id = asked(api, "sign-in")[0].data["conversation_id"]
        code, signed = _sign_in(server, api)
        assert signed.status_code == 200, signed.text
        frames = api.post("/chat/resume", conversation_id=conversation_id)
        assert frames[-1].data["finish_reason"] == "stop"
        assert api.http.post("/auth/verify", json={"mobile": KNOWN, "code": code}).is_error
        kept = b"".join(each.read_bytes() for each in data_dir.glob("*.db*")).decode("latin-1")
        server.terminate()
        server.process.wait(20)
    assert set(portal.heard) == {f"Bearer {SERVICE_KEY}"}
    assert '"name": ' in server.log, "there are spans among it"
    assert '"message": "refused: invalid_code"' in server.log
    wire = json.dumps([each.data for each in frames])
    for place in (server.log, wire, kept):
        for secret in (TOKEN, SERVICE_KEY, KNOWN.removeprefix("+44"), own):
            assert secret not in place
    for place in (server.log, wire):
        assert code not in place
    assert not (data_dir / KEY_FILE).exists()


def test_a_portal_that_is_away_costs_a_503_and_a_line_without_names(tmp_path: Path):
    with Process(
        tmp_path / "data",
        "tests.server.member_graph:member",
        portal_url="http://127.0.0.1:9",
        portal_service_key=SERVICE_KEY,
    ) as server:
        api = server.api("chat").be_member()
        assert api.http.post("/auth/login", json={"mobile": KNOWN}).status_code == 202
        eventually(lambda: "a code was not sent: the portal does not answer" in server.log)
        assert letters(server.data_dir) == []
        assert KNOWN.removeprefix("+44") not in server.log


def test_production_does_not_start_with_the_outbox(tmp_path: Path):
    with pytest.raises(AssertionError, match="'outbox' is for development; set sign_in_sender"):
        Process(
            tmp_path / "data",
            "tests.server.member_graph:member",
            environment="production",
            portal_url="http://127.0.0.1:9",
            portal_service_key=SERVICE_KEY,
            credential_keys=json.dumps([Fernet.generate_key().decode()]),
        ).__enter__()
