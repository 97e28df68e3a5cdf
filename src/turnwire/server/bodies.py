"""What clients send: read within bounds, parsed strictly, told exactly what is wrong."""

import asyncio
import hashlib
import json
from typing import Annotated, Any, Final, Literal, NoReturn, TypeVar

from fastapi import Request
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    ValidationError,
    model_validator,
)

from turnwire.errors import InvalidRequest, RequestInvalid, RequestTimeout, RequestTooLarge
from turnwire.ids import PauseId
from turnwire.server.fields import Given, Identifier, Text
from turnwire.server.negotiation import LOCALE
from turnwire.server.problems import invalid
from turnwire.work import Channel, Message

M = TypeVar("M", bound=BaseModel)

MAX_BODY: Final = 1_048_576
MAX_BODY_SECONDS: Final = 30.0
"""How long a body may take to come, from its first byte to its last."""
MAX_MESSAGE: Final = 100_000
"""Characters in one message; what an agent accepts of it is its policy's to say."""
MAX_MESSAGES: Final = 200
MAX_FEEDBACK: Final = 10_000
MAX_TYPED: Final = 64
"""Characters of a number or a code."""
TIMEZONE: Final = r"^[A-Za-z0-9_+\-]{1,32}(/[A-Za-z0-9_+\-]{1,32}){0,2}$"
"""The form of a name in the IANA time zone database."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SentMessage(_Body):
    """One message of the request."""

    role: Literal["user", "assistant"]
    content: Text


class ChatRequest(_Body):
    """The body of ``POST /chat``.

    With a ``thread_id`` the conversation's own history is the authority: only the user messages
    at the end of ``messages`` are new, and earlier ones are not read.
    """

    messages: Annotated[list[SentMessage], Field(min_length=1, max_length=MAX_MESSAGES)]
    locale: Annotated[str, Field(pattern=LOCALE)] | None = None
    thread_id: Identifier | None = None
    agent: Identifier | None = None
    model: Annotated[str, Field(max_length=200)] | None = None
    if_busy: Literal["reject", "enqueue", "interrupt"] | None = None

    @model_validator(mode="after")
    def _ends_with_a_question(self) -> "ChatRequest":
        if self.messages[-1].role != "user":
            raise ValueError("messages: the last one has to be the user's")
        if not any(each.content.strip() for each in self.new_messages):
            raise ValueError("messages: the user's message is empty")
        return self

    @property
    def new_messages(self) -> list[SentMessage]:
        """The user messages after the last answer."""
        new: list[SentMessage] = []
        for each in reversed(self.messages):
            if each.role != "user":
                break
            new.append(each)
        return new[::-1]

    def turn_messages(self) -> tuple[Message, ...]:
        """Return what the turn begins with."""
        sent = self.messages if self.thread_id is None else self.new_messages
        return tuple(Message(role=each.role, content=each.content) for each in sent)


class ClientHints(_Body):
    """What a client would like of one turn; hints, never authority."""

    locale: Annotated[str, Field(pattern=LOCALE)] | None = None
    timezone: Annotated[str, Field(pattern=TIMEZONE)] | None = None
    rerank: StrictBool | None = None


class StreamRequest(_Body):
    """The body of ``POST /chat/stream``: one message, to a conversation or to a new one."""

    message: Text
    conversation_id: Identifier | None = None
    agent: Identifier | None = None
    channel: Channel = "app"
    client: ClientHints = ClientHints()

    @model_validator(mode="after")
    def _says_something(self) -> "StreamRequest":
        if not self.message.strip():
            raise ValueError("message: is empty")
        return self

    def turn_messages(self) -> tuple[Message, ...]:
        """Return what the turn begins with."""
        return (Message(role="user", content=self.message),)


class ConfirmAnswer(_Body):
    """The body of ``POST /chat/confirm``.

    Whatever ``decision`` is, only ``approve`` approves: what cannot be read rejects.
    """

    conversation_id: Identifier
    confirmation_id: Identifier
    decision: JsonValue
    feedback: Annotated[Text, Field(max_length=MAX_FEEDBACK)] | None = None


class SignedInResume(_Body):
    """The body of ``POST /chat/resume`` after a sign-in: nothing but the conversation."""

    conversation_id: Identifier


class LoginRequest(_Body):
    """The body of ``POST /auth/login``."""

    mobile: Annotated[Text, Field(max_length=MAX_TYPED, repr=False)]
    """With its country code."""


class VerifyRequest(LoginRequest):
    """The body of ``POST /auth/verify``."""

    code: Annotated[Text, Field(max_length=MAX_TYPED, repr=False)]


class MemberAnswer(_Body):
    """The body of ``POST /chat/resume`` that answers a graph's own questions, for a member."""

    conversation_id: Identifier
    answers: Annotated[dict[PauseId, Given], Field(min_length=1, max_length=100)]


