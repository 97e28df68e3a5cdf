"""What a part tells of its own work, in words that neither the part nor who measures owns.

Most of what is measured is read off the events. A model call is no event: whoever makes one says so
here, and nobody listens unless traces were switched on.
"""

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

from turnwire.events import CallOutcome, ModelCalled, Usage

BreakerState = Literal["closed", "half_open", "open"]


class ProviderHealth(Protocol):
    """Where a model gateway tells how its providers do."""

    def called(self, provider: str, outcome: CallOutcome, *, seconds: float) -> None:
        """Tell of a call that ended; ``provider`` is a name from the settings."""
        ...

    def breaker(self, provider: str, state: BreakerState) -> None:
        """Tell that the provider's circuit breaker is now in ``state``."""
        ...


NOTES: Final[ContextVar[Callable[[ModelCalled], None] | None]] = ContextVar("NOTES", default=None)
"""Where the run to which the current task belongs notes the calls of providers, if there is one."""


def note_call(called: ModelCalled) -> None:
    """Note a provider's call for the turn that runs, also for one that is being cancelled."""
    note = NOTES.get()
    if note is not None:
        note(called)


class Words(NamedTuple):
    """One message of a prompt."""

    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A model call that is about to be made."""

    model: str
    provider: str
    node: str = ""
    """The root graph's node that makes it, or none where that is not known."""
    temperature: float | None = None
    max_tokens: int | None = None
    prompt: Callable[[], Sequence[Words]] = tuple
    """What the model reads; called only where words are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a model call came to."""

    usage: Usage | None = None
    """None where the provider did not say."""
    finish: str | None = None
    """Why the model stopped, in its provider's words."""
    model: str | None = None
    """The model that answered, as the provider names it."""


class Call(Protocol):
    """A model call that goes on; told in order: ``first_chunk``, ``said``, one of the endings."""

    @property
    def keeps_words(self) -> bool:
        """Whether :meth:`said` is worth calling."""
        ...

    def first_chunk(self) -> None:
        """Note that the answer has begun to come; later calls change nothing."""
        ...

    def said(self, text: str) -> None:
        """Keep a piece of the answer."""
        ...

    def ended(self, answered: Answered) -> None:
        """Note that it went well."""
        ...

    def failed(self, error: BaseException) -> None:
        """Note that it did not; after an ending this changes nothing."""
        ...

    def current(self) -> AbstractContextManager[object]:
        """Make the call the parent of what is traced inside."""
        ...


class Calls(Protocol):
    """Who measures the model calls of one run."""

    def begin(self, asked: Asked) -> Call:
        """Return the call, which begins now."""
        ...


class _Unmeasured:
    keeps_words = False

    def first_chunk(self) -> None:
        pass

    def said(self, text: str) -> None:
        pass

    def ended(self, answered: Answered) -> None:
        pass

    def failed(self, error: BaseException) -> None:
        pass

    def current(self) -> AbstractContextManager[object]:
        return nullcontext()


_UNMEASURED: Final = _Unmeasured()

CALLS: Final[ContextVar[Calls | None]] = ContextVar("CALLS", default=None)
"""Who measures the model calls of the run to which the current task belongs, if anybody."""


@contextmanager
def model_call(asked: Callable[[], Asked]) -> Generator[Call]:
    """Measure a model call; whoever makes it tells the call what comes, and its end."""
    calls = CALLS.get()
    if calls is None:
        yield _UNMEASURED
        return
    call = calls.begin(asked())
    try:
        with call.current():
            yield call
    except BaseException as error:
        call.failed(error)
        raise


class Caller(NamedTuple):
    """The span from which a request was sent (W3C Trace Context)."""

    trace_id: str
    span_id: str
    sampled: bool


CALLER: Final[ContextVar[Caller | None]] = ContextVar("CALLER", default=None)
"""Of the request to which the current task belongs, where it said so."""

# W3C Trace Context, 3.2: version 00 has four fields, later ones may have more.
_TRACEPARENT: Final = re.compile(
    r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?",
    re.ASCII,
)


def read_traceparent(header: str | None) -> Caller | None:
    """Return who called, or none where the header is missing or malformed."""
    found = _TRACEPARENT.fullmatch((header or "").strip())
    if found is None or (found[1] == "00" and found[5]):
        return None
    return Caller(found[2], found[3], bool(int(found[4], 16) & 1))
