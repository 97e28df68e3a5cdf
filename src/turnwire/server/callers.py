"""Who acts in a conversation: the application itself, or a member whom it vouches for."""

import logging
from dataclasses import replace
from typing import Final

from fastapi import Request

from turnwire.admission.principal import Principal, Scope
from turnwire.admission.sessions import (
    SessionPolicy,
    anonymous,
    digest,
    new_session,
    recognise,
    renewal,
)
from turnwire.clock import Now
from turnwire.errors import SessionRequired, StorageUnavailable
from turnwire.server.access import Access
from turnwire.server.bodies import idempotency_key
from turnwire.storage.members import MemberStore, SessionRecord

_LOG: Final = logging.getLogger("turnwire.server")


class Callers:
    """Tells of a request on whose behalf it is made."""

    def __init__(
        self, access: Access, store: MemberStore, policy: SessionPolicy, *, now: Now
    ) -> None:
        self._access = access
        self._store = store
        self._policy = policy
        self._now = now

    async def require(self, request: Request, scope: Scope = "chat") -> Principal:
        """Return who acts: the member of the session, or without one the application.

        Raises:
            InvalidApiKey: the application is nobody that we know.
            SessionRequired: the session is none of this application's.
            Forbidden: the one who acts lacks the scope.
        """
        principal = await self.identify(request)
        principal.require(scope)
        return principal

    async def identify(self, request: Request) -> Principal:
        """Return who acts, whatever they may do; see :meth:`require`."""
        application = await self._access.identify(request)
        return await self._member(request, application) or application

    async def member(self, request: Request, *, signed: bool = False) -> Principal:
        """Return the member: of the session, or without one somebody new who will not come back.

        Raises:
            SessionRequired: there is no session where ``signed`` asks for one, or it is none of
                this application's.
            InvalidApiKey, Forbidden: as :meth:`require`, for the scope ``chat``.
        """
        application = await self._access.require(request, "chat")
        member = await self._member(request, application)
        if member is None and signed:
            raise SessionRequired
        return member or anonymous(application, request_key=idempotency_key(request))

    async def mint(self, request: Request) -> tuple[str, SessionRecord]:
        """Return a new session of the application: its id, which is not kept, and its record."""
        application = await self._access.require(request, "chat")
        session_id, record = new_session(application, self._policy, now=self._now())
        await self._store.add_session(record)
        return session_id, record

    async def session(self, request: Request) -> SessionRecord:
        """Return the session of the member who acts.

        Raises:
            SessionRequired: there is none, or it is none of this application's.
            InvalidApiKey, Forbidden: as :meth:`require`, for the scope ``chat``.
        """
        session = await self._session(request, await self._access.require(request, "chat"))
        if session is None:
            raise SessionRequired
        return session

    async def end(self, session: SessionRecord) -> None:
        """End a session; from now on it is unknown."""
        now = self._now()
        await self._store.renew_session(session.session_hash, now=now, expires_ms=now)

    async def _member(self, request: Request, application: Principal) -> Principal | None:
        session = await self._session(request, application)
        return None if session is None else recognise(application, session)

    async def _session(self, request: Request, application: Principal) -> SessionRecord | None:
        presented = request.headers.getlist(self._policy.header)
        if not presented:
            return None
        if len(presented) > 1:
            raise SessionRequired
        now = self._now()
        session = await self._store.session(digest(presented[0]), now=now)
        if session is None:
            raise SessionRequired
        recognise(application, session)
        return await self._renewed(session, now)

    async def _renewed(self, session: SessionRecord, now: int) -> SessionRecord:
        expires = renewal(session, self._policy, now=now)
        if expires is None:
            return session
        try:
            await self._store.renew_session(session.session_hash, now=now, expires_ms=expires)
        except StorageUnavailable:  # the session is good all the same; the next request tries again
            _LOG.warning("a session could not be renewed")
            return session
        return replace(session, expires_ms=expires)
