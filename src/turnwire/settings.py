"""Read what an operator may set, once, into a frozen value.

Each setting is also a variable ``TURNWIRE_<NAME>`` and a line of ``turnwire.toml`` in the working
directory; the command line wins over the environment, the environment over the file.
"""

import ipaddress
import os
import re
import tomllib
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from turnwire.admission.api_keys import MAX_PER_MINUTE
from turnwire.errors import SetupError
from turnwire.models.roles import ANSWER, Chain, Link, Role, link_of
from turnwire.nodes.tools.mcp_server import McpServer

_ORIGIN: Final = re.compile(
    r"[a-z][a-z0-9+.-]*://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?", re.ASCII
)
"""RFC 6454, section 6.2, as browsers write it: lower case, no user, no path."""


class Settings(BaseSettings):
    """Everything an operator may set; times are in seconds."""

    model_config = SettingsConfigDict(
        env_prefix="TURNWIRE_", toml_file="turnwire.toml", frozen=True, extra="forbid"
    )

    environment: Literal["development", "production"] = "development"
    """``production`` takes ``live`` keys only and keeps exception messages out of the log."""
    host: str = "127.0.0.1"
    """The address to listen on; other than loopback, every route but health needs a key."""
    port: int = Field(default=8000, ge=0, le=65535)
    """The port to listen on; 0 takes a free one."""
    data_dir: Path = Path(".turnwire")
    """Where ``turnwire.db``, ``checkpoints.db``, ``memory.db`` and ``index.db`` are kept."""
    store: Literal["sqlite", "memory"] = "sqlite"
    """``memory`` forgets everything when the process ends."""
    checkpointer: Literal["sqlite", "memory"] | None = None
    """Where LangGraph keeps its checkpoints; none: where the store is."""
    docs: Path | None = None
    """A folder of your own documents to answer from, instead of the shipped leaflets."""
    agent: str | None = None
    """``package.module:graph``: serve this graph instead of the shipped agents."""
    policy: str | None = None
    """The guardrail policy: ``health``, ``insurance``, ``docs`` or a file; none: what fits."""

    mcp_servers: dict[str, McpServer] = {}
    """MCP servers whose tools are used, by name; JSON in a variable, a table in the file. Their
    tools are ``write`` and wait for the member's confirmation, unless ``risk`` or ``risks`` says
    that they only read."""
    reranker: str | None = None
    """``package.module:factory``: a function that returns ``(query, texts) -> scores``."""
    model: str = "quoting"
    """``quoting`` (offline), ``openai:NAME``, ``anthropic:NAME`` or any LangChain provider."""
    model_base_url: str | None = None
    """Another server that speaks the provider's protocol."""
    model_api_key: str | None = Field(default=None, repr=False)
    """The provider's key; none: the variable that the provider's own package reads."""

    extra_models: tuple[str, ...] = ()
    """More models that a request may choose by ``model``; each reads its key from its variable."""

    roles: dict[Role, Chain] = Field(default_factory=dict[Role, Chain])
    """Chains of models by role, the first that answers is taken; ``answer`` replaces ``model``."""
    model_patience_seconds: float = Field(default=2, ge=0)
    """How long an answer waits in all for providers that ask to be left alone for a moment."""
    turn_tokens: int | None = Field(default=None, gt=0)
    """Tokens that the model calls of one turn may take together; none: no limit."""
    turn_usd: float | None = Field(default=None, gt=0)
    """US dollars that they may cost, by the prices in ``roles``; none: no limit."""

    hitl: bool = True
    """Whether risky drafts wait for a reviewer."""
    review_expires_seconds: float = Field(default=7 * 24 * 3600, gt=0)
    """How long a draft waits for its reviewer."""
    if_busy: Literal["reject", "enqueue", "interrupt"] = "reject"
    """What a second message does while the conversation's turn runs."""

    session_header: str = Field(default="X-Turnwire-Session", pattern=r"^[A-Za-z0-9-]{1,64}$")
    """The header in which an application presents its member's session."""
    session_seconds: float = Field(default=30 * 24 * 3600, ge=1)
    """How long a member's session lives after it was last used."""
    anonymous_seconds: float = Field(default=24 * 3600, ge=1)
    """How long a conversation of somebody without a session is kept after its last message."""
    user_header: str = Field(default="X-Turnwire-User", pattern=r"^[A-Za-z0-9-]{1,64}$")
    """The header in which an application with the scope ``studio`` names its staff user."""
    ws_secret: str | None = Field(default=None, min_length=32, repr=False)
    """What socket tokens are signed with; none: a secret is made in the data directory."""
    redis_url: str | None = Field(default=None, pattern=r"^(rediss?|unix)://", repr=False)
    """Where workers share which socket tokens were used, and staff's rates; none: each has its
    own."""
    staff_messages_per_minute: int = Field(default=30, gt=0, le=MAX_PER_MINUTE)
    """Messages of one staff user in a minute, over all of their sockets."""
    max_sockets: int = Field(default=10_000, gt=0)
    """Sockets that are open in this process at once; more are refused with 503."""
    socket_patience_seconds: float = Field(default=10, gt=0)
    """How long a client of a socket may not read what waits for it; then it closes with 1013."""

    member_messages: int | None = Field(default=None, gt=0)
    """Messages of one member in a window; none: no limit."""
    member_tokens: int | None = Field(default=None, gt=0)
    """Tokens of one member in a window, read and written together; none: no limit."""
    member_window_seconds: float = Field(default=24 * 3600, ge=1)
    """How long a member's window is; windows begin at multiples of it since 1970 in UTC."""
    key_messages: int | None = Field(default=None, gt=0)
    """Messages of one API key in a window, those of its members included; none: no limit."""
    key_tokens: int | None = Field(default=None, gt=0)
    """Tokens of one API key in a window, those of its members included; none: no limit."""
    key_window_seconds: float = Field(default=24 * 3600, ge=1)
    """How long a key's window is."""
    held_tokens: int = Field(default=4000, gt=0)
    """Tokens that a turn counts for until it has ended; ``turn_tokens``, where set, is taken."""

    portal_url: str | None = Field(default=None, pattern=r"^https?://[^\s?#]+$")
    """The members' portal, which knows them; none: in development, a demo portal is started beside
    the server, and elsewhere nobody can sign in."""
    portal_service_key: str | None = Field(default=None, repr=False)
    """The key by which the portal knows the server; the demo portal has one of its own."""
    credential_keys: tuple[str, ...] = Field(default=(), repr=False)
    """Keys that seal members' credentials: the first seals, all of them open. Without any, a key is
    made in the data directory, but not in production."""
    sign_in_sender: Literal["outbox", "webhook"] = "outbox"
    """How a one-time code is sent: as a file under `outbox/` in the data directory, for
    development, or by a webhook."""
    sign_in_webhook_url: str | None = Field(default=None, pattern=r"^https?://[^\s#]+$")
    """Where codes are posted to."""
    sign_in_webhook_secret: str | None = Field(default=None, repr=False)
    """What signs them, as Standard Webhooks write it: `whsec_` and 24 to 64 bytes in base64."""
    sign_in_codes: int = Field(default=5, gt=0)
    """One-time codes for one number, and for one session, in a window."""
    sign_in_codes_per_address: int = Field(default=100, gt=0)
    """One-time codes for one client address in a window."""
    sign_in_window_seconds: float = Field(default=3600, ge=1)
    """How long that window is."""

    turn_seconds: float = Field(default=300, gt=0)
    """How long one run of a turn may take; people's waiting does not count."""
    node_seconds: float = Field(default=120, gt=0)
    """How long one node may take."""
    recursion_limit: int = Field(default=50, gt=0)
    """Super-steps of one run at the most."""
    max_turns: int = Field(default=6000, gt=0)
    """Turns that run in this process at once; more are refused with 503."""
    heartbeat_seconds: float = Field(default=15, gt=0)
    """After how much silence a stream says that it is alive."""
    disconnect_grace_seconds: float = Field(default=10, ge=0)
    """How long a turn that nobody follows goes on; 0: it is cancelled at once."""
    drain_seconds: float = Field(default=20, ge=0)
    """How long running turns may take to end when the process is told to."""
    pace_seconds: float = Field(default=0.005, ge=0)
    """Frames that come faster than this leave together in one write; 0: each on its own."""
    log_format: Literal["json", "text"] = "json"
    """How a log line looks: ``json`` for machines, ``text`` for people."""
    trace_content: bool = False
    """Whether spans have prompts, answers and tools' arguments, with private details taken out."""
    key_prefix: str = Field(default="tw", pattern=r"^[a-z]+$")
    """What API keys begin with."""
    key_requests_per_minute: int = Field(default=6000, gt=0, le=MAX_PER_MINUTE)
    """Requests in a minute of an API key that was made without a limit of its own."""
    cors_origins: tuple[str, ...] = ()
    """Origins whose scripts may read answers, such as `https://app.example.org`; exact ones."""
    document_base_url: str | None = Field(default=None, pattern=r"^https?://[^\s?#]+$")
    """Where members read documents: a citation's `url` on the answer wire is this, `/`, and the
    document's id. Without it, citations have none."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses and networks of proxies whose `X-Forwarded-For` and `-Proto` are believed."""

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def chains(self) -> dict[Role, Chain]:
        """The chain of each role; without roles, ``model`` is a chain of one.

        Raises:
            SetupError: ``model`` names no model.
        """
        if ANSWER in self.roles:
            return dict(self.roles)
        return {ANSWER: (link_of(self.model, base_url=self.model_base_url),), **self.roles}

    def key_of(self, link: Link) -> str | None:
        """Return a link's key; none where its provider's own package looks for one.

        Raises:
            SetupError: the variable that the link names is not set.
        """
        if link.api_key_env is None:
            is_model = ANSWER not in self.roles and link in self.chains[ANSWER]
            return self.model_api_key if is_model else None
        key = os.environ.get(link.api_key_env)  # noqa: TID251 - this is the one place
        if not key:
            raise SetupError(f"{link.spec} needs its key: set the variable {link.api_key_env}")
        return key

    @field_validator("cors_origins")
    @classmethod
    def _exact_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for each in origins:
            if not _ORIGIN.fullmatch(each):
                raise ValueError(
                    f"{each!r} is no origin; write it as a browser sends it, such as "
                    "https://app.example.org or http://localhost:5173, without a path and without *"
                )
        return origins

    @field_validator("portal_service_key")
    @classmethod
    def _fits_a_header(cls, key: str | None) -> str | None:
        if key is not None and not (key and key.isascii() and key.isprintable()):
            raise ValueError("has to be printable ASCII, and not empty")
        return key

    @field_validator("trusted_proxies")
    @classmethod
    def _addresses(cls, proxies: tuple[str, ...]) -> tuple[str, ...]:
        for each in proxies:
            try:
                ipaddress.ip_network(each)
            except ValueError:
                raise ValueError(
                    f"{each!r} is neither an address such as 10.0.0.7 nor a network such as "
                    "10.0.0.0/8"
                ) from None
        return proxies

    @model_validator(mode="after")
    def _one_answer_model(self) -> "Settings":
        twice = self.model_fields_set & {"model", "model_base_url", "model_api_key"}
        if ANSWER in self.roles and twice:
            raise ValueError(f"roles.answer says who answers: leave out {', '.join(sorted(twice))}")
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return where settings come from, the strongest first."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


