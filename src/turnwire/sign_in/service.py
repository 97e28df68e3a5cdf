"""Signs members in and out, and keeps their credentials."""

import logging
from collections.abc import Callable
from typing import Final

from cryptography.fernet import InvalidToken

from turnwire.admission.principal import Principal
from turnwire.admission.sign_in import (
    CodePolicy,
    charges,
    code_hash,
    ends_ms,
    new_code,
    read_code,
    require_room,
)
from turnwire.clock import Now
from turnwire.errors import InvalidCode, SignInUnavailable
from turnwire.nodes.tools.tool import Credential
from turnwire.sign_in.deliveries import Deliveries
from turnwire.sign_in.directory import Directory
from turnwire.sign_in.http import Unreachable
from turnwire.sign_in.sealing import Seals
from turnwire.sign_in.senders import Sender, Sent
from turnwire.storage.base import Store
from turnwire.storage.members import SessionRecord
from turnwire.storage.sign_ins import CodeRecord, CredentialRecord
from turnwire.wires.base import iso

_LOG: Final = logging.getLogger("turnwire.sign_in")


class SignInService:
    """Who is signed in: for the routes, for the answer wire, and for what runs tools."""

    def __init__(
        self,
        store: Store,
        directory: Directory,
        sender: Sender,
        *,
        seals: Callable[[], Seals],
        policy: CodePolicy,
        now: Now,
    ) -> None:
        """``seals`` is asked once, by :meth:`open`: it may make a key."""
        self._store = store
        self._directory = directory
        self._sender = sender
        self._make_seals = seals
        self._policy = policy
        self._now = now
        self._deliveries = Deliveries()
        self._told_unreadable = False

    @property
    def code_seconds(self) -> float:
        """How long a code lives."""
        return self._policy.seconds

    async def open(self) -> None:
        """Read the keys, and seal with the first what others sealed; the store is open.

        Raises:
            SetupError: there is no usable key.
        """
        self._seals = self._make_seals()
        for each in await self._store.credentials():
            try:
                renewed = self._seals.renewed(each.sealed)
            except InvalidToken:
                self._unreadable()
                continue
            if renewed is not None:
                await self._store.reseal_credential(each.member, each.sealed, renewed)

    async def close(self) -> None:
        """Let codes that are on their way arrive, and let go of all connections."""
        await self._deliveries.close()
        await self._directory.close()
        await self._sender.close()

    async def settle(self) -> None:
        """Wait until every code that was asked for has been sent, or not."""
        await self._deliveries.idle()

    async def login(self, session: SessionRecord, mobile: str, *, address: str) -> None:
        """Make a code for the session, and send it if the number (E.164) is a member's.

        A code is kept for every number, and whether anybody knows it is asked only afterwards: an
        unknown number is answered with the same at the same time.

        Raises:
            RateLimited: as many codes were asked for as may be.
        """
        now, key = self._now(), self._seals.code_keys[0]
        asked = charges(
            key, self._policy, member=session.member, mobile=mobile, address=address, now=now
        )
        require_room(await self._store.charge(asked), now=now)
        code, expires = new_code(), now + self._policy.life_ms
        record = CodeRecord(
            member=session.member,
            session_hash=session.session_hash,
            code_hash=code_hash(key, member=session.member, mobile=mobile, code=code),
            expires_ms=expires,
            tries=self._policy.tries,
        )
        await self._store.put_code(record, now=now)
        self._deliveries.begin(self._deliver(Sent(mobile, code, iso(expires))))

    async def verify(self, session: SessionRecord, mobile: str, typed: str) -> int:
        """Sign the session's member in; return when that ends by itself (ms).

        Raises:
            InvalidCode: it is not the code that was sent last to this number for this session, it
                has expired, was used or guessed at too often, or nobody has the number.
            SignInUnavailable: the directory does not answer; the code may be sent again.
        """
        member, code = session.member, read_code(typed)
        right = [
            code_hash(each, member=member, mobile=mobile, code=code)
            for each in self._seals.code_keys
        ]
        taken = await self._store.take_code(member, right, now=self._now())
        if taken is None:
            raise InvalidCode
        credential = await self._fetch(session, mobile, taken)
        record = CredentialRecord(
            member=member,
            session_hash=session.session_hash,
            sealed=self._seals.seal(member, credential),
            expires_ms=credential.expires_ms,
        )
        if not await self._store.keep_credential(record, taken, now=self._now()):
            raise InvalidCode
        return ends_ms(credential.expires_ms, session.expires_ms)

    async def logout(self, member: str) -> None:
        """Erase the member's credential, and the code that they asked for."""
        await self._store.sign_out(member)

    async def signed_in_until(self, session: SessionRecord) -> int | None:
        """Return when the member's sign-in ends by itself (ms), or none where there is none."""
        credential = await self.credential(session.member)
        return None if credential is None else ends_ms(credential.expires_ms, session.expires_ms)

    async def is_signed_in(self, principal: Principal, /) -> bool:
        """See :class:`turnwire.server.answer.SignIns`."""
        return await self.credential(principal.id) is not None

    async def credential(self, principal: str, /) -> Credential | None:
        """See :class:`turnwire.nodes.tools.tool.Credentials`."""
        found = await self._store.credential(principal, now=self._now())
        if found is None:
            return None
        credential = self._seals.open(found.sealed, member=principal)
        if credential is None:
            self._unreadable()
        return credential

    async def refused(self, principal: str, token: str, /) -> None:
        """See :class:`turnwire.nodes.tools.tool.Credentials`."""
        found = await self._store.credential(principal, now=self._now())
        kept = self._seals.open(found.sealed, member=principal) if found is not None else None
        if found is not None and kept is not None and kept.token == token:
            await self._store.drop_credential(principal, found.sealed)

    async def _fetch(self, session: SessionRecord, mobile: str, taken: str) -> Credential:
        try:
            credential = await self._directory.token(mobile)
        except Unreachable as error:
            _LOG.warning("a member could not be signed in: %s", error)
            await self._store.give_back_code(session.member, taken)
            raise SignInUnavailable from None
        if credential is None:
            raise InvalidCode
        return credential

    async def _deliver(self, sent: Sent) -> None:
        if await self._directory.knows(sent.mobile):
            await self._sender.send(sent)

    def _unreadable(self) -> None:
        if not self._told_unreadable:
            self._told_unreadable = True
            _LOG.warning(
                "credentials can't be read with these credential_keys; their members are signed out"
            )
