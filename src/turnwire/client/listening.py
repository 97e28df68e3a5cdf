"""How a client hears one message to its end: what it sends, and what it makes of what comes.

No socket, no clock, no event loop: a client asks :meth:`Listening.request` what to send, tells
what came of it, waits for ``wait`` seconds and begins anew, until it is ``over``.
"""

from collections.abc import Callable, Sequence
from typing import Final

from turnwire.client import requests
from turnwire.client.account import Account
from turnwire.client.endings import Broken, Ending, Paused
from turnwire.client.errors import BrokenStream, ClientError, Refused, WrongUsage
from turnwire.client.events import AnswerReplaced, Event, parse
from turnwire.client.memory import Frame, Memory, News
from turnwire.client.requests import Sent
from turnwire.client.retry import Patience, Retry
from turnwire.wires.answer_frames import ErrorFrame, MessageCompleted, MessageStarted

_AWAY: Final = frozenset({502, 503, 504})
"""The server is not there for now; who says 503 has stored nothing, and the others may have."""
_REPLACED, _INTERRUPTED = "answer_replaced", "stream_interrupted"
_TAKEN: Final = frozenset({"confirmation_unavailable", "resume_unavailable", "already_decided"})
"""What the second of two equal answers to a pause is told."""


class Listening:
    """One message, over as many requests as it needs."""

    def __init__(
        self,
        opening: Sent,
        account: Account,
        *,
        can_attach: bool,
        retry: Retry,
        chance: Callable[[], float],
    ) -> None:
        """Begin with ``opening``; whoever cannot attach to the turn sends it again."""
        self.account = account
        self.ending: Ending | None = None
        self.wait = 0.0
        """Seconds to let pass before the next request."""
        self.at_the_end = False
        """Whether this stream has said its last frame, and is to be left."""
        self._opening = opening
        self._can_attach = can_attach
        self._begun = opening.method == "GET"
        """Whether the server has done what was asked first."""
        self._sent = self._replaced = 0
        self._patience = Patience(retry, chance)
        self._retry = retry
        self._memory = Memory()
        self._interrupted: ErrorFrame | None = None
        self._paused: Paused | None = None
        """The pause that is being answered."""
        self._refused: Refused | None = None
        """An answer to a pause that was refused when it was sent again."""

    @property
    def over(self) -> bool:
        """Whether nothing more comes."""
        return self.ending is not None

    def go_on(self, opening: Sent | None) -> None:
        """Go on after a pause, by a request or just by listening on.

        Raises:
            WrongUsage: the turn does not wait.
        """
        if not isinstance(self.ending, Paused):
            raise WrongUsage("The turn does not wait for anybody; hear it to its end first.")
        self._paused = self.ending
        self._opening = opening or self._opening
        self._begun = opening is None
        self.ending = self._interrupted = self._refused = None
        self._sent, self.wait = 0, 0.0
        self._patience.heard()

    def request(self) -> Sent:
        """Return what to send."""
        self._sent += 1
        self.at_the_end = False
        if not self._begun:
            self._memory.go_on()
            return self._opening
        if not self._can_attach:
            self._memory.begin_again()
            return self._opening
        after = "" if self._from_the_start() else self._memory.last_id
        account = self.account
        return requests.attach(account.conversation_id, account.message_id, after=after)

    def hear(self, id: str, name: str, data: str) -> Sequence[Event]:
        """Return what a frame of the stream tells; a heartbeat has no ``data``."""
        if not data:
            self._patience.heard()
            return ()
        event = parse(name, data)
        self.at_the_end = isinstance(event, ErrorFrame | MessageCompleted)
        match event:
            case ErrorFrame() if event.code == _REPLACED and self._replaced < self._retry.tries:
                return self._begin_anew()
            case ErrorFrame() if event.code == _INTERRUPTED and self._interrupted is None:
                return self._doubt(event)
            case ErrorFrame() | MessageCompleted():
                return self._end(id, event)
            case MessageStarted():
                return self._open(id, event)
            case _:
                self._begun = True
                news = self._memory.take(Frame(id, name, data))
                return self._anew(news) if news.anew else self._tell([event] if news.frames else [])

    def lose(self, error: Exception | None) -> Sequence[Event]:
        """Note that a stream ended without a last frame, or was never there.

        Raises:
            BrokenStream: there is no further try.
        """
        wait = self._patience.wait()
        if wait is not None:
            self.wait = wait
            return ()
        why = "ended early" if error is None else f"broke ({type(error).__name__})"
        broken = BrokenStream(
            f"The stream {why}, and no try to go on with it reached its end.",
            conversation_id=self.account.conversation_id,
            message_id=self.account.message_id,
        )
        return self._give_up(broken, error)

    def refuse(self, refused: Refused) -> Sequence[Event]:
        """Note a refusal.

        Raises:
            Refused: trying again does not help, or not soon.
        """
        after = refused.retry_after or 0.0
        may_pass = refused.status in _AWAY or (refused.status == 429 and after > 0)
        was_taken = not self._begun and self._sent > 1 and refused.code in _TAKEN
        if was_taken:
            self._begun, self._refused = True, refused
        if was_taken or (may_pass and after <= self._retry.longest_retry_after):
            wait = self._patience.wait(at_least=after)
            if wait is not None:
                self.wait = wait
                return ()
        return self._give_up(refused, None)

    def _from_the_start(self) -> bool:
        memory = self._memory
        if memory.is_retold or self._interrupted is not None:
            memory.begin_again()
            return True
        memory.go_on()
        return False

    def _open(self, id: str, event: MessageStarted) -> Sequence[Event]:
        self._begun = True
        self._memory.pass_over(id)
        if event.message_id == self.account.message_id and self.account.model:
            return ()
        self.account.take(event)
        return (event,)

    def _tell(self, events: Sequence[Event]) -> Sequence[Event]:
        if events:
            self._patience.heard()
            self._refused = None
        for each in events:
            self.account.take(each)
        return events

    def _anew(self, news: News) -> Sequence[Event]:
        """Tell what stands; what was told before does not."""
        self.account.forget()
        told = self._tell([parse(each.name, each.data) for each in news.frames])
        return [AnswerReplaced(), *told]

    def _begin_anew(self) -> Sequence[Event]:
        """Words were taken back: another stream tells what stands."""
        self._begun = True
        self._replaced += 1
        self._memory.forget()
        self.account.forget()
        self.wait = 0.0
        return (AnswerReplaced(),)

    def _doubt(self, event: ErrorFrame) -> Sequence[Event]:
        """Hear it again from the start, once.

        After a crash what was told may be more than was stored; and where only the stream failed,
        the turn still runs.
        """
        self._interrupted = event
        self._begun = True
        self.wait = self._patience.wait() or 0.0
        return ()

    def _end(self, id: str, event: MessageCompleted | ErrorFrame) -> Sequence[Event]:
        news = self._memory.close()
        told = self._anew(news) if news.anew else ()
        self._memory.pass_over(id)
        ending = self.account.ended(event)
        if self._refused is not None and isinstance(ending, Paused):
            self.ending = ending
            raise self._refused
        self.ending = ending
        return [*told, event]

    def _give_up(self, error: ClientError, cause: Exception | None) -> Sequence[Event]:
        if self._interrupted is not None:  # the failure that was told is all that is known
            self.ending = self.account.ended(self._interrupted)
            return (self._interrupted,)
        # An answer that was refused changes nothing: the turn may be answered again.
        unchanged = isinstance(error, Refused) and not self._begun
        self.ending = (self._paused if unchanged else None) or Broken(error)
        raise error from cause