class _OtelVariables(BaseSettings):
    """The standard variables that say whether traces are wanted."""

    model_config = SettingsConfigDict(env_prefix="OTEL_", frozen=True, extra="ignore")

    sdk_disabled: str = ""
    traces_exporter: str = ""
    exporter_otlp_endpoint: str = ""
    exporter_otlp_traces_endpoint: str = ""
    exporter_otlp_protocol: str = ""
    exporter_otlp_traces_protocol: str = ""


def traces_endpoint() -> str:
    """Return where traces are sent by OTLP: the variables' address, or the standard one."""
    said = _OtelVariables()
    given = said.exporter_otlp_traces_endpoint or said.exporter_otlp_endpoint
    return given or "http://localhost:4318"


def wanted_traces() -> Literal["otlp", "console"] | None:
    """Return where the standard ``OTEL_*`` variables want traces, or none: they are off.

    Raises:
        SetupError: they want what turnwire can't do; the text says what it can.
    """
    said = _OtelVariables()
    endpoint = said.exporter_otlp_traces_endpoint or said.exporter_otlp_endpoint
    exporter = said.traces_exporter.strip().lower() or ("otlp" if endpoint else "none")
    if exporter == "none" or said.sdk_disabled.strip().lower() == "true":
        return None
    if exporter == "console":
        return "console"
    if exporter != "otlp":
        raise SetupError(f"OTEL_TRACES_EXPORTER is {exporter!r}; use 'otlp', 'console' or 'none'")
    protocol = said.exporter_otlp_traces_protocol or said.exporter_otlp_protocol
    if protocol not in ("", "http/protobuf"):
        raise SetupError(
            f"OTEL_EXPORTER_OTLP_PROTOCOL is {protocol!r}; turnwire sends 'http/protobuf', which "
            "collectors take on port 4318"
        )
    return "otlp"


def read(**given: object) -> Settings:
    """Return the settings; ``given`` are the command line's, where none means not given.

    Raises:
        SetupError: a setting is not usable; the text names it.
    """
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})  # pyright: ignore[reportArgumentType]
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise SetupError(f"turnwire.toml can't be read: {error}") from None
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        raise SetupError("settings: " + "; ".join(wrong)) from None
