"""The audit of actions, in a dictionary; for the store in memory."""

from collections.abc import Iterable

from turnwire.storage.audit import AuditEntry, AuditQuery, Step
from turnwire.storage.audited import is_granted, left


class AuditBook:
    """Entries in the order in which they came; one for each step of a confirmation."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, Step], AuditEntry] = {}

    def add(self, entries: Iterable[AuditEntry]) -> int:
        """Keep entries of steps that have none yet; return how many."""
        before = len(self._entries)
        for each in entries:
            self._entries.setdefault((each.confirmation_id, each.step), each)
        return len(self._entries) - before

    def entry(self, confirmation_id: str, step: Step) -> AuditEntry | None:
        """Return the entry of a step."""
        return self._entries.get((confirmation_id, step))

    def unfinished(self, *, at: int) -> list[AuditEntry]:
        """Return the outcomes that are to be noted when nothing runs any more."""
        return [
            left(each, is_begun=self.entry(each.confirmation_id, "start") is not None, at=at)
            for each in self._entries.values()
            if is_granted(each) and self.entry(each.confirmation_id, "outcome") is None
        ]

    def not_begun(self, confirmation_id: str, *, at: int) -> list[AuditEntry]:
        """Return the outcome of an approved action that can't be begun any more, if it is one."""
        told = self.entry(confirmation_id, "decision")
        if told is None or not is_granted(told) or self.entry(confirmation_id, "start"):
            return []
        return [left(told, is_begun=False, at=at)]

    def find(self, query: AuditQuery) -> list[AuditEntry]:
        """Return the entries that are asked for."""
        return [
            each
            for each in self._entries.values()
            if each.at_ms >= query.since_ms
            and query.conversation_id in (None, each.conversation_id)
            and query.principal in (None, each.principal)
            and query.tool in (None, each.tool)
        ]
