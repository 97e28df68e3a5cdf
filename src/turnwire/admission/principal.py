"""Who is asking, and what they may do."""

import re
from dataclasses import dataclass
from typing import Final, Literal, get_args

from turnwire.errors import Forbidden

EPHEMERAL: Final = "anonymous:"
"""What the ids of members without a session begin with."""

STAFF: Final = "staff:"
"""What the ids of staff users begin with, whom an application names."""
STAFF_NAME: Final = re.compile(r"[A-Za-z0-9._@-]{1,128}", re.ASCII)

Scope = Literal["chat", "review", "studio", "admin"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A caller we know."""

    id: str
    """Owns conversations: ``key:<public part>``, ``member:<random>``, ``anonymous:<random>``,
    ``staff:<name>`` or ``operator``."""
    scopes: frozenset[str]
    vouched_by: str | None = None
    """Of a member, the application that speaks for them; none: this is an application itself."""
    is_ephemeral: bool = False
    """Whether this member has no session: nobody comes back as this principal, but a request that
    is sent again under its ``Idempotency-Key``."""

    @property
    def is_member(self) -> bool:
        """Whether this is a member, and not an application."""
        return self.vouched_by is not None

    @property
    def application(self) -> str:
        """The id of the application that asks."""
        return self.vouched_by or self.id

    def may(self, scope: Scope) -> bool:
        """Whether the caller has the scope; ``admin`` has every one."""
        return scope in self.scopes or "admin" in self.scopes

    def require(self, scope: Scope) -> None:
        """Return if the caller has the scope, or raise :class:`Forbidden`."""
        if not self.may(scope):
            raise Forbidden(f"This needs the scope {scope!r}; ask for a key that has it.")


OPERATOR: Final = Principal(id="operator", scopes=frozenset(SCOPES))
"""Who opened the link that a server on loopback printed."""


def staff(name: str) -> Principal:
    """Return the staff user whom an application with the scope ``studio`` names.

    Raises:
        Forbidden: the name has another form, or is one that nobody may bear.
    """
    if not STAFF_NAME.fullmatch(name) or name == OPERATOR.id:
        raise Forbidden("This is no staff user's name: 1 to 128 of A-Z, a-z, 0-9 and . _ @ -")
    return Principal(id=STAFF + name, scopes=frozenset({"chat", "studio"}))
