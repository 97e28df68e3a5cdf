"""Codes and credentials in dictionaries; :mod:`turnwire.storage.sign_ins_sql` has the tables."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from turnwire.storage.sign_ins import CodeRecord, CredentialRecord

Lives = Callable[[str, int], bool]
"""Whether the session with this hash has not expired at a time (ms)."""


class SignIns:
    """Everybody's code and credential, by member."""

    def __init__(self, lives: Lives) -> None:
        self._lives = lives
        self._codes: dict[str, CodeRecord] = {}
        self._taken: set[str] = set()
        self._credentials: dict[str, CredentialRecord] = {}

    def put_code(self, code: CodeRecord, *, now: int) -> None:
        """Keep a new code instead of the member's earlier one; drop what has expired at ``now``."""
        self.drop_expired(now=now)
        self._codes[code.member] = code
        self._taken.discard(code.member)

    def take_code(self, member: str, hashes: Collection[str], *, now: int) -> str | None:
        """Take the member's code if its hash is one of ``hashes``, or cost it a try."""
        code = self._codes.get(member)
        if code is None or code.expires_ms <= now or not code.tries or member in self._taken:
            return None
        if code.code_hash not in hashes:
            self._codes[member] = replace(code, tries=code.tries - 1)
            return None
        self._taken.add(member)
        return code.code_hash

    def give_back_code(self, member: str, code_hash: str) -> None:
        """Let a code that was taken be taken again."""
        code = self._codes.get(member)
        if code is not None and code.code_hash == code_hash:
            self._taken.discard(member)

    def keep(self, record: CredentialRecord, code_hash: str, *, now: int) -> bool:
        """Keep a credential for the code that was taken for it."""
        code = self._codes.get(record.member)
        if code is None or code.code_hash != code_hash or record.member not in self._taken:
            return False
        self._drop_code(record.member)
        if not self._lives(record.session_hash, now):
            return False
        self._credentials[record.member] = record
        return True

    def find(self, member: str, *, now: int) -> CredentialRecord | None:
        """Return the credential, if neither it nor its session has expired at ``now``."""
        found = self._credentials.get(member)
        return None if found is None or self._has_ended(found, now) else found

    def everybodys(self) -> Sequence[CredentialRecord]:
        """Return every credential."""
        return list(self._credentials.values())

    def reseal(self, member: str, before: str, after: str) -> None:
        """Replace what is sealed as ``before``."""
        found = self._credentials.get(member)
        if found is not None and found.sealed == before:
            self._credentials[member] = replace(found, sealed=after)

    def drop(self, member: str, sealed: str) -> None:
        """Drop the credential if it is still the one sealed so."""
        found = self._credentials.get(member)
        if found is not None and found.sealed == sealed:
            del self._credentials[member]

    def sign_out(self, member: str) -> None:
        """Drop the member's credential and code."""
        self._credentials.pop(member, None)
        self._drop_code(member)

    def drop_expired(self, *, now: int) -> None:
        """Drop the codes and credentials that have expired at ``now``, also with their session."""
        for code in list(self._codes.values()):
            if self._has_ended(code, now):
                self._drop_code(code.member)
        for each in list(self._credentials.values()):
            if self._has_ended(each, now):
                del self._credentials[each.member]

    def _has_ended(self, record: CodeRecord | CredentialRecord, now: int) -> bool:
        expires = record.expires_ms
        return (expires is not None and expires <= now) or not self._lives(record.session_hash, now)

    def _drop_code(self, member: str) -> None:
        self._codes.pop(member, None)
        self._taken.discard(member)
