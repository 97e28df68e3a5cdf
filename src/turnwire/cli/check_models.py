"""What ``turnwire doctor`` says about the models: each role's chain, its keys, who is reachable."""

import re
from typing import Final

import httpx
from langchain_core.language_models import BaseChatModel
from pydantic import ValidationError

from turnwire.cli.check import Check, Status
from turnwire.errors import SetupError
from turnwire.models.catalog import upstream
from turnwire.models.quoting import NAME as QUOTING
from turnwire.models.roles import ANSWER, Link, Role
from turnwire.settings import Settings

_REACH_SECONDS: Final = 3.0
_USER: Final = re.compile(r"(?<=://)[^/\s]*@")
"""Name and password in a URL."""


def model(settings: Settings) -> Check:
    """Return the check of who answers."""
    if settings.agent is not None:
        return Check("model", "ok", "not used: you serve a graph of your own")
    return chain(settings, role=ANSWER)


def chain(settings: Settings, *, role: Role) -> Check:
    """Return the check of one role's chain: whether it can be used, and who of it is reachable."""
    name = "model" if role == ANSWER else f"model {role}"
    try:
        links = settings.chains[role]
    except SetupError as error:
        return Check(name, "broken", str(error), _step(settings, role))
    looked = [_link(settings, each) for each in links]
    numbered = [text for _, text in looked]
    if len(looked) > 1:
        numbered = [f"{at}. {text}" for at, text in enumerate(numbered, 1)]
    if role != ANSWER:
        numbered.append("no agent that ships asks it")
    return _summed(name, [status for status, _ in looked], numbered, _step(settings, role))


def public(text: str) -> str:
    """Return a setting without what may be secret where it is a URL: user, password, query."""
    return _without_user(text.split("?", 1)[0] if "://" in text else text)


def _summed(name: str, found: list[Status], texts: list[str], step: str) -> Check:
    text = "; ".join(texts)
    if "broken" in found or "missing" in found:
        return Check(name, "missing" if "broken" not in found else "broken", text, step)
    if "warning" not in found:
        return Check(name, "ok", text)
    # Somebody else answers as long as one is there.
    status: Status = "warning" if "ok" in found else "broken"
    return Check(name, status, text, "check the base_url and the network")


def _step(settings: Settings, role: Role) -> str:
    if role in settings.roles:
        return f"correct roles.{role} in turnwire.toml, or set the variable that it names"
    return "set TURNWIRE_MODEL and TURNWIRE_MODEL_API_KEY, or use the model 'quoting'"


def _link(settings: Settings, link: Link) -> tuple[Status, str]:
    """Return how one model of a chain is, and the words for it."""
    try:
        key = settings.key_of(link)
    except SetupError:
        return "missing", f"{link.spec}: {link.api_key_env} is not set"
    try:
        made = upstream(link, api_key=key).model
    except SetupError as error:
        return "broken", _complaint(error, link, key)
    if link.spec == QUOTING:
        return "ok", f"{QUOTING}: offline, quotes the evidence"
    said = f", {link.api_key_env} is set" if link.api_key_env else ""
    address = link.base_url or _provider(made)
    if address is None:
        return "ok", f"{link.spec}; the provider's own address, not tried{said}"
    shown = f"{link.spec} at {public(address)}"
    try:
        # Without a key and a prompt: any answer, also a 401, says that somebody is there.
        httpx.head(httpx.URL(address).copy_with(userinfo=b""), timeout=_REACH_SECONDS)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return "warning", f"{shown}: {type(error).__name__}{said}"
    return "ok", f"{shown}, reachable{said}"


def _provider(model: BaseChatModel) -> str | None:
    """Return the address that a provider's package calls, where it tells."""
    client = getattr(model, "root_client", None)
    for holder, name in ((client, "base_url"), (model, "anthropic_api_url"), (model, "base_url")):
        address = getattr(holder, name, None)
        if isinstance(address, str | httpx.URL) and str(address):
            return str(address)
    return None


def _complaint(error: SetupError, link: Link, key: str | None) -> str:
    """Return what is wrong with the model, without what pydantic shows of its input."""
    if isinstance(error.__cause__, ValidationError):
        found = [
            f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.__cause__.errors()
        ]
        text = f"the model '{link.spec}' can't be used: {'; '.join(found)}"
    else:
        text = str(error).split("\n", 1)[0]
    if key:
        text = text.replace(key, "(hidden)")
    return _without_user(text)


def _without_user(text: str) -> str:
    return _USER.sub("", text)
