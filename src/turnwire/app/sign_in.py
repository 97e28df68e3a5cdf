"""Signing in, as the settings want it."""

from pathlib import Path

from turnwire.admission.sign_in import CodePolicy
from turnwire.clock import Now, system_now
from turnwire.errors import SetupError
from turnwire.settings import Settings
from turnwire.sign_in.directory import Directory, PortalDirectory
from turnwire.sign_in.sealing import KEY_FILE, Seals, is_key, own_key
from turnwire.sign_in.senders import Outbox, Sender, Webhook, is_secret
from turnwire.sign_in.service import SignInService
from turnwire.storage.base import Store


def sign_in_service(
    settings: Settings, store: Store, directory: Directory | None = None, *, now: Now
) -> SignInService | None:
    """Return what signs members in, or none where nobody knows them.

    Raises:
        SetupError: a setting is missing or not usable; the text says which.
    """
    known = directory or _directory(settings, now)
    if known is None:
        return None
    _check_keys(settings)
    policy = CodePolicy(
        per_number=settings.sign_in_codes,
        per_address=settings.sign_in_codes_per_address,
        window_seconds=settings.sign_in_window_seconds,
    )
    sender = _sender(settings, now)
    return SignInService(
        store, known, sender, seals=lambda: _seals(settings), policy=policy, now=now
    )


def sign_in_trouble(settings: Settings) -> str | None:
    """Return why nobody could sign in with these settings, or none where they fit together."""
    try:
        _check_keys(settings)
        _sender(settings, system_now)
        if not settings.credential_keys and (settings.data_dir / KEY_FILE).exists():
            own_key(settings.data_dir)
    except SetupError as error:
        return str(error)
    return None


def _directory(settings: Settings, now: Now) -> Directory | None:
    if settings.portal_url is None:
        return None
    if settings.portal_service_key is None:
        raise SetupError("portal_url needs the service's key: set portal_service_key")
    return PortalDirectory(settings.portal_url, settings.portal_service_key, now=now)


def _seals(settings: Settings) -> Seals:
    return Seals(settings.credential_keys or [own_key(settings.data_dir)])


def _check_keys(settings: Settings) -> None:
    for place, each in enumerate(settings.credential_keys, start=1):
        if not is_key(each):
            raise SetupError(
                f"credential_keys: number {place} is no key; make one with: python -c 'from "
                "cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'"
            )
    if settings.environment == "production" and not settings.credential_keys:
        raise SetupError(
            "production keeps the key of members' credentials apart from them: set credential_keys"
        )


def outbox_of(settings: Settings) -> Path | None:
    """Return the directory of the codes that are written to files, or none where they are sent."""
    return settings.data_dir / "outbox" if settings.sign_in_sender == "outbox" else None


def _sender(settings: Settings, now: Now) -> Sender:
    outbox = outbox_of(settings)
    if outbox is not None:
        if settings.environment == "production":
            raise SetupError(
                "sign_in_sender: 'outbox' is for development; set sign_in_sender to 'webhook', and "
                "sign_in_webhook_url and sign_in_webhook_secret"
            )
        return Outbox(outbox, now=now)
    url, secret = settings.sign_in_webhook_url, settings.sign_in_webhook_secret
    if url is None or secret is None:
        raise SetupError(
            "sign_in_sender: 'webhook' needs sign_in_webhook_url and sign_in_webhook_secret"
        )
    if not is_secret(secret):
        raise SetupError(
            "sign_in_webhook_secret: has to be whsec_ and 24 to 64 bytes in base64; make one with: "
            'echo "whsec_$(openssl rand -base64 32)"'
        )
    return Webhook(url, secret, now=now)