class ReviewAnswer(_Body):
    """The body of ``POST /chat/resume`` from a reviewer."""

    thread_id: Identifier
    review_id: Identifier | None = None
    """Which draft was read; without it, the conversation's newest."""
    decision: Literal["approve", "edit", "reject"]
    edited_text: Text | None = None

    @model_validator(mode="after")
    def _an_edit_has_a_text(self) -> "ReviewAnswer":
        if self.decision == "edit" and not (self.edited_text or "").strip():
            raise ValueError("edited_text: an edit needs the new text")
        if self.decision != "edit" and self.edited_text is not None:
            raise ValueError("edited_text: only an edit takes a text")
        return self


class InputAnswer(_Body):
    """The body of ``POST /chat/resume`` that answers a graph's own interrupts."""

    thread_id: Identifier
    answers: Annotated[dict[PauseId, Given], Field(min_length=1, max_length=100)]


async def read_json(request: Request) -> tuple[Any, str]:
    """Return the request's JSON and a hash of its bytes.

    Raises:
        RequestTooLarge: the body is over :data:`MAX_BODY`, or says that it will be.
        RequestTimeout: it takes longer than :data:`MAX_BODY_SECONDS`.
        InvalidRequest: it is not JSON in UTF-8.
    """
    try:
        async with asyncio.timeout(MAX_BODY_SECONDS):
            raw = await _read(request)
    except TimeoutError:
        raise RequestTimeout(f"The body took longer than {MAX_BODY_SECONDS:g} seconds.") from None
    try:
        data = json.loads(raw.decode(), parse_constant=_not_json)
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise InvalidRequest("The body is not JSON in UTF-8.") from None
    return data, hashlib.sha256(raw).hexdigest()


async def _read(request: Request) -> bytes:
    too_large = RequestTooLarge(f"The body is over its limit of {MAX_BODY} bytes.")
    said = request.headers.get("content-length", "")
    if said.isdecimal() and (len(said) > len(str(MAX_BODY)) or int(said) > MAX_BODY):
        raise too_large
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > MAX_BODY:
            raise too_large
    return bytes(raw)


def parse(model: type[M], data: object) -> M:
    """Return ``data`` as ``model``, or raise what is wrong with it, path by path."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise invalid(error) from None


def parse_chat(data: object) -> ChatRequest:
    """Return a chat request; a message that is too long is refused as too large."""
    body = parse(ChatRequest, data)
    if any(len(each.content) > MAX_MESSAGE for each in body.messages):
        raise RequestTooLarge(f"A message is over its limit of {MAX_MESSAGE} characters.")
    return body


def parse_stream(data: object) -> StreamRequest:
    """Return a request of the answer wire; a message that is too long is refused as too large."""
    body = parse(StreamRequest, data)
    if len(body.message) > MAX_MESSAGE:
        raise RequestTooLarge(f"A message is over its limit of {MAX_MESSAGE} characters.")
    return body


def idempotency_key(request: Request) -> str | None:
    """Return the request's ``Idempotency-Key``.

    Raises:
        RequestInvalid: it is empty, too long or not printable ASCII.
    """
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not (0 < len(key) <= 255 and key.isascii() and key.isprintable()):
        raise RequestInvalid(("Idempotency-Key", "has to be 1 to 255 printable ASCII characters"))
    return key


def _not_json(name: str) -> NoReturn:
    raise ValueError(name)
