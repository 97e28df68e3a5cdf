"""What a client sends over a socket: one JSON object a text message, parsed strictly."""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, NoReturn, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError, field_validator

from turnwire.errors import InvalidMessage
from turnwire.server.bodies import MAX_MESSAGE
from turnwire.server.fields import Given, Identifier, Text
from turnwire.server.negotiation import LOCALE
from turnwire.server.problems import invalid

MAX_BYTES: Final = 524_288
"""Of a message, in UTF-8; a longer one is refused."""
MAX_WHOLE_BYTES: Final = 1_048_576
"""A message that is longer than this is not read: the socket closes with 1009."""


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Chat(_Message):
    """``chat``: begin a turn in the session's conversation."""

    type: Literal["chat"]
    message: Text
    agent: Identifier | None = None
    """None: the conversation's, or in a new one the server's first."""
    locale: Annotated[str, Field(pattern=LOCALE)] | None = None
    client_message_id: Identifier | None = None
    """The same message sent again under it joins the turn that it began."""

    @field_validator("message")
    @classmethod
    def _says_something(cls, message: str) -> str:
        if not message.strip():
            raise ValueError("is empty")
        if len(message) > MAX_MESSAGE:
            raise ValueError(f"is over its limit of {MAX_MESSAGE} characters")
        return message

    @property
    def ref(self) -> str | None:
        """What an error about it names."""
        return self.client_message_id

    def digest(self) -> str:
        """Return a hash of what is asked, by which a repetition is known."""
        asked = self.model_dump_json(exclude={"type", "client_message_id"})
        return hashlib.sha256(asked.encode()).hexdigest()


class ApprovalResponse(_Message):
    """``approval_response``: answer an ``approval_request``, once."""

    type: Literal["approval_response"]
    approval_id: Identifier
    approved: StrictBool
    edited_params: dict[str, Given] | None = None
    """What is to be done instead; of a graph's own question, the answer; of a review, with
    ``edited_text`` the text to send."""

    @property
    def ref(self) -> str | None:
        """What an error about it names."""
        return self.approval_id


class Resume(_Message):
    """``resume``: hear a turn from after an event, whichever connection or device began it."""

    type: Literal["resume"]
    turn_id: Identifier
    after: Annotated[int, Field(ge=0, lt=10**12, strict=True)] = 0
    """The ``seq`` of the last frame that was heard; 0: the whole turn."""

    @property
    def ref(self) -> str | None:
        """What an error about it names."""
        return self.turn_id


class Cancel(_Message):
    """``cancel``: stop a turn that runs or waits; its ``done`` says whether it was stopped."""

    type: Literal["cancel"]
    turn_id: Identifier

    @property
    def ref(self) -> str | None:
        """What an error about it names."""
        return self.turn_id


class Ping(_Message):
    """``ping``: answered with ``pong`` at once, whatever else goes on."""

    type: Literal["ping"]


Request: TypeAlias = Chat | ApprovalResponse | Resume | Cancel
"""A message that takes a while."""

MESSAGES: Final[Mapping[str, type[Request | Ping]]] = {
    "chat": Chat,
    "approval_response": ApprovalResponse,
    "resume": Resume,
    "cancel": Cancel,
    "ping": Ping,
}


def parse(text: str | None) -> Request | Ping:
    """Return what a client said; none stands for a binary message.

    Raises:
        InvalidMessage: it is no message of the studio wire; what is wrong is told, never the value.
    """
    if text is None:
        raise InvalidMessage("A message is text, not binary.")
    if len(text) > MAX_BYTES or len(text.encode(errors="replace")) > MAX_BYTES:
        raise InvalidMessage(f"The message is over its limit of {MAX_BYTES} bytes.")
    try:
        data: Any = json.loads(text, parse_constant=_not_json)
    except (ValueError, RecursionError):
        raise InvalidMessage("The message is not JSON.") from None
    kind = cast("Mapping[str, Any]", data).get("type") if isinstance(data, dict) else None
    model = MESSAGES.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise InvalidMessage(f"A message has a `type`: {', '.join(MESSAGES)}.")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        found = [(each["path"], each["reason"]) for each in invalid(error).details]
        raise InvalidMessage(f"This is no `{kind}` message.", *found) from None


def _not_json(name: str) -> NoReturn:
    raise ValueError(name)
