"""What the doctor says of the members' portal and of signing in."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.fernet import Fernet

from turnwire.cli.check_members import portal, sign_in
from turnwire.portal.serving import serving
from turnwire.settings import Settings

SECRET = "portal-CANARY-key"


def _settings(**given: Any) -> Settings:  # noqa: ANN401
    return Settings.model_validate(given)


def test_a_portal_that_takes_the_key_is_told(tmp_path: Path):
    with serving(tmp_path, service_key=SECRET) as there:
        found = portal(_settings(portal_url=there.url, portal_service_key=SECRET))
        wrong = portal(_settings(portal_url=there.url, portal_service_key="another"))
    assert (found.status, found.found) == ("ok", f"{there.url} answers and takes the service key")
    assert (wrong.status, wrong.next_step) == ("broken", "set portal_service_key")
    assert SECRET not in f"{found} {wrong}"


def test_a_portal_that_is_not_there_is_a_warning(tmp_path: Path):
    with serving(tmp_path) as there:
        pass
    found = portal(_settings(portal_url=there.url, portal_service_key=SECRET))
    assert (found.status, found.found) == ("warning", f"{there.url} can't be reached")


@pytest.mark.parametrize(
    ("status", "content"), [(200, b"<html>"), (200, b"[1]"), (200, b'{"known": 1}'), (500, b"{}")]
)
def test_what_answers_as_no_portal_does_is_broken(
    status: int, content: bytes, monkeypatch: pytest.MonkeyPatch
):
    def post(*_: object, **__: object) -> httpx.Response:
        return httpx.Response(status, content=content)

    monkeypatch.setattr(httpx, "post", post)
    found = portal(_settings(portal_url="http://portal.example", portal_service_key=SECRET))
    assert found.status == "broken"
    assert "does not answer as a portal does" in found.found


def test_a_portal_without_a_service_key_is_missing_one():
    assert portal(_settings(portal_url="http://portal.example")).status == "missing"


def test_in_development_the_demo_portal_is_there_and_with_your_own_documents_none(tmp_path: Path):
    assert portal(_settings(data_dir=tmp_path)).found == "the demo portal starts with the server"
    own = _settings(data_dir=tmp_path, docs=tmp_path)
    assert portal(own).found.startswith("none")
    assert sign_in(own).found == "off: there is no portal"


def test_sign_in_is_told_with_its_sender_and_its_keys(tmp_path: Path):
    found = sign_in(_settings(data_dir=tmp_path))
    assert found.found == (
        f"codes are files in {tmp_path / 'outbox'}; "
        "credential keys: one in the data directory, made at the start"
    )
    assert list(tmp_path.iterdir()) == []
    key = Fernet.generate_key().decode()
    webhook = sign_in(
        _settings(
            portal_url="http://portal.example",
            credential_keys=[key],
            sign_in_sender="webhook",
            sign_in_webhook_url="https://user:secret@sms.example/send?token=hidden",
            sign_in_webhook_secret="whsec_" + "A" * 43 + "=",
        )
    )
    assert webhook.status == "ok", webhook
    assert webhook.found.endswith("credential keys: 1 of your own")
    assert all(each not in str(webhook) for each in (key, "hidden", ":secret"))


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"credential_keys": ["no key"]}, "credential_keys"),
        ({"sign_in_sender": "webhook"}, "sign_in_webhook_url"),
        ({"environment": "production", "portal_url": "http://p.example"}, "credential_keys"),
    ],
)
def test_settings_with_which_nobody_could_sign_in_are_broken(given: dict[str, Any], named: str):
    found = sign_in(_settings(**given))
    assert found.status == "broken"
    assert named in found.found
