"""What the page is told of its server."""

import html
import json
import re
from pathlib import Path
from typing import Any

from tests.server.running import InThread
from tests.server.signing import SigningIn


def facts(server: InThread) -> dict[str, Any]:
    page = server.nobody().http.get("/").text
    (told,) = re.findall(r'<meta name="turnwire" content="([^"]*)">', page)
    return json.loads(html.unescape(told))


def test_the_page_knows_the_sessions_header_and_where_codes_lie(tmp_path: Path):
    with SigningIn(tmp_path, session_header="X-Member") as server:
        told = facts(server)
    assert told == {"header": "X-Member", "signIn": {"outbox": str(tmp_path / "outbox")}}


def test_where_nobody_knows_members_the_page_offers_no_sign_in(tmp_path: Path):
    with InThread(tmp_path) as server:
        assert facts(server) == {"header": "X-Turnwire-Session", "signIn": None}
