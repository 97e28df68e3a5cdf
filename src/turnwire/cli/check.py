"""One thing that ``turnwire doctor`` looked at, and what to do about it."""

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "missing", "broken"]


@dataclass(frozen=True, slots=True)
class Check:
    """What was found; only ``missing`` and ``broken`` keep turnwire from its work."""

    name: str
    status: Status
    found: str
    next_step: str | None = None

    @property
    def fails(self) -> bool:
        """Whether turnwire can't work like this."""
        return self.status in ("missing", "broken")
