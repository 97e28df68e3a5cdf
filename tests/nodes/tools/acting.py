"""Tools of a pretended call centre, a book of grants, and what is said while they run."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pydantic import JsonValue

from tests.graph.stage import Host, Played, line
from turnwire.events import ActionCompleted, BaseEvent, ToolCompleted, ToolStarted
from turnwire.nodes.tools.executor import Executor
from turnwire.nodes.tools.registry import Registry
from turnwire.nodes.tools.tool import Call, Caller, Credential, Outcome, Proposal, Tool
from turnwire.storage.audit import Ended

T = TypeVar("T")
WHO, CNF = "member:1", "cnf_1"
REASON: dict[str, JsonValue] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["reason"],
    "properties": {"reason": {"type": "string", "maxLength": 60}, "times": {"type": "integer"}},
}


class Desk:
    """What a tool does when it is called, and with what it was."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.calls: list[tuple[dict[str, Any], Caller]] = []
        self.called = asyncio.Event()

    async def run(self, arguments: Mapping[str, JsonValue], caller: Caller) -> Any:  # noqa: ANN401
        self.calls.append((dict(arguments), caller))
        self.called.set()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, float):
            await asyncio.sleep(answer)
        return answer


def tool(desk: Desk, **about: Any) -> Tool:  # noqa: ANN401
    made = Tool(
        name="ask_adviser",
        description="Ask an adviser to call back.",
        parameters=REASON,
        run=desk.run,
        summary={"en": "Ask an adviser about: {reason}", "es": "Pedir un asesor: {reason}"},
    )
    return replace(made, **about)


def action(desk: Desk, **about: Any) -> Tool:  # noqa: ANN401
    return tool(desk, **{"risk": "send", "receipt": "callback_id", **about})


def call(name: str = "ask_adviser", **arguments: JsonValue) -> Call:
    return Call(tool_call_id="call_1", name=name, arguments=arguments)


@dataclass
class Book:
    """Grants as a store keeps them, and what was noted."""

    granted: dict[str, tuple[str, str, str]] = field(default_factory=dict[str, Any])
    noted: list[tuple[str, Ended, str | None, str | None]] = field(default_factory=list[Any])
    wrote: asyncio.Event = field(default_factory=asyncio.Event)

    def approve(self, proposal: Proposal, *, principal: str = WHO, by: str = CNF) -> None:
        self.granted[by] = (principal, proposal.call.name, proposal.arguments_hash)

    async def take_grant(
        self, confirmation_id: str, *, principal: str, tool: str, arguments_hash: str
    ) -> bool:
        wanted = (principal, tool, arguments_hash)
        if self.granted.get(confirmation_id) != wanted:
            return False
        del self.granted[confirmation_id]
        return True

    async def note_outcome(
        self, confirmation_id: str, ended: Ended, *, code: str | None, receipt: str | None
    ) -> None:
        self.noted.append((confirmation_id, ended, code, receipt))
        self.wrote.set()


@dataclass
class Signed:
    """Who is signed in."""

    token: str | None = "CANARY-token"
    scopes: frozenset[str] = frozenset()
    expires_ms: int | None = None

    async def credential(self, principal: str, /) -> Credential | None:
        if self.token is None:
            return None
        return Credential(token=self.token, scopes=self.scopes, expires_ms=self.expires_ms)

    async def refused(self, principal: str, token: str, /) -> None:
        assert principal == WHO
        if self.token == token:
            self.token = None


def executor(*tools: Tool, book: Book | None = None, signed: Signed | None = None) -> Executor:
    return Executor(
        Registry(tools, locales=("en", "es")), grants=book or Book(), credentials=signed or Signed()
    )


async def heard(work: Callable[[], Awaitable[T]]) -> tuple[T, list[BaseEvent]]:
    """Do something inside a node; return what it returned, and what was said of tools."""
    returned: list[T] = []

    async def node(_: object) -> dict[str, Any]:
        returned.append(await work())
        return {}

    played: Played = await Host(line(node=node)).play()
    said = [
        each
        for each in played.events
        if isinstance(each, ToolStarted | ToolCompleted | ActionCompleted)
    ]
    return returned[0], [*said]


async def approved(
    runs: Executor, book: Book, proposed: Call, *, locale: str = "en"
) -> tuple[Outcome, list[BaseEvent]]:
    """Propose and approve."""
    proposal = runs.propose(proposed, principal=WHO, locale=locale)
    assert isinstance(proposal, Proposal), proposal
    book.approve(proposal)
    return await heard(
        lambda: runs.decided(proposal, answer("approve"), principal=WHO, locale=locale)
    )


def answer(decision: str, feedback: str | None = None) -> JsonValue:
    return {"decision": decision, "feedback": feedback, "confirmation_id": CNF}
