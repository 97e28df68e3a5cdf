"""Lists in pages, so that no answer is longer than it was asked to be."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from fastapi import Request

from turnwire.admission.principal import Principal
from turnwire.errors import RequestInvalid
from turnwire.ids import ConversationId, is_identifier
from turnwire.server.openapi import parameter
from turnwire.storage.base import ConversationRecord, Place, TurnStore

DEFAULT: Final = 100
MOST: Final = 200
PAGED: Final = (
    parameter("limit", "query", f"How many: {DEFAULT}, or up to {MOST}.", is_a="integer"),
    parameter("before", "query", "The `next` of the page before."),
)
_COUNT: Final = re.compile(r"[0-9]{1,3}", re.ASCII)
_MOMENT: Final = re.compile(r"[0-9]{1,15}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a list is asked for."""

    limit: int
    before: Place | None

    @classmethod
    def asked(cls, request: Request) -> Self:
        """Return what the query says.

        Raises:
            RequestInvalid: the number is out of its bounds, or the place is none.
        """
        before = request.query_params.get("before")
        return cls(asked_limit(request), None if before is None else _place(before))

    async def of(
        self, store: TurnStore, principal: Principal
    ) -> tuple[Sequence[ConversationRecord], Mapping[str, str]]:
        """Return the caller's conversations on this page, and ``next`` where there are more.

        One that is used meanwhile moves to the first page; no other is missed or told twice.
        """
        found = await store.conversations(principal.id, limit=self.limit + 1, before=self.before)
        if len(found) <= self.limit:
            return found, {}
        last = found[self.limit - 1]
        return found[: self.limit], {"next": f"{last.updated_ms}.{last.conversation_id}"}


def asked_limit(request: Request) -> int:
    """Return how many entries of a list the query asks for, or raise :class:`RequestInvalid`."""
    limit = request.query_params.get("limit", str(DEFAULT))
    if not (_COUNT.fullmatch(limit) and 1 <= int(limit) <= MOST):
        raise RequestInvalid(("limit", f"has to be a whole number from 1 to {MOST}"))
    return int(limit)


def _place(text: str) -> Place:
    at, _, conversation_id = text.partition(".")
    if not (_MOMENT.fullmatch(at) and is_identifier(conversation_id)):
        raise RequestInvalid(("before", "has to be the `next` of the page before"))
    return Place(int(at), ConversationId(conversation_id))
