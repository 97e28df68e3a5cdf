"""A turn as a client holds it; how it is heard is in :mod:`turnwire.client.sync` and beside it."""

from collections.abc import Mapping, Sequence
from typing import Self

from pydantic import JsonValue

from turnwire.client import requests
from turnwire.client.endings import Ending, Paused
from turnwire.client.errors import WrongUsage
from turnwire.client.listening import Listening
from turnwire.wires.answer_frames import CitationFrame, Document


class BaseTurn:
    """What is known of one turn, and what its member says to it."""

    def __init__(
        self, listening: Listening, headers: Mapping[str, str], *, idempotency_key: str | None
    ) -> None:
        self.idempotency_key = idempotency_key
        """Under which the question was sent; the same question under it joins this turn."""
        self._listening = listening
        self._headers = headers

    @property
    def ending(self) -> Ending | None:
        """How the turn stands, once nothing more comes."""
        return self._listening.ending

    @property
    def text(self) -> str:
        """The answer as far as it was told."""
        return self._listening.account.text

    @property
    def citations(self) -> Sequence[CitationFrame]:
        """The sources that the answer rests on; they come after its last words."""
        return tuple(self._listening.account.citations)

    @property
    def documents(self) -> Sequence[Document]:
        """The evidence that was found."""
        return self._listening.account.documents

    @property
    def conversation_id(self) -> str:
        """The conversation; empty until the server has named it."""
        return self._listening.account.conversation_id

    @property
    def message_id(self) -> str:
        """The turn's id; empty until the server has named it."""
        return self._listening.account.message_id

    @property
    def model(self) -> str:
        """The model whose words these are; empty until the server has named it."""
        return self._listening.account.model

    def confirm(
        self, confirmation_id: str | None = None, *, approve: bool, feedback: str | None = None
    ) -> Self:
        """Decide about a proposed action; the turn is then iterated further.

        Args:
            confirmation_id: which action; may be left out where one is asked about.
            approve: whether it may be done.
            feedback: what the member says to it.

        Raises:
            WrongUsage: the turn does not wait for a confirmation, or for several.
        """
        chosen = confirmation_id or self._only_confirmation()
        sent = requests.confirm(self.conversation_id, chosen, approve=approve, feedback=feedback)
        self._listening.go_on(sent)
        return self

    def resume(self) -> Self:
        """Go on after the member has signed in; the turn is then iterated further."""
        self._listening.go_on(requests.resume(self.conversation_id))
        return self

    def answer(self, answers: Mapping[str, JsonValue]) -> Self:
        """Answer questions of the graph's own; the turn is then iterated further.

        Args:
            answers: for each ``pause_id`` of ``Paused.questions`` that is answered, any JSON that
                passes its ``response_schema``. What is left out goes on waiting.

        Raises:
            WrongUsage: the turn does not ask this.
        """
        ending = self.ending
        asked = {each.pause_id for each in ending.questions} if isinstance(ending, Paused) else ()
        if not answers or not answers.keys() <= set(asked):
            known = ", ".join(sorted(asked)) or "nothing"
            raise WrongUsage(f"Answer questions by their pause_id; the turn asks: {known}.")
        self._listening.go_on(requests.answer(self.conversation_id, answers))
        return self

    def follow(self) -> Self:
        """Listen for what somebody else's decision brings; where there was none, it waits still."""
        self._listening.go_on(None)
        return self

    def _only_confirmation(self) -> str:
        ending = self.ending
        asked = ending.confirmations if isinstance(ending, Paused) else ()
        if len(asked) != 1:
            raise WrongUsage(f"The turn asks for {len(asked)} confirmations; name one by its id.")
        return asked[0].confirmation_id
