"""How the members' portal and their sign-in stand: for ``turnwire doctor``."""

from typing import Final

import httpx

from turnwire.app import has_demo_portal, sign_in_trouble
from turnwire.cli.check import Check
from turnwire.cli.check_models import public
from turnwire.cli.serving import serving_from
from turnwire.client.connection import is_loopback
from turnwire.settings import Settings

_REACH_SECONDS: Final = 3.0
_NOBODY: Final = "+447700900999"
"""Reserved for drama (Ofcom): no portal has a member of this number."""


def portal(settings: Settings) -> Check:
    """Return whether the portal answers a service call; a number that is nobody's is asked for."""
    name, url = "portal", settings.portal_url
    if url is None:
        if has_demo_portal(settings):
            running = serving_from(settings.data_dir) is not None
            state = "runs beside the server" if running else "starts with the server"
            return Check(name, "ok", f"the demo portal {state}")
        return Check(name, "ok", "none: no member agent, and nobody can sign in")
    key = settings.portal_service_key
    if key is None:
        return Check(name, "missing", "no service key", "set portal_service_key")
    shown = public(url)
    answer = _asked(url, key)
    if answer is None:
        return Check(name, "warning", f"{shown} can't be reached", "start it, or set portal_url")
    if answer.status_code in (401, 403):
        return Check(name, "broken", f"{shown} refuses the service key", "set portal_service_key")
    if not _is_a_portals(answer):
        found = f"{shown} does not answer as a portal does (status {answer.status_code})"
        return Check(name, "broken", found, "set portal_url")
    return Check(name, "ok", f"{shown} answers and takes the service key")


def _asked(url: str, key: str) -> httpx.Response | None:
    try:
        return httpx.post(
            f"{url.rstrip('/')}/service/members",
            json={"mobile": _NOBODY},
            headers={"authorization": f"Bearer {key}"},
            timeout=_REACH_SECONDS,
            trust_env=not is_loopback(httpx.URL(url).host),  # as the server calls it
        )
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeEncodeError):
        return None


def _is_a_portals(answer: httpx.Response) -> bool:
    try:
        return answer.status_code == 200 and isinstance(answer.json()["known"], bool)
    except (ValueError, KeyError, TypeError):
        return False


def sign_in(settings: Settings) -> Check:
    """Return whether members can sign in: how codes reach them, and what seals credentials."""
    if settings.portal_url is None and not has_demo_portal(settings):
        return Check("sign-in", "ok", "off: there is no portal")
    trouble = sign_in_trouble(settings)
    if trouble is not None:
        return Check("sign-in", "broken", trouble, "correct the setting that is named")
    if settings.sign_in_sender == "outbox":
        codes = f"codes are files in {settings.data_dir / 'outbox'}"
    else:
        codes = f"codes go to {public(settings.sign_in_webhook_url or '')}"
    given = len(settings.credential_keys)
    keys = f"{given} of your own" if given else "one in the data directory, made at the start"
    return Check("sign-in", "ok", f"{codes}; credential keys: {keys}")
