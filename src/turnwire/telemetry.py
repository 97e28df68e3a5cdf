"""What operators read: structured log lines, without anybody's words."""

import json
import logging
import traceback
from typing import Final

from turnwire.errors import TurnwireError

_LOG: Final = logging.getLogger("turnwire")
_KEPT: Final = ("request_id", "turn_id", "trace_id", "error_id")


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message and the ids that are known."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, object] = {
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: getattr(record, name) for name in _KEPT if hasattr(record, name)}
        if hasattr(record, "where"):
            line["where"] = getattr(record, "where", None)
        return json.dumps(line)


class LogReporter:
    """Tells the log of failed turns, under the id that the client was given.

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


def log_to_stderr(level: str) -> None:
    """Write log lines to the standard error stream."""
    out = logging.StreamHandler()
    out.setFormatter(JsonLines())
    _LOG.handlers[:] = [out]
    _LOG.setLevel(level.upper())
    _LOG.propagate = False


def where(error: BaseException) -> list[str]:
    """Return where the error was raised, the innermost frame last; no values, no messages."""
    frames = traceback.extract_tb((error.__cause__ or error).__traceback__)
    return [f"{each.filename.rpartition('/')[2]}:{each.lineno} {each.name}" for each in frames[-8:]]
