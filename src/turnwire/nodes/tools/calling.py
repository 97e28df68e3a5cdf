"""One call of a tool's upstream: in its time, and ended in words of ours."""

import asyncio
import logging
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import JsonValue

from turnwire.errors import where
from turnwire.graph.plain import preview
from turnwire.ids import is_identifier, new_id
from turnwire.nodes.tools.results import NotPlain, plain
from turnwire.nodes.tools.tool import Call, Caller, Tool, ToolFailed

_LOG: Final = logging.getLogger("turnwire.tools")


@dataclass(frozen=True, slots=True)
class Returned:
    """How one call of an upstream ended."""

    code: str | None = None
    """None: well."""
    result: JsonValue = None
    receipt: str | None = None
    public: str | None = None
    happened: Literal[False] | None = False
    """Of a failure: nothing was done, or nobody knows."""


async def call_upstream(tool: Tool, call: Call, caller: Caller) -> Returned:
    """Run a tool and return how that ended; nothing is raised but a cancellation."""
    # Of what was sent and not answered nobody knows whether it was done.
    doubtful: Literal[False] | None = False if tool.risk == "read" else None
    try:
        async with asyncio.timeout(tool.timeout):
            returned = await tool.run(dict(call.arguments), caller)
    except ToolFailed as failed:
        return Returned(failed.code, public=failed.public, happened=failed.happened)
    except TimeoutError as error:
        log_failure(tool.name, "timeout", error)
        return Returned("timeout", happened=doubtful)
    except Exception as error:  # a tool may raise anything
        log_failure(tool.name, "tool_failed", error)
        return Returned("tool_failed", happened=doubtful)
    try:
        result = await asyncio.to_thread(plain, returned)
    except NotPlain as error:
        log_failure(tool.name, "bad_result", error)
        # An action was done, and that is what counts.
        return Returned("bad_result" if tool.risk == "read" else None)
    return Returned(result=preview(result), receipt=_receipt(tool, result))


def log_failure(tool: str, code: str, error: BaseException) -> None:
    """Tell the operators, without what the exception says: it may quote anybody."""
    found = [str(error)] if isinstance(error, NotPlain) else where(error)
    extra = {"error_id": new_id("err"), "code": code, "where": found}
    _LOG.warning("tool %s: %s", tool, type(error).__name__, extra=extra)


def _receipt(tool: Tool, result: JsonValue) -> str | None:
    """Return the upstream's name for what it did; what is no plain identifier is not kept."""
    named = result.get(tool.receipt) if tool.receipt and isinstance(result, dict) else None
    written = str(named) if isinstance(named, str | int) else ""
    return written if is_identifier(written) else None
