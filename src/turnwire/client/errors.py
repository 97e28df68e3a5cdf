"""What a client raises.

ClientError
    Refused         the server said no, with a status before the first byte
    BrokenStream    the stream broke, and no try to go on with it reached its end
    WrongUsage      a call that the turn or the client is not ready for
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

UNKNOWN: Final = "unknown"
"""The code of a refusal that turnwire did not write, such as a proxy's."""


class ClientError(Exception):
    """Base of the tree above."""


class WrongUsage(ClientError):
    """A call that the turn or the client is not ready for; the text names what to do."""


class Refused(ClientError):
    """The server said no; see ``docs/reference/errors.md`` for the codes."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        facts: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{message} ({status} {code})")
        facts = facts or {}
        self.status = status
        self.code = code
        self.message = message
        self.retryable: bool = facts.get("retryable") is True
        """Whether the same request may pass later."""
        self.retry_after = retry_after
        """Seconds after which it may, where the server said so."""
        details = facts.get("details")
        self.details = cast("Sequence[Mapping[str, str]]", details) if details else ()
        """What is wrong with each part of the request: ``path`` and ``reason``."""
        self.request_id: str | None = facts.get("request_id")
        """By which the server's operators find the request."""


class BrokenStream(ClientError):
    """The stream broke, and no try to go on with it reached its end.

    The turn may go on at the server: a member attaches again with ``Client.attach``.
    """

    def __init__(self, why: str, *, conversation_id: str = "", message_id: str = "") -> None:
        super().__init__(why)
        self.conversation_id = conversation_id
        self.message_id = message_id


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> Refused:
    """Return what the server's error envelope says, or as much as there is."""
    after = headers.get("retry-after", "")
    retry_after = float(after) if after.isdecimal() else None
    try:
        facts = json.loads(body)["error"]
        code, message = str(facts["code"]), str(facts["message"])
    except (ValueError, KeyError, TypeError):
        message = "This is not turnwire's answer; check base_url."
        return Refused(status, UNKNOWN, message, retry_after=retry_after)
    return Refused(status, code, message, facts=facts, retry_after=retry_after)
