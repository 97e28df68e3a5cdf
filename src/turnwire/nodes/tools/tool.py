"""What a tool is.

A model proposes business arguments and nothing else: who asks, and the token by which the upstream
knows them, are added where the tool runs, and stand in no prompt, state, event or log.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from pydantic import JsonValue

Risk = Literal["read", "write", "send"]
"""``read`` changes nothing and runs at once; the others wait for the member's confirmation."""

SIGN_IN_REQUIRED: Final = "sign_in_required"
"""The code of a call that was refused because the member is not signed in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """What the upstream lets a signed-in member do."""

    token: str = field(repr=False)
    scopes: frozenset[str] = frozenset()
    expires_ms: int | None = None
    """Milliseconds since 1970 in UTC; none: the upstream says when it has expired."""


class Credentials(Protocol):
    """Where a member's credential is kept."""

    async def credential(self, principal: str, /) -> Credential | None:
        """Return the credential of ``principal``, or none where they are signed out."""
        ...

    async def refused(self, principal: str, token: str, /) -> None:
        """Sign ``principal`` out if this is still their token: the upstream takes it no more."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """For whom a tool runs; made in the executor, and kept nowhere."""

    principal: str
    locale: str
    token: str | None = field(default=None, repr=False)
    """The member's, where the tool needs their sign-in."""
    idempotency_key: str | None = None
    """Of an action: the same for the same confirmation, so that an upstream drops a repetition."""


class ToolFailed(Exception):
    """A tool could not do what it was asked; raised by what a tool runs.

    Args:
        public: what the member may read.
        code: what went wrong, for the model and for graphs; an open set. With
            ``sign_in_required`` the upstream has refused the member's token, and it is dropped.
        happened: false: nothing was done; none: nobody knows.
    """

    def __init__(
        self, public: str, *, code: str = "tool_failed", happened: Literal[False] | None = False
    ) -> None:
        super().__init__(public)
        self.public = public
        self.code = code
        self.happened: Literal[False] | None = happened


Run = Callable[[Mapping[str, JsonValue], Caller], Awaitable[JsonValue]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One thing that can be done for a member."""

    name: str
    """As models call it: lower case, digits and ``_``."""
    description: str
    """What it does and when to use it; models choose by it, and so do sentence vectors."""
    parameters: Mapping[str, JsonValue]
    """JSON Schema (2020-12) of the arguments: an object with ``additionalProperties: false``."""
    run: Run = field(repr=False)
    risk: Risk = "read"
    needs_sign_in: bool = False
    scopes: frozenset[str] = frozenset()
    """What the member's credential has to allow."""
    timeout: float = 10.0
    """Seconds until a call counts as failed."""
    expires_in: float = 600.0
    """Seconds that a proposed action waits for its confirmation."""
    idempotent: bool = False
    """Of an action: the upstream drops a repetition under the same ``idempotency_key``, so that a
    call whose end nobody knows is made once more."""
    receipt: str | None = None
    """Of an action: the member of its result by which the upstream names what it did, such as
    ``callback_id``; the audit keeps it."""
    summary: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the member is asked, by locale: ``Ask an adviser to call you back about: {reason}``."""
    in_words: Mapping[str, Callable[[str, str], str]] = field(
        default_factory=dict[str, Callable[[str, str], str]], repr=False
    )
    """How the summary says an argument that is text, from its value and the locale: a country by
    its name in the member's language."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call as a model or a rule proposes it."""

    tool_call_id: str
    name: str
    arguments: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a call ended."""

    call: Call
    status: Literal["ok", "error"]
    result: JsonValue = None
    error: str | None = None
    """What the member may read."""
    code: str | None = None
    """For the model; ``sign_in_required``, ``invalid_arguments``, ``timeout`` … an open set.

    ``outcome_unknown``: nobody knows whether an action happened. ``rejected``: the member said no,
    and ``result`` is ``{"feedback": …}``, what they said to it or null.
    """
    duration_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """An action that waits for the member's word; plain values, so that a checkpoint keeps it."""

    call: Call
    risk: Risk
    summary: str
    arguments_preview: Mapping[str, JsonValue]
    """A redacted copy, not what will run."""
    arguments_hash: str
    """SHA-256 of the tool's name and its arguments in canonical JSON."""
    expires_in: float


class Actions(Protocol):
    """Runs tools; the only place that knows a token."""

    async def read(self, call: Call, *, principal: str, locale: str) -> Outcome:
        """Run a tool of risk ``read`` now, and say its pair of events.

        Whatever is wrong is an outcome with ``status="error"``: unknown tool, arguments that do not
        pass the schema, no sign-in, a timeout, an upstream that fails.
        """
        ...

    def propose(self, call: Call, *, principal: str, locale: str) -> Proposal | Outcome:
        """Return what the member is asked about an action, or why it can't be proposed."""
        ...

    async def decided(
        self, proposal: Proposal, answer: JsonValue, *, principal: str, locale: str
    ) -> Outcome:
        """Do what the member decided, say how it ended (``action.completed``), and return that.

        ``answer`` is what :func:`turnwire.graph.pause.ask` returned:
        ``{"decision": "approve" | "reject", "feedback": str | None, "confirmation_id": str}``.
        The decision ``expired``, which the server tells in place of an answer that did not come in
        time, ends as an error with the code ``expired``. Anything else is a rejection. The action
        runs only with the confirmation's grant, which is for this principal, this tool and these
        arguments, and can be taken once.
        """
        ...
