"""What is wrong with a spec: file, line, place and reason, for each fault."""

from collections.abc import Sequence
from dataclasses import dataclass

from turnwire.errors import AgentInvalid


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Fault:
    """One thing that is wrong."""

    line: int
    """From 1."""
    path: str
    """`nodes.2.type`; "" for the whole."""
    reason: str

    def told(self, name: str) -> str:
        """Return the fault as compilers tell one."""
        at = f" {self.path}:" if self.path else ""
        return f"{name}:{self.line}:{at} {self.reason}"


class SpecInvalid(AgentInvalid):
    """A spec that can't be used; each fault has its file and line."""

    def __init__(self, name: str, faults: Sequence[Fault]) -> None:
        self.name = name
        self.faults = tuple(sorted(set(faults)))
        super().__init__(
            *((f"{name}:{each.line}", _told(each)) for each in self.faults),
        )

    def __str__(self) -> str:
        return "\n".join(each.told(self.name) for each in self.faults)


def _told(fault: Fault) -> str:
    return f"{fault.path}: {fault.reason}" if fault.path else fault.reason
