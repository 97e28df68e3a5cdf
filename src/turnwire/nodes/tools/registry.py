"""Which tools there are: checked when a server starts, and told to models."""

import re
import string
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from turnwire.errors import SetupError
from turnwire.nodes.tools.arguments import Judge
from turnwire.nodes.tools.tool import Tool

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
_RISKS: Final = ("read", "write", "send")


class Registry:
    """Tools by their names, each with the judge of its arguments.

    Args:
        tools: each with a name of its own.
        locales: the languages in which members are asked; each action needs a summary in each.

    Raises:
        SetupError: one of the tools can't be used; the text names it and what to do.
    """

    def __init__(self, tools: Sequence[Tool], *, locales: Collection[str] = ("en",)) -> None:
        self._tools: dict[str, Tool] = {}
        self._judges: dict[str, Judge] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise SetupError(f"two tools are called {tool.name!r}; rename one of them")
            self._judges[tool.name] = _checked(tool, locales)
            self._tools[tool.name] = tool

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def tool(self, name: str) -> Tool | None:
        """Return the tool of that name, or none."""
        return self._tools.get(name)

    def wrong(self, tool: Tool, arguments: Mapping[str, Any]) -> Sequence[str]:
        """Return what is wrong with a call's arguments; none if it may be made."""
        return self._judges[tool.name].reasons(arguments)

    def specs(self) -> list[dict[str, Any]]:
        """Return the tools as ``bind_tools`` of any chat model of LangChain takes them."""
        return [
            {
                "type": "function",
                "function": {
                    "name": each.name,
                    "description": each.description,
                    "parameters": dict(each.parameters),
                },
            }
            for each in self
        ]


def _checked(tool: Tool, locales: Collection[str]) -> Judge:
    """Return the judge of a tool's arguments, or raise :class:`SetupError`."""

    _check_facts(tool)
    schema = tool.parameters
    if schema.get("type") != "object" or schema.get("additionalProperties") is not False:
        raise _refused(
            tool,
            "takes arguments that are not a closed object",
            'give "type": "object" and "additionalProperties": false in its parameters',
        )
    try:
        judge = Judge(schema)
    except ValueError as error:
        raise _refused(tool, f"has parameters whose schema {error}", "mend the schema") from None
    if tool.risk != "read":
        _check_summaries(tool, locales)
    return judge


def _refused(tool: Tool, fault: str, mend: str) -> SetupError:
    return SetupError(f"tool {tool.name!r} {fault}; {mend}")


def _check_facts(tool: Tool) -> None:
    if not _NAME.fullmatch(tool.name):
        raise _refused(
            tool,
            "has a name that models do not take",
            "use lower case, digits and _, a letter first, 64 characters at most",
        )
    if not tool.description.strip():
        raise _refused(tool, "has no description", "say what it does and when to use it")
    if tool.risk not in _RISKS:
        raise _refused(tool, f"has the risk {tool.risk!r}", f"use one of {', '.join(_RISKS)}")
    if tool.timeout <= 0 or tool.expires_in <= 0:
        raise _refused(tool, "has a timeout or expires_in of 0", "give each more than 0 seconds")


def _check_summaries(tool: Tool, locales: Collection[str]) -> None:
    missing = [each for each in locales if each not in tool.summary]
    if missing:
        raise SetupError(
            f"tool {tool.name!r} is an action without a summary in {', '.join(missing)}; say in "
            "its summary, by locale, what the member is asked"
        )
    properties = tool.parameters.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    for locale, template in tool.summary.items():
        for name in fields_of(template):
            if name not in known:
                raise SetupError(
                    f"tool {tool.name!r} has a summary in {locale!r} with {{{name}}}, which is "
                    "none of its parameters; name one of them, or write {{ and }} for braces"
                )


def fields_of(template: str) -> list[str]:
    """Return the names in braces; a template that can't be read has the field ``?``."""
    try:
        parsed = list(string.Formatter().parse(template))
    except ValueError:
        return ["?"]
    return [
        f"{name}{'?' if form or how else ''}" for _, name, form, how in parsed if name is not None
    ]
