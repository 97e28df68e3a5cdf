"""What callers send: read within bounds, parsed strictly, told what is wrong."""

import asyncio
from typing import Annotated, Final, Literal, TypeVar

from pydantic import BaseModel, Field, RootModel, StringConstraints, ValidationError
from starlette.requests import Request

from turnwire.errors import InvalidRequest, RequestInvalid, RequestTimeout, RequestTooLarge
from turnwire.portal.records import Record

B = TypeVar("B", bound=BaseModel)

MAX_BODY: Final = 16_384
"""Bytes."""
_MAX_SECONDS: Final = 10.0

_Words = StringConstraints(strip_whitespace=True, min_length=1, pattern=r"^[^\x00]*$")
_Line = StringConstraints(strip_whitespace=True, min_length=1, pattern=r"^[^\p{Cc}]*$")


class Mobile(Record):
    """Whom a service call is about."""

    mobile: Annotated[str, StringConstraints(pattern=r"^\+[1-9][0-9]{6,14}$")]
    """E.164: ``+447700900101``."""


class Callback(Record):
    """What an adviser is to call about, and when."""

    reason: Annotated[str, _Words, Field(max_length=500)]
    preferred_time: Annotated[str, _Words, Field(max_length=100)] | None = None


class NewAddress(Record):
    """Where the member lives from now on."""

    line1: Annotated[str, _Line, Field(max_length=100)]
    line2: Annotated[str, _Line, Field(max_length=100)] | None = None
    city: Annotated[str, _Line, Field(max_length=100)]
    postcode: Annotated[str, _Line, Field(max_length=16)]
    country: Annotated[str, _Line, Field(max_length=60)]


class ReadTable(Record):
    """Rows of one of the order desk's tables."""

    table: Literal["suppliers", "purchase_orders", "order_items"]
    filter: Annotated[dict[str, Annotated[str, Field(max_length=100)]], Field(max_length=10)] = (
        Field(default_factory=dict[str, str])
    )
    """By field, the value that it has to have, as text."""
    fields: Annotated[tuple[str, ...], Field(max_length=20)] = ()
    """Which fields are wanted; none: all."""
    limit: Annotated[int, Field(ge=1, le=100)] = 50


class ReleaseOrder(Record):
    """Let a purchase order go to its supplier."""

    order: Annotated[str, StringConstraints(pattern=r"^[0-9]{10}$")]
    note: Annotated[str, _Words, Field(max_length=200)] | None = None


class ReadTask(Record):
    """A task that changes nothing."""

    task: Literal["read_table"]
    params: ReadTable


class ReleaseTask(Record):
    """A task that a person has approved."""

    task: Literal["release_purchase_order"]
    params: ReleaseOrder


class Task(RootModel[Annotated[ReadTask | ReleaseTask, Field(discriminator="task")]]):
    """What the order desk is to do."""


class Failure(Record):
    """How a route fails."""

    status: Annotated[int, Field(ge=400, le=599)] = 500
    times: Annotated[int, Field(ge=1, le=1_000_000)] | None = 1
    """How often; none: until it is switched off."""
    after_effect: bool = False
    """Whether what was asked is done all the same."""


class Switches(Record):
    """How the portal misbehaves; what is left out is as it should be."""

    delay_ms: Annotated[int, Field(ge=0, le=600_000)] = 0
    """How long a call waits before anything is done."""
    fail: dict[str, Failure] = Field(default_factory=dict[str, Failure])
    """By method and path: ``POST /me/callbacks``."""
    idempotency: bool = True
    """Whether ``Idempotency-Key`` is looked at."""
    answer: Literal["once", "twice", "never"] = "once"
    """``twice``: what is asked is done twice, as behind a proxy that sends requests again; the
    second answer is sent. ``never``: it is done, and nothing is said."""


async def read_body(request: Request) -> None:
    """Read the body, before anything waits: of a caller who has left none can be read.

    Raises:
        RequestTimeout: it takes longer than ten seconds.
        RequestTooLarge: it has more than 16 KiB.
        ClientDisconnect: the caller has left in the middle of it.
    """
    body = bytearray()
    try:
        async with asyncio.timeout(_MAX_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BODY:
                    raise RequestTooLarge(f"A body may have {MAX_BODY} bytes.")
    except TimeoutError:
        raise RequestTimeout(f"The body took longer than {_MAX_SECONDS:g} s.") from None
    request.state.body = bytes(body)


def body_of(request: Request, model: type[B]) -> B:
    """Return the body that was read as ``model``.

    Raises:
        InvalidRequest: it is no JSON.
        RequestInvalid: the JSON has another shape.
    """
    try:
        return model.model_validate_json(request.state.body)
    except ValidationError as wrong:
        errors = wrong.errors(include_input=False, include_url=False)
        if errors[0]["type"] == "json_invalid":
            raise InvalidRequest("The body is not JSON in UTF-8.") from None
        told = [(".".join(map(str, each["loc"])) or "body", each["msg"]) for each in errors]
        raise RequestInvalid(*told) from None
