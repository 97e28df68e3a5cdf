"""Which models a role may use: a chain, the first that answers is taken.

[[roles.answer]]
provider = "openai"
model = "gpt-5-mini"
api_key_env = "OPENAI_API_KEY"
timeout = 20
price = { input = 0.25, output = 2.0 }
"""

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from turnwire.errors import SetupError

ANSWER: Final[Literal["answer"]] = "answer"
"""The role whose words the member reads."""
JUDGE: Final[Literal["judge"]] = "judge"
"""The role that says what is in scope where no rule does."""
EXECUTOR: Final[Literal["executor"]] = "executor"
"""The role that chooses tools; its words reach nobody."""

ROUTER: Final[Literal["router"]] = "router"
"""The role that chooses a route, in agents from specs."""
THINKER: Final[Literal["thinker"]] = "thinker"
"""The role that plans what to call, in agents from specs; its words are reasoning for staff."""

_OFFLINE: Final = "quoting"
_MILLION: Final = 1_000_000


class Price(BaseModel):
    """US dollars for a million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(default=0, ge=0, allow_inf_nan=False)
    output: float = Field(default=0, ge=0, allow_inf_nan=False)

    def of(self, tokens_in: int, tokens_out: int) -> float:
        """Return the US dollars that a call cost."""
        return (tokens_in * self.input + tokens_out * self.output) / _MILLION


FREE: Final = Price()


class Link(BaseModel):
    """One model of a chain."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str = Field(pattern=r"^[a-z0-9_]+$")
    """``openai``, ``anthropic``, any provider that LangChain knows, or ``quoting`` (offline)."""
    model: str = ""
    """The provider's name for it, which clients read too."""
    base_url: str | None = None
    """Another server that speaks the provider's protocol."""
    api_key_env: str | None = Field(default=None, min_length=1)
    """The variable that holds the key; none: the one that the provider's own package reads."""
    timeout: float = Field(default=60, gt=0, allow_inf_nan=False)
    """Seconds until its first sign of an answer, and of silence within it."""
    price: Price = FREE
    """Without a price, its calls cost nothing in ``cost.usd`` and in ``turn_usd``."""

    @property
    def spec(self) -> str:
        """The name that :func:`turnwire.models.catalog.chat_model` takes."""
        return _OFFLINE if self.provider == _OFFLINE else f"{self.provider}:{self.model}"

    @property
    def name(self) -> str:
        """The name that clients read: ``gpt-5`` of ``openai:gpt-5``."""
        return self.model or self.provider

    @model_validator(mode="after")
    def _has_a_model(self) -> "Link":
        if self.provider == _OFFLINE and self.model:
            raise ValueError("the provider 'quoting' has no models: leave 'model' out")
        if self.provider != _OFFLINE and not self.model:
            raise ValueError("name the provider's model in 'model'")
        return self


def link_of(spec: str, *, base_url: str | None = None) -> Link:
    """Return the link that ``quoting`` or ``PROVIDER:NAME`` names.

    Raises:
        SetupError: it names none.
    """
    provider, _, model = spec.partition(":")
    try:
        return Link(provider=provider, model=model, base_url=base_url)
    except ValidationError:
        raise SetupError(
            f"'{spec}' names no model; write 'quoting' or 'provider:name', as in 'openai:gpt-5'."
        ) from None


Role = Literal["answer", "judge", "executor", "router", "thinker"]
"""Each is optional but the answer's."""
Chain = Annotated[tuple[Link, ...], Field(min_length=1)]
