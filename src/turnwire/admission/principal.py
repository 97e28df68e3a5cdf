"""Who is asking, and what they may do."""

from dataclasses import dataclass
from typing import Final, Literal

from turnwire.errors import Forbidden

Scope = Literal["chat", "review", "studio", "admin"]
SCOPES: Final[tuple[Scope, ...]] = ("chat", "review", "studio", "admin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A caller we know."""

    id: str
    """Owns conversations: ``key:<public part>`` or ``operator``."""
    scopes: frozenset[str]

    def require(self, scope: Scope) -> None:
        """Return if the caller has the scope, or raise :class:`Forbidden`."""
        if scope not in self.scopes and "admin" not in self.scopes:
            raise Forbidden(f"This needs the scope {scope!r}; ask for a key that has it.")


OPERATOR: Final = Principal(id="operator", scopes=frozenset(SCOPES))
"""Who opened the link that a server on loopback printed."""
