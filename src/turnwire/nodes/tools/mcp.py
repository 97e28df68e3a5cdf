"""Tools of MCP servers (Model Context Protocol), through LangChain's adapters.

What a server says of its tools is not believed: each is a ``write`` that waits for the member's
confirmation, unless the operator says otherwise. No server is given a member's token.
"""

import asyncio
import importlib
import logging
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, cast

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, ToolException
from pydantic import JsonValue

from turnwire.errors import SetupError
from turnwire.nodes.tools.mcp_server import McpServer
from turnwire.nodes.tools.registry import Registry
from turnwire.nodes.tools.tool import Caller, Tool, ToolFailed

_LOG: Final = logging.getLogger("turnwire.tools")
_FAILED: Final = "This did not work."
_LONGEST: Final = 1000
"""Characters of a description that a model reads of a server that others run."""


def connect(servers: Mapping[str, McpServer]) -> list[Tool]:
    """Return the tools of all servers that answer; see :func:`tools_of`. Waits for them.

    Raises:
        SetupError: the package for it is not installed.
    """
    if not servers:
        return []
    # In a thread: whoever builds a server may have a loop that runs.
    with ThreadPoolExecutor(1, thread_name_prefix="turnwire-mcp") as pool:
        return pool.submit(asyncio.run, tools_of(servers)).result()


async def tools_of(servers: Mapping[str, McpServer]) -> list[Tool]:
    """Return the tools of all servers that answer, named ``<server>_<tool>``.

    A server that does not answer and a tool that can't be used are told in the log and left out.
    """
    load = _adapters().load_mcp_tools
    found = await asyncio.gather(*(_listed(load, *each) for each in servers.items()))
    return [tool for tools in found for tool in tools]


def _adapters() -> Any:  # noqa: ANN401 - an optional package
    try:
        return importlib.import_module("langchain_mcp_adapters.tools")
    except ImportError:
        raise SetupError(
            "mcp_servers need the adapters: pip install 'turnwire[mcp]', or remove the setting"
        ) from None


async def _listed(load: Any, name: str, server: McpServer) -> list[Tool]:  # noqa: ANN401
    try:
        async with asyncio.timeout(server.timeout):
            listed = await load(None, connection=server.connection(), server_name=name)
    except Exception as error:  # the others work without it
        kind = type(error).__name__
        _LOG.warning("MCP server %s does not answer (%s); its tools are left out", name, kind)
        return []
    tools: list[Tool] = []
    for each in cast("Sequence[BaseTool]", listed):
        try:
            tool = _tool(name, server, each)
            Registry([tool])
        except SetupError as error:
            _LOG.warning("MCP server %s: %s; left out", name, error)
            continue
        tools.append(tool)
    return tools


def _tool(server_name: str, server: McpServer, adapted: BaseTool) -> Tool:
    risk = server.risks.get(adapted.name, server.risk)
    title = re.sub(r"[{}]", "", adapted.name)

    async def run(arguments: Mapping[str, JsonValue], caller: Caller) -> JsonValue:
        try:
            # Not `ainvoke`: LangGraph would tell of the call a second time.
            content, artifact = await cast("Any", adapted).coroutine(**arguments)
        except ToolException:
            # What was done before it failed only the server knows.
            raise ToolFailed(_FAILED, happened=False if risk == "read" else None) from None
        return _result(content, artifact)

    return Tool(
        name=re.sub(r"[^a-z0-9_]", "_", f"{server_name}_{adapted.name}".lower()),
        description=(adapted.description or adapted.name)[:_LONGEST],
        parameters=_closed(cast("Any", adapted.args_schema)),
        run=run,
        risk=risk,
        timeout=server.timeout,
        summary={"en": f"Run {title} ({server_name})", "es": f"Ejecutar {title} ({server_name})"},
    )


def _closed(schema: object) -> dict[str, JsonValue]:
    """Return the schema of arguments, without room for what it does not name."""
    given = cast("dict[str, JsonValue]", schema) if isinstance(schema, dict) else {}
    return {"type": "object", "properties": {}, **given, "additionalProperties": False}


def _result(content: Any, artifact: object) -> JsonValue:  # noqa: ANN401 - blocks, or a text
    if isinstance(artifact, Mapping):
        structured = cast("Mapping[str, JsonValue]", artifact).get("structured_content")
        if structured is not None:
            return structured
    return ToolMessage(content=content, tool_call_id="").text
