"""What is kept of sign-ins: codes that were asked for, and the credentials that they brought.

Nothing here can be used by whoever reads the store: a code is a keyed hash, which also stands for
the number that it was sent to, and a credential is sealed.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRecord:
    """The code that a member asked for last."""

    member: str
    """``member:…``; a member has one code at the most."""
    session_hash: str
    code_hash: str
    expires_ms: int
    tries: int
    """How many wrong answers are still taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialRecord:
    """A signed-in member's credential."""

    member: str
    session_hash: str
    """The session that it goes with, and goes away with."""
    sealed: str
    expires_ms: int | None = None
    """When it ends by itself; none: with the session."""


class SignInStore(Protocol):
    """Codes and credentials; each call is one atomic step."""

    async def put_code(self, code: CodeRecord, *, now: int) -> None:
        """Keep a new code instead of the member's earlier one; drop what has expired at ``now``."""
        ...

    async def take_code(self, member: str, hashes: Collection[str], *, now: int) -> str | None:
        """Take the member's code if its hash is one of ``hashes``; return which.

        It has to be unexpired at ``now`` (ms), have tries left and be taken by nobody; a wrong
        answer to such a code costs it a try. Of many right answers at once one gets it.
        """
        ...

    async def give_back_code(self, member: str, code_hash: str) -> None:
        """Let a code that was taken be taken again, until it expires."""
        ...

    async def keep_credential(self, record: CredentialRecord, code_hash: str, *, now: int) -> bool:
        """Keep a credential for the code that was taken for it, which is gone then.

        False, and nothing is kept, where the member asked for another code or signed out in the
        meantime, or the session has expired at ``now`` (ms).
        """
        ...

    async def credential(self, member: str, *, now: int) -> CredentialRecord | None:
        """Return the credential, if neither it nor its session has expired at ``now`` (ms)."""
        ...

    async def credentials(self) -> Sequence[CredentialRecord]:
        """Return everybody's, also expired ones that were not dropped yet."""
        ...

    async def reseal_credential(self, member: str, before: str, after: str) -> None:
        """Replace what is sealed as ``before``; where it is not that any more, nothing happens."""
        ...

    async def drop_credential(self, member: str, sealed: str) -> None:
        """Drop the credential if it is still the one sealed so."""
        ...

    async def sign_out(self, member: str) -> None:
        """Drop the member's credential and code, one that was taken among them."""
        ...
