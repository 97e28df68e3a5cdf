"""Read what an operator may set, once, into a frozen value.

Each setting is also a variable ``TURNWIRE_<NAME>`` and a line of ``turnwire.toml`` in the working
directory; the command line wins over the environment, the environment over the file.
"""

import ipaddress
import tomllib
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from turnwire.errors import SetupError


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
    """Where everything is kept: ``turnwire.db``, ``checkpoints.db``, ``index.db``."""
    store: Literal["sqlite", "memory"] = "sqlite"
    """``memory`` forgets everything when the process ends."""
    checkpointer: Literal["sqlite", "memory"] | None = None
    """Where LangGraph keeps its checkpoints; none: where the store is."""
    docs: Path | None = None
    """A folder of your own documents to answer from, instead of the shipped leaflets."""
    agent: str | None = None
    """``package.module:graph``: serve this graph instead of the shipped agents."""
    policy: Path | None = None
    """The guardrail policy (YAML); none: the shipped one that fits the documents."""

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

    hitl: bool = True
    """Whether risky drafts wait for a reviewer."""
    review_expires_seconds: float = Field(default=7 * 24 * 3600, gt=0)
    """How long a draft waits for its reviewer."""
    if_busy: Literal["reject", "enqueue", "interrupt"] = "reject"
    """What a second message does while the conversation's turn runs."""

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
    key_prefix: str = Field(default="tw", pattern=r"^[a-z]+$")
    """What API keys begin with."""

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

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
