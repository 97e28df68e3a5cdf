"""What lets tools act: grants of confirmations, and credentials of members.

A server binds them for each of its runs; an executor that was given none of its own uses those.
"""

from contextvars import ContextVar
from typing import Final

from turnwire.nodes.tools.tool import Credential, Credentials
from turnwire.storage.audit import Ended, Grants


class NoGrants:
    """Stands where nothing is kept: no action can be done."""

    async def take_grant(
        self, confirmation_id: str, *, principal: str, tool: str, arguments_hash: str
    ) -> bool:
        """Return no."""
        return False

    async def note_outcome(
        self, confirmation_id: str, ended: Ended, *, code: str | None, receipt: str | None
    ) -> None:
        """Keep nothing."""


class NoCredentials:
    """Stands where nobody can sign in."""

    async def credential(self, principal: str, /) -> Credential | None:
        """Return none."""
        return None

    async def refused(self, principal: str, token: str, /) -> None:
        """Keep nothing."""


NO_CREDENTIALS: Final = NoCredentials()

GRANTS: Final[ContextVar[Grants]] = ContextVar("GRANTS", default=NoGrants())  # noqa: B039
CREDENTIALS: Final[ContextVar[Credentials]] = ContextVar("CREDENTIALS", default=NO_CREDENTIALS)
"""Of the run to which the current task belongs."""
