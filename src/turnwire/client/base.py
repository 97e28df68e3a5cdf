"""What both clients do without I/O: for whom they speak, and which turns they make."""

from abc import abstractmethod
from typing import Generic, TypeVar

from turnwire.client.connection import Connection, Opened, Options
from turnwire.client.requests import Hints
from turnwire.client.turn import BaseTurn

T = TypeVar("T", bound=BaseTurn)


class BaseClient(Generic[T]):
    """Speaks for one application, and for one of its members where it has a session."""

    def __init__(
        self, base_url: str, *, api_key: str, session: str | None, options: Options | None
    ) -> None:
        self._connection = Connection(
            base_url, api_key=api_key, session=session, options=options or Options()
        )

    @property
    def session(self) -> str | None:
        """The member's session; a secret."""
        return self._connection.session

    def ask(
        self,
        message: str,
        *,
        conversation_id: str | None = None,
        agent: str | None = None,
        hints: Hints | None = None,
        idempotency_key: str | None = None,
    ) -> T:
        """Return a turn that begins with ``message`` when it is iterated.

        Args:
            message: the member's words.
            conversation_id: the conversation that goes on; a new one without it.
            agent: which agent answers; the conversation's, or the server's first, without it.
            hints: what the client would like of this turn.
            idempotency_key: of your own, where the question may be asked again after a crash.

        Raises:
            WrongUsage: the key can't be used.
        """
        opened = self._connection.ask(
            message,
            conversation_id=conversation_id,
            agent=agent,
            hints=hints,
            idempotency_key=idempotency_key,
        )
        return self._turn(opened)

    def attach(self, conversation_id: str, message_id: str) -> T:
        """Return a turn that was begun before, told from its beginning and then live."""
        return self._turn(self._connection.attach(conversation_id, message_id))

    @abstractmethod
    def _turn(self, opened: Opened) -> T: ...
