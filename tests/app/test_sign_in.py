"""What settings of sign-in are taken, and what is said about the others."""

from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from turnwire.app.sign_in import sign_in_service
from turnwire.clock import system_now
from turnwire.errors import SetupError
from turnwire.settings import Settings, read
from turnwire.sign_in.service import SignInService
from turnwire.storage.memory import MemoryStore

KEY = Fernet.generate_key().decode()
PORTAL: dict[str, object] = {
    "portal_url": "http://127.0.0.1:1",
    "portal_service_key": "CANARY-service",
}
WEBHOOK: dict[str, object] = {
    "sign_in_sender": "webhook",
    "sign_in_webhook_url": "https://sms.example.org/codes",
    "sign_in_webhook_secret": "whsec_" + "QUJD" * 8,
}
PRODUCTION: dict[str, object] = {**PORTAL, "environment": "production"}


def _service(settings: Settings) -> SignInService | None:
    return sign_in_service(settings, MemoryStore(), now=system_now)


def test_without_a_portal_nobody_signs_in_whatever_else_is_set():
    assert _service(read()) is None
    assert _service(read(environment="production")) is None


@pytest.mark.parametrize(
    "given",
    [
        PORTAL,
        PORTAL | WEBHOOK,
        PORTAL | {"credential_keys": [KEY]},
        PRODUCTION | WEBHOOK | {"credential_keys": [KEY, KEY]},
    ],
)
def test_settings_that_fit_make_a_service(given: dict[str, object], tmp_path: Path):
    assert _service(read(data_dir=tmp_path, **given)) is not None


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"portal_url": "http://127.0.0.1:1"}, "set portal_service_key"),
        (PRODUCTION, "set credential_keys"),
        (
            PRODUCTION | {"credential_keys": [KEY]},
            "'outbox' is for development; set sign_in_sender to 'webhook'",
        ),
        (PORTAL | {"sign_in_sender": "webhook"}, "needs sign_in_webhook_url and"),
        (PORTAL | {"credential_keys": [KEY, "CANARY"]}, "number 2 is no key"),
        (PORTAL | WEBHOOK | {"sign_in_webhook_secret": "CANARY"}, "whsec_ and 24 to 64 bytes"),
        (PORTAL | {"portal_url": "ftp://x"}, "portal_url"),
        (PORTAL | WEBHOOK | {"sign_in_webhook_url": "sms.example.org"}, "sign_in_webhook_url"),
        (PORTAL | {"portal_service_key": "a\nb"}, "portal_service_key: .*printable ASCII"),
        (PORTAL | {"sign_in_codes": 0}, "sign_in_codes"),
    ],
)
def test_a_setting_that_does_not_fit_is_named_and_no_secret_is_repeated(
    given: dict[str, object], says: str
):
    with pytest.raises(SetupError, match=says) as refused:
        _service(read(**given))
    assert "CANARY" not in str(refused.value)


def test_secrets_are_in_no_text_of_the_settings():
    given = PORTAL | WEBHOOK | {"credential_keys": [KEY]}
    told = repr(read(**given))
    assert not [each for each in (KEY, "CANARY", "whsec_") if each in told]
