"""Runs tools: the only place that knows a token, and in which an action needs its grant.

    executor = Executor(Registry([get_plan, request_callback], locales=("en", "es")))
    outcome = await executor.read(call, principal=context.principal, locale=context.locale)

Whatever is wrong is an outcome and not an exception; each call has its pair of events.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from time import monotonic
from typing import Final, Literal

from pydantic import JsonValue

from turnwire.clock import Now, system_now
from turnwire.events import ActionCompleted, ToolCompleted, ToolStarted
from turnwire.graph.acting import finish
from turnwire.graph.emit import Speaker, speaker
from turnwire.graph.plain import preview, preview_arguments
from turnwire.nodes.guardrails.pii_rules import PiiRules
from turnwire.nodes.tools.arguments import hash_of
from turnwire.nodes.tools.authority import CREDENTIALS, GRANTS
from turnwire.nodes.tools.calling import Returned, call_upstream, log_failure
from turnwire.nodes.tools.decision import Decision, read_decision
from turnwire.nodes.tools.registry import Registry
from turnwire.nodes.tools.summaries import summary
from turnwire.nodes.tools.texts import text
from turnwire.nodes.tools.tool import (
    SIGN_IN_REQUIRED,
    Call,
    Caller,
    Credentials,
    Outcome,
    Proposal,
    Tool,
)
from turnwire.storage.audit import Ended, Grants
from turnwire.work import EXPIRED

_UNKNOWN: Final = "outcome_unknown"


class Executor:
    """Runs the tools of a registry for members; see :class:`turnwire.nodes.tools.tool.Actions`.

    Args:
        tools: which there are.
        rules: the policy's ``pii``; previews of arguments and results are redacted by it.
        credentials: where members' credentials are; none: where the server that runs has them.
        grants: where confirmations are; none: where the server that runs has them.
        now: tells whether a credential has expired.
    """

    def __init__(
        self,
        tools: Registry,
        *,
        rules: PiiRules | None = None,
        credentials: Credentials | None = None,
        grants: Grants | None = None,
        now: Now = system_now,
    ) -> None:
        self.tools = tools
        self._shown = (rules or PiiRules()).log_text
        self._own_credentials = credentials
        self._own_grants = grants
        self._now = now

    async def read(self, call: Call, *, principal: str, locale: str) -> Outcome:
        """See :class:`turnwire.nodes.tools.tool.Actions`."""
        said = speaker()
        self._begin(said, call)
        tool = self._readable(call, locale)
        if isinstance(tool, Outcome):
            return await self._told(said, tool)
        caller = await self._caller(tool, principal, locale)
        if isinstance(caller, str):
            return await self._told(said, _refused(call, caller, locale))
        began = monotonic()
        ended = await self._upstream(tool, call, caller)
        return await self._told(said, _outcome(call, ended, locale, began))

    def propose(self, call: Call, *, principal: str, locale: str) -> Proposal | Outcome:
        """See :class:`turnwire.nodes.tools.tool.Actions`."""
        tool = self._callable(call, locale)
        if not isinstance(tool, Outcome) and tool.risk == "read":
            tool = _refused(call, "needs_no_confirmation", locale)
        if isinstance(tool, Outcome):
            said = speaker()
            self._begin(said, call)
            said.emit(_completed(tool, None))
            return tool
        shown = self._preview(call.arguments)
        return Proposal(
            call=call,
            risk=tool.risk,
            summary=summary(tool.summary, locale, shown, tool.in_words),
            arguments_preview=shown,
            arguments_hash=hash_of(call.name, call.arguments),
            expires_in=tool.expires_in,
        )

    async def decided(
        self, proposal: Proposal, answer: JsonValue, *, principal: str, locale: str
    ) -> Outcome:
        """See :class:`turnwire.nodes.tools.tool.Actions`.

        Once it has begun, an action goes on to its end although the run is cancelled.
        """
        decision = read_decision(answer)
        said = speaker()
        if decision.is_late:
            expired = _refused(proposal.call, EXPIRED, locale)
            said.emit(_action(decision, "error", expired.error))
            return expired
        if not decision.approves:
            said.emit(_action(decision, "rejected"))
            result: JsonValue = {"feedback": decision.feedback}
            return replace(_refused(proposal.call, "rejected", locale), result=result)
        outcomes: list[Outcome] = []

        async def act() -> None:
            outcome = await self._act(said, proposal, decision, principal, locale)
            failed = outcome.error if outcome.status == "error" else None
            said.emit(_action(decision, outcome.status, failed))
            outcomes.append(outcome)

        await finish(act())
        return outcomes[0]

    async def _act(
        self, said: Speaker, proposal: Proposal, decision: Decision, principal: str, locale: str
    ) -> Outcome:
        """Take the grant and do what it grants; whatever happens is an outcome and is noted."""
        call, grants = proposal.call, self._own_grants or GRANTS.get()
        hashed, confirmation = hash_of(call.name, call.arguments), decision.confirmation_id
        try:
            granted = hashed == proposal.arguments_hash and await grants.take_grant(
                confirmation, principal=principal, tool=call.name, arguments_hash=hashed
            )
        except Exception as error:  # the store can't be written: then nothing is done
            log_failure(call.name, "confirmation_unavailable", error)
            granted = False
        if not granted:
            return _refused(call, "confirmation_unavailable", locale)
        self._begin(said, call)
        ended, began = await self._granted(call, confirmation, principal, locale)
        outcome = _outcome(call, ended, locale, began)
        known: Ended = "ok" if ended.code is None else "tool_failed"
        known = "unknown" if outcome.code == _UNKNOWN else known
        try:
            await grants.note_outcome(confirmation, known, code=outcome.code, receipt=ended.receipt)
        except Exception as error:  # what happened has happened, and is told
            log_failure(call.name, "audit_unavailable", error)
        return await self._told(said, outcome)

    async def _granted(
        self, call: Call, confirmation: str, principal: str, locale: str
    ) -> tuple[Returned, float]:
        """Do an action that was granted; return how it ended and when it began."""
        tool, began = self._callable(call, locale), monotonic()
        if isinstance(tool, Outcome):  # the tools are others than when it was proposed
            return Returned(tool.code, public=tool.error), began
        caller = await self._caller(tool, principal, locale)
        if isinstance(caller, str):
            return Returned(caller, public=text(caller, locale)), began
        caller = replace(caller, idempotency_key=confirmation)
        ended = await self._upstream(tool, call, caller)
        if ended.code is not None and ended.happened is None and tool.idempotent:
            ended = await self._upstream(tool, call, caller)
        return ended, began

    async def _upstream(self, tool: Tool, call: Call, caller: Caller) -> Returned:
        """Call the upstream; a token that it refuses is dropped."""
        ended = await call_upstream(tool, call, caller)
        if ended.code == SIGN_IN_REQUIRED and caller.token is not None:
            await self._drop(tool, caller.principal, caller.token)
        return ended

    def _callable(self, call: Call, locale: str) -> Tool | Outcome:
        """Return the tool of a call that may be made, or why it may not."""
        tool = self.tools.tool(call.name)
        if tool is None:
            return _refused(call, "unknown_tool", locale)
        wrong = self.tools.wrong(tool, call.arguments)
        if wrong:
            refused = _refused(call, "invalid_arguments", locale)
            return replace(refused, error=f"{refused.error} ({'; '.join(wrong)}).")
        return tool

    def _readable(self, call: Call, locale: str) -> Tool | Outcome:
        tool = self._callable(call, locale)
        if not isinstance(tool, Outcome) and tool.risk != "read":
            return _refused(call, "needs_confirmation", locale)
        return tool

    async def _caller(self, tool: Tool, principal: str, locale: str) -> Caller | str:
        """Return for whom the tool runs, or the code of why it does not."""
        caller = Caller(principal=principal, locale=locale)
        if not tool.needs_sign_in and not tool.scopes:
            return caller
        try:
            async with asyncio.timeout(tool.timeout):
                credential = await self._credentials.credential(principal)
        except Exception as error:  # then nobody is known to be signed in
            log_failure(tool.name, SIGN_IN_REQUIRED, error)
            credential = None
        if credential is None:
            return SIGN_IN_REQUIRED
        if credential.expires_ms is not None and credential.expires_ms <= self._now():
            return SIGN_IN_REQUIRED
        if not tool.scopes <= credential.scopes:
            return "not_allowed"
        return replace(caller, token=credential.token)

    async def _drop(self, tool: Tool, principal: str, token: str) -> None:
        """Let go of a token that the upstream has refused, so that the member can sign in again."""
        try:
            async with asyncio.timeout(tool.timeout):
                await self._credentials.refused(principal, token)
        except Exception as error:  # then it is refused once more
            log_failure(tool.name, SIGN_IN_REQUIRED, error)

    @property
    def _credentials(self) -> Credentials:
        return self._own_credentials or CREDENTIALS.get()

    def _begin(self, said: Speaker, call: Call) -> None:
        shown = self._preview(call.arguments)
        said.emit(ToolStarted(tool_call_id=call.tool_call_id, name=call.name, arguments=shown))

    async def _told(self, said: Speaker, outcome: Outcome) -> Outcome:
        """Say that a call ended, and return its outcome."""
        shown = await asyncio.to_thread(preview, outcome.result, text=self._shown)
        said.emit(_completed(outcome, shown))
        return outcome

    def _preview(self, arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        return preview_arguments(dict(arguments), text=self._shown)


def _refused(call: Call, code: str, locale: str) -> Outcome:
    return Outcome(call=call, status="error", error=text(code, locale), code=code)


def _outcome(call: Call, ended: Returned, locale: str, began: float) -> Outcome:
    took = round((monotonic() - began) * 1000)
    if ended.code is None:
        return Outcome(call=call, status="ok", result=ended.result, duration_ms=took)
    code = _UNKNOWN if ended.happened is None else ended.code
    public = text(code, locale) if code == _UNKNOWN or ended.public is None else ended.public
    return Outcome(call=call, status="error", error=public, code=code, duration_ms=took)


def _completed(outcome: Outcome, shown: JsonValue) -> ToolCompleted:
    call = outcome.call
    return ToolCompleted(
        tool_call_id=call.tool_call_id,
        name=call.name,
        status=outcome.status,
        duration_ms=outcome.duration_ms,
        result=shown,
        error=outcome.error,
        code=outcome.code,
    )


def _action(
    decision: Decision, status: Literal["ok", "rejected", "error"], error: str | None = None
) -> ActionCompleted:
    return ActionCompleted(
        confirmation_id=decision.confirmation_id,
        decision="approve" if decision.approves else "reject",
        status=status,
        error=error,
    )
