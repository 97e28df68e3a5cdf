"""Log lines with the ids that belong to them, and without anybody's words."""

import json
import logging
import traceback
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Final, Literal, cast

from turnwire.engine.observer import Earlier
from turnwire.errors import TurnwireError, where
from turnwire.events import Envelope, TurnCompleted, TurnFailed, TurnPaused
from turnwire.telemetry.measures import outcome_of
from turnwire.work import Work

LogFormat = Literal["json", "text"]

_LOG: Final = logging.getLogger("turnwire")
_OURS: Final = ("turnwire", "uvicorn")
_FIXED: Final = (*_OURS, "opentelemetry")
"""Loggers whose messages are fixed texts; what others say may quote what a member wrote."""
_IDS: Final = ("request_id", "turn_id", "trace_id", "error_id")
_FACTS: Final = ("code", "client", "outcome", "where")
_ABOUT: Final[ContextVar[dict[str, str] | None]] = ContextVar("ABOUT", default=None)


@contextmanager
def about(**ids: str) -> Generator[None]:
    """Give these ids to every line that is logged inside, also in tasks that begin there."""
    token = _ABOUT.set({**(_ABOUT.get() or {}), **ids})
    try:
        yield
    finally:
        _ABOUT.reset(token)


class _Lines(logging.Formatter):
    """What both formats have in common: the fields of a line."""

    def __init__(self, *, messages: bool) -> None:
        super().__init__()
        self._messages = messages

    def fields(self, record: logging.LogRecord) -> dict[str, object]:
        """Return the line's fields in order; those without a value are left out."""
        known: dict[str, object] = {**(_ABOUT.get() or {}), **vars(record)}
        error = record.exc_info[1] if record.exc_info else None
        found: dict[str, object] = {
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._message(record),
            **{name: known[name] for name in (*_IDS, *_FACTS) if known.get(name)},
        }
        if error is not None:
            found |= {"error": type(error).__name__, "where": where(error)}
            if self._messages:
                found["traceback"] = "".join(traceback.format_exception(error))
        return found

    def _message(self, record: logging.LogRecord) -> str:
        if self._messages or record.name.partition(".")[0] in _FIXED:
            return record.getMessage()
        return f"(withheld) {record.filename}:{record.lineno}"


class JsonLines(_Lines):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return json.dumps(self.fields(record), default=str)


class TextLines(_Lines):
    """The same for people: time, level, logger and message, then ``name=value``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields = self.fields(record)
        head = [str(fields.pop(name)) for name in ("at", "level", "logger", "message")]
        return " ".join((*head, *(f"{name}={_shown(value)}" for name, value in fields.items())))


def _shown(value: object) -> str:
    if not isinstance(value, list):
        return str(value)
    return ",".join(str(each) for each in cast("list[object]", value))


class LogReporter:
    """Tells the log of turns: each ending, and why one failed under the id that clients get.

    An exception's message may quote what a member wrote or what a provider sent back, so it is
    left out unless ``messages`` is set; its type and where it was raised are always there.
    """

    def __init__(self, *, messages: bool) -> None:
        self._messages = messages

    def failed(self, error: BaseException, *, error_id: str, turn_id: str) -> None:
        """See :class:`turnwire.engine.runner.Reporter`."""
        about = {"error_id": error_id, "turn_id": turn_id, "where": where(error)}
        if self._messages:
            told = "".join(traceback.format_exception(error))
        else:
            told = str(error) if isinstance(error, TurnwireError) else ""  # our own words
        name = type(error.__cause__ or error).__name__
        _LOG.error("turn failed: %s %s", name, told, extra=about)

    def heard(self, envelopes: Sequence[Envelope], *, earlier: Earlier | None = None) -> None:
        """See :class:`turnwire.engine.observer.Observer`."""
        last = envelopes[-1]
        if isinstance(last.event, TurnCompleted | TurnFailed | TurnPaused):
            paused = isinstance(last.event, TurnPaused)
            outcome = "paused" if isinstance(last.event, TurnPaused) else outcome_of(last.event)
            extra = {"turn_id": last.turn_id, "outcome": outcome}
            _LOG.info("turn %s", "paused" if paused else "ended", extra=extra)

    def running(self, work: Work, /) -> AbstractContextManager[None]:
        """See :class:`turnwire.engine.observer.Observer`."""
        return about(turn_id=work.turn_id, trace_id=work.trace_id)

    def unstored(self) -> None:
        """See :class:`turnwire.engine.observer.Observer`."""
        _LOG.warning("the store can't keep a turn's events")


def log_to_stderr(level: str, *, form: LogFormat = "json", messages: bool = False) -> None:
    """Write all log lines of this process to the standard error stream.

    Args:
        level: the least level that is written; of other people's loggers, ``warning``.
        form: how a line looks.
        messages: whether exceptions and other people's loggers may say what they like.
    """
    lines = JsonLines if form == "json" else TextLines
    out = logging.StreamHandler()
    out.setFormatter(lines(messages=messages))
    for name in ("", *_OURS):
        logger = logging.getLogger(name)
        logger.handlers[:] = [out]
        logger.setLevel(level.upper() if name else logging.WARNING)
        logger.propagate = False
