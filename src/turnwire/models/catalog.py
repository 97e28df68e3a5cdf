"""A chat model by its name: ``quoting``, ``openai:NAME``, ``anthropic:NAME``, ``PROVIDER:NAME``.

chat_model("openai:gpt-5-mini", api_key=key, temperature=0)
upstream(Link(provider="openai", model="gpt-5-mini"), api_key=key)
"""

from typing import Any, Final, cast

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from turnwire.errors import SetupError
from turnwire.models.attempt import Upstream
from turnwire.models.quoting import NAME, Quoting
from turnwire.models.roles import Link, link_of

_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    # langchain-openai wraps each chunk in `asyncio.wait_for`, which loses a cancellation that
    # comes with the chunk on Python 3.11: the call would run, and be paid, to its end.
    "openai": {"stream_usage": True, "stream_chunk_timeout": None},
    "azure_openai": {"stream_usage": True, "stream_chunk_timeout": None},
}
_TIMED: Final = frozenset(_OPTIONS) | {"anthropic"}
"""Providers whose package also ends a call after so many seconds without a byte."""
_KEYLESS: Final = "not-needed"


def chat_model(
    spec: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    quoting: BaseChatModel | None = None,
    **options: Any,  # noqa: ANN401 - each provider has its own
) -> BaseChatModel:
    """Return the model that ``spec`` names; its SDK never tries again by itself.

    Args:
        spec: ``quoting``, or a provider that LangChain knows and a model of it.
        base_url: another server that speaks the provider's protocol.
        api_key: the provider's key, or none to leave that to the provider's package.
        quoting: what to return for ``quoting``; without it, one that compares words only.
        options: more of the provider's own, such as ``temperature``, ``timeout`` (seconds) or
            ``max_tokens``.

    Raises:
        SetupError: the package or the key is missing, or the name is not one; says what to do.
    """
    if spec == NAME:
        return quoting or Quoting()
    provider = link_of(spec).provider
    wanted = {"max_retries": 0, **_OPTIONS.get(provider, {}), **options}
    if base_url is not None:
        wanted["base_url"] = base_url
        api_key = api_key or (_KEYLESS if provider == "openai" else None)
    if api_key is not None:
        wanted["api_key"] = api_key
    return _with_key(_made(spec, wanted), spec)


def upstream(
    link: Link, *, api_key: str | None = None, quoting: BaseChatModel | None = None
) -> Upstream:
    """Return what a gateway calls for ``link``; see :func:`chat_model` for the rest.

    Raises:
        SetupError: the package or the key is missing, or the name is not one.
    """
    is_offline = link.spec == NAME
    timed = {"timeout": link.timeout} if link.provider in _TIMED else {}
    model = chat_model(link.spec, base_url=link.base_url, api_key=api_key, quoting=quoting, **timed)
    return Upstream(
        name=link.name,
        label=link.spec,
        key=f"{link.spec} {link.base_url or ''} {link.api_key_env or ''}",
        model=model,
        price=link.price,
        timeout=None if is_offline else link.timeout,
        may_be_silent=is_offline,
    )


def model_name(spec: str) -> str:
    """Return the name that clients read: ``gpt-5`` of ``openai:gpt-5``."""
    return spec.partition(":")[2] or spec


def _made(spec: str, wanted: dict[str, Any]) -> BaseChatModel:
    try:
        return cast("BaseChatModel", init_chat_model(spec, **wanted))
    except ImportError as error:
        raise SetupError(f"The model '{spec}' needs a package: {error}") from error
    except Exception as error:  # each provider's package complains in its own way
        if _is_about_keys(str(error)):
            raise _keyless(spec) from error
        # Not the text: a provider's complaint may quote the key.
        raise SetupError(
            f"The model '{spec}' cannot be used ({type(error).__name__}); check the provider, the "
            "model's name and the settings that go with it."
        ) from error


def _with_key(model: BaseChatModel, spec: str) -> BaseChatModel:
    for field in type(model).model_fields:
        key = getattr(model, field, None) if field.endswith("api_key") else None
        if isinstance(key, SecretStr) and not key.get_secret_value():
            raise _keyless(spec)
    return model


def _is_about_keys(complaint: str) -> bool:
    return any(each in complaint.lower() for each in ("api_key", "api key", "credentials"))


def _keyless(spec: str) -> SetupError:
    provider = spec.partition(":")[0]
    return SetupError(
        f"The model '{spec}' needs an API key: set it in turnwire's settings or in the variable "
        f"{provider.upper()}_API_KEY, or choose the model 'quoting', which needs none."
    )
