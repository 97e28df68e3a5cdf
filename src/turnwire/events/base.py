"""What every event shares."""

from pydantic import BaseModel, ConfigDict


class Fact(BaseModel):
    """A value that never changes; an undeclared field is our bug and fails where it is made."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class BaseEvent(Fact):
    """A fact about a turn, in the past tense."""


def is_none(value: object) -> bool:
    """Whether a later field has nothing to say; then an event looks as it did before it."""
    return value is None
