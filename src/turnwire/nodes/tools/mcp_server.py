"""How an operator names an MCP server whose tools are to be used."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from turnwire.nodes.tools.tool import Risk


class McpServer(BaseModel):
    """Where a server is and what its tools may do: ``url``, or ``command`` with ``args``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str | None = None
    """Of its streamable HTTP endpoint."""
    headers: Mapping[str, str] = Field(default_factory=dict[str, str], repr=False)
    """What each request carries, such as the server's key."""
    command: str | None = None
    """A program that speaks over its standard streams; started for each call."""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = Field(default_factory=dict[str, str], repr=False)
    risk: Risk = "write"
    """Of every tool that is not named in ``risks``."""
    risks: Mapping[str, Risk] = {}
    """By the server's own names; ``read``: it changes nothing and may run without a question."""
    timeout: float = Field(default=10.0, gt=0)
    """Seconds for a call, and for the list of tools at the start."""

    @model_validator(mode="after")
    def _is_somewhere(self) -> "McpServer":
        if (self.url is None) == (self.command is None):
            raise ValueError("give the server's url or its command, one of them")
        return self

    def connection(self) -> dict[str, Any]:
        """Return it as the adapters take it."""
        if self.url is not None:
            return {
                "transport": "streamable_http",
                "url": self.url,
                "headers": dict(self.headers),
                "timeout": self.timeout,
            }
        return {
            "transport": "stdio",
            "command": self.command,
            "args": list(self.args),
            "env": dict(self.env) or None,
        }
