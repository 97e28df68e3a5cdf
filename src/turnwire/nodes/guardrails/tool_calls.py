"""Private details around the tools of any graph: what goes into a call, and what comes out.

    private = PrivateTools(policy.pii)
    graph.add_node("tools", ToolNode(tools, **private.wrappers))

    async def ask(state):
        reading = private.read(state["messages"])
        answer = await model.bind_tools(tools).ainvoke(reading.messages)
        return {"messages": [answer]}

The model reads ``[PHONE_1]`` and calls the tool with it; the tool gets the number, if the policy's
sink ``tools`` lets it. What the tool returns is redacted before the model reads it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from pydantic import JsonValue

from turnwire.events import ToolCompleted, ToolStarted
from turnwire.graph.emit import speaker
from turnwire.graph.plain import change, preview_arguments
from turnwire.nodes.guardrails.details import (
    KEPT_AT,
    Concealer,
    Reading,
    hide,
    read,
    restore,
)
from turnwire.nodes.guardrails.inside import change_content
from turnwire.nodes.guardrails.pii import PLACEHOLDER, PiiKind, placeholder_kind
from turnwire.nodes.guardrails.pii_rules import PiiRules
from turnwire.nodes.guardrails.redactor import mask
from turnwire.nodes.guardrails.tool_messages import (
    AsyncExecute,
    Execute,
    Result,
    Wrappers,
    change_messages,
    locale_of,
    messages_of,
)

REFUSED: Final = (
    "This call was not made: private details ({kind}) may not be given to tools. Do not repeat it "
    "with them; go on without this tool."
)
WITHHELD: Final = "The result was withheld: it holds private details ({kind})."


class PrivateTools:
    """Keeps private details from the model and, as the policy says, from the tools.

    Args:
        rules: the policy's ``pii``; its sinks ``model`` and ``tools`` are what counts here.
        locale: the language of the texts where the turn's context does not tell.
        messages: returns, of the graph's state, the messages that the model was shown. A graph
            that shows its model only some of them gives the same function to both.
    """

    def __init__(
        self,
        rules: PiiRules,
        *,
        locale: str = "en",
        messages: Callable[[Any], Sequence[BaseMessage]] = messages_of,
    ) -> None:
        self._rules = rules
        self._locale = locale
        self._messages = messages

    @property
    def wrappers(self) -> Wrappers:
        """The arguments for ``ToolNode``."""
        return {"wrap_tool_call": self.wrap, "awrap_tool_call": self.awrap}

    def read(self, messages: Sequence[BaseMessage], *, locale: str | None = None) -> Reading:
        """Return the messages as a model may read them."""
        return read(messages, self._rules, locale=locale or self._locale)

    def wrap(self, request: ToolCallRequest, execute: Execute) -> Result:
        """Make one call, or refuse it."""
        call = self._begin(request)
        if call.refused is not None:
            return call.refusal()
        return call.conceal(execute(call.request))

    async def awrap(self, request: ToolCallRequest, execute: AsyncExecute) -> Result:
        """Make one call, or refuse it."""
        # In threads: a long text takes a while, and others are waiting.
        call = await asyncio.to_thread(self._begin, request)
        if call.refused is not None:
            return call.refusal()
        return await asyncio.to_thread(call.conceal, await execute(call.request))

    def _begin(self, request: ToolCallRequest) -> "_Call":
        locale = locale_of(cast("object", request.runtime), self._locale)
        messages = self._messages(request.state)
        mapping = self.read(messages, locale=locale).mapping
        return _Call(request, self._rules, locale, mapping, _share(messages, request))


class _Call:
    """One call: what the tool is given, and its result as the model may read it."""

    def __init__(
        self,
        request: ToolCallRequest,
        rules: PiiRules,
        locale: str,
        mapping: Mapping[str, str],
        share: tuple[int, int],
    ) -> None:
        self._rules = rules
        self._asked = request.tool_call
        self._locale = locale
        self._mapping = mapping
        self._share = share
        self._masking = rules.masking("tools")
        self._names = rules.names("tools", locale)
        self._actions = {
            each: self._masking.actions.get(placeholder_kind(each), "none") for each in mapping
        }
        self._hidden = {
            each: mapping[each] for each, action in self._actions.items() if action == "redact"
        }
        self.refused: PiiKind | None = None
        """The kind of private detail for which the call is not made."""
        args = change(self._asked["args"], self._given)
        self.request = request.override(tool_call={**self._asked, "args": args})
        self._preview: dict[str, JsonValue] = {}
        if self.refused is not None:  # made here, in a thread
            shown = partial(rules.log_text, locale=locale)
            self._preview = preview_arguments(self._asked["args"], text=shown)

    def refusal(self) -> ToolMessage:
        """Tell the client and the model that the call was not made."""
        call_id, name = self._asked["id"] or "", self._asked["name"]
        kind = str(self.refused)
        said = speaker()
        said.emit(ToolStarted(tool_call_id=call_id, name=name, arguments=self._preview))
        error = f"private details ({kind}) may not be given to tools"
        said.emit(ToolCompleted(tool_call_id=call_id, name=name, status="error", error=error))
        return self._told(REFUSED.format(kind=kind))

    def conceal(self, result: Result) -> Result:
        """Return the result as the model may read it."""
        return change_messages(result, self._concealed)

    def _given(self, text: str) -> str:
        """Return what a tool gets for a text that the model wrote."""
        named = {
            each: self._actions[each] for each in PLACEHOLDER.findall(text) if each in self._actions
        }
        blocked = next((each for each, action in named.items() if action == "block"), None)
        if blocked is not None:
            self.refused = self.refused or placeholder_kind(blocked)
            return text
        own = {each: self._mapping[each] for each, action in named.items() if action == "none"}
        masked = mask(hide(text, self._hidden), self._masking, names=self._names)
        self.refused = self.refused or masked.blocked
        return restore(masked.text, own)

    def _concealed(self, message: ToolMessage) -> ToolMessage:
        masking = self._rules.masking("model")
        names = self._rules.names("model", self._locale)
        blocked: list[PiiKind] = []

        def look(text: str) -> str:
            found = mask(text, masking, names=names).blocked
            blocked.extend([found] if found else [])
            return text

        if "block" in masking.actions.values():
            change_content(message.content, look)
        if blocked:
            return self._told(WITHHELD.format(kind=blocked[0]), of=message)
        concealer = Concealer(self._rules, self._mapping, names=names, share=self._share)
        content = change_content(message.content, concealer.conceal)
        new = {key: value for key, value in concealer.mapping.items() if key not in self._mapping}
        metadata = cast("Mapping[str, Any]", message.response_metadata)
        kept = {**metadata, KEPT_AT: new} if new else dict(metadata)
        return message.model_copy(update={"content": content, "response_metadata": kept})

    def _told(self, text: str, *, of: ToolMessage | None = None) -> ToolMessage:
        return ToolMessage(
            content=text,
            name=self._asked["name"],
            tool_call_id=of.tool_call_id if of else self._asked["id"] or "",
            id=of.id if of else None,
            status="error",
        )


def _share(messages: Sequence[BaseMessage], request: ToolCallRequest) -> tuple[int, int]:
    """Return which of the calls that are made at once this is, and of how many."""
    for each in reversed(messages):
        if isinstance(each, AIMessage) and each.tool_calls:
            ids = [call["id"] for call in each.tool_calls]
            if request.tool_call["id"] in ids:
                return ids.index(request.tool_call["id"]), len(ids)
    return 0, 1
