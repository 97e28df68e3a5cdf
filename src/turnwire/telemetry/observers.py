"""Several observers as one, none of which can break a turn."""

import logging
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

from turnwire.engine.observer import Earlier, Observer
from turnwire.errors import where
from turnwire.events import Envelope
from turnwire.work import Work

_LOG: Final = logging.getLogger("turnwire.telemetry")


class Observers:
    """Passes everything on to each; a fault of one is logged and costs nobody else anything."""

    def __init__(self, *each: Observer) -> None:
        self._each = each

    def heard(self, envelopes: Sequence[Envelope], *, earlier: Earlier | None = None) -> None:
        """See :class:`turnwire.engine.observer.Observer`."""
        for observer in self._each:
            try:
                observer.heard(envelopes, earlier=earlier)
            except Exception as error:  # a fault in what is only told about a turn
                extra = {"where": where(error)}
                _LOG.error("not measured: %s", type(error).__name__, extra=extra)

    def running(self, work: Work, /) -> AbstractContextManager[object]:
        """See :class:`turnwire.engine.observer.Observer`."""
        return _surrounded(self._each, work)

    def unstored(self) -> None:
        """See :class:`turnwire.engine.observer.Observer`."""
        for observer in self._each:
            observer.unstored()


def _surrounded(observers: Sequence[Observer], work: Work) -> AbstractContextManager[object]:
    """Surround a run with each; a stack of contexts would be as large as all of them."""
    if not observers:
        return nullcontext()
    if len(observers) == 1:
        return observers[0].running(work)
    return _nested(observers[0], observers[1:], work)


@contextmanager
def _nested(first: Observer, others: Sequence[Observer], work: Work) -> Generator[None]:
    with first.running(work), _surrounded(others, work):
        yield
