"""The sockets of staff, as the settings want them."""

import logging
import os
import secrets
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Final

from fastapi import FastAPI

from turnwire.admission.rates import LocalRates, Rates
from turnwire.admission.shared import Shared
from turnwire.admission.ws_tokens import LocalUses, Uses
from turnwire.app.policies import access_policy
from turnwire.clock import Now
from turnwire.errors import SetupError
from turnwire.server import socket, studio
from turnwire.server.access import Access
from turnwire.server.answer import Answers
from turnwire.server.key_watch import KeyWatch
from turnwire.server.socket import SocketPolicy, Sockets
from turnwire.server.stream import Streams
from turnwire.server.studio_turns import StudioPolicy, StudioTurns
from turnwire.server.turns import Turns
from turnwire.settings import Settings
from turnwire.sign_in.private_file import write_private
from turnwire.storage.base import KeyStore
from turnwire.telemetry.catalog import SOCKETS_OPEN
from turnwire.telemetry.metrics import Metrics

SECRET_FILE: Final = "ws.key"

_LOG: Final = logging.getLogger("turnwire.server")


def mount(  # noqa: PLR0913 - the parts that all routes share
    app: FastAPI,
    settings: Settings,
    *,
    access: Access,
    turns: Turns,
    answers: Answers,
    streams: Streams,
    keys: KeyStore,
    watch: KeyWatch,
    counted: Metrics,
    now: Now,
) -> Callable[[], Awaitable[None]] | None:
    """Add the routes of staff: the token, and the socket that it opens.

    Returns what is called at the end, if anything.

    Raises:
        SetupError: the package for Redis is not installed.
    """
    secret = _secret(settings)
    uses, rates, close = _counts(settings, counted)
    turns_of_staff = StudioTurns(
        turns,
        answers,
        rates=rates,
        policy=StudioPolicy(per_minute=settings.staff_messages_per_minute),
        now=now,
        erred=counted.erred,
    )
    sockets = Sockets(
        turns_of_staff,
        streams,
        keys,
        uses=uses,
        watch=watch,
        policy=SocketPolicy(
            secret=secret,
            origins=settings.cors_origins,
            operator=access_policy(settings).cookies,
            most=settings.max_sockets,
            patience=settings.socket_patience_seconds,
        ),
        now=now,
    )
    app.include_router(studio.router(access, secret, uses=uses, now=now))
    socket.mount(app, sockets)
    counted.watch(SOCKETS_OPEN, lambda: sockets.open)
    return close


def _counts(
    settings: Settings, counted: Metrics
) -> tuple[Uses, Rates, Callable[[], Awaitable[None]] | None]:
    """Return which tokens were used, how many messages were sent, and what closes both."""
    uses, rates = LocalUses(), LocalRates()
    if settings.redis_url is None:
        return uses, rates, None
    try:
        from turnwire.storage.redis import SharedCounts  # noqa: PLC0415 - an extra
    except ImportError:
        raise SetupError("redis_url needs a package: pip install 'turnwire[redis]'") from None
    counts = SharedCounts(settings.redis_url)
    shared = Shared(counts, uses=uses, rates=rates, failed=counted.counted_alone)
    return shared.uses, shared.rates, counts.close


def _secret(settings: Settings) -> Callable[[], bytes]:
    """Return what gives the secret; a file is read when the first token is made or shown."""
    given = settings.ws_secret
    if given is not None:
        return given.encode

    @cache
    def own() -> bytes:
        return own_secret(settings.data_dir)

    return own


def own_secret(data_dir: Path) -> bytes:
    """Return the secret in the data directory, which is made where it is missing.

    Raises:
        SetupError: the file has no secret, or others than its owner may read it.
    """
    path = data_dir / SECRET_FILE
    if not path.exists():
        write_private(path, secrets.token_hex(32).encode())
        _LOG.info("made a secret for socket tokens")
    if os.stat(path).st_mode & 0o077:
        raise SetupError(f"{path} may be read by others: chmod 600 {path}")
    secret = path.read_bytes().strip()
    if len(secret) < 32:
        raise SetupError(f"{path} has no secret; delete it, and a new one is made")
    return secret
