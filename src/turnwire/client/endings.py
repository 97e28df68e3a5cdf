"""How a turn stands when nothing more comes."""

from dataclasses import dataclass
from typing import TypeAlias

from turnwire.client.errors import ClientError
from turnwire.events import Usage
from turnwire.wires.answer_frames import AuthRequired, ConfirmationRequired, OpenQuestion


@dataclass(frozen=True, slots=True)
class Completed:
    """The turn has ended, and its answer is whole."""

    finish_reason: str
    """``stop``, ``no_match``, ``refused`` …: an open set, see ``docs/http.md``."""
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Paused:
    """The turn waits for a person and goes on later, as the same message."""

    kind: str
    """``confirmation``, ``sign_in``, ``review``, ``input`` or ``approval``: an open set."""
    confirmations: tuple[ConfirmationRequired, ...] = ()
    sign_in: AuthRequired | None = None
    questions: tuple[OpenQuestion, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn has failed; what was said so far is all there is."""

    code: str
    message: str
    retryable: bool
    error_id: str | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """The turn could not be heard to its end; where it was begun, it may go on at the server."""

    error: ClientError


Ending: TypeAlias = Completed | Paused | Failed | Broken
