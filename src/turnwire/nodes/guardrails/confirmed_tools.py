"""Instructions that a tool brought reach no other tool without the member's word.

    guarded = ConfirmedTools(policy)
    graph.add_node("confirm", guarded.confirm)
    graph.add_node("tools", ToolNode(tools, **guarded.wrappers))
    graph.add_edge("confirm", "tools")  # the model's calls go to "confirm"

    async def ask(state):
        reading = guarded.read(state["messages"])
        return {"messages": [await model.bind_tools(tools).ainvoke(reading.messages)]}

As long as the model is shown a text with instructions in it, each call waits for the member.
All are asked for before any of them runs, in a node of their own: LangGraph runs a node again from
its start after each answer, and what would have run there would run again.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from pydantic import JsonValue

from turnwire.errors import SetupError
from turnwire.events import GuardrailDecided, GuardrailDecision
from turnwire.graph.emit import speaker
from turnwire.graph.pause import ask
from turnwire.graph.plain import preview_arguments
from turnwire.nodes.guardrails.confirmations import (
    Ending,
    Word,
    is_no,
    read_word,
    rejection,
    with_words,
    word_on,
)
from turnwire.nodes.guardrails.details import Reading
from turnwire.nodes.guardrails.evidence import Screen
from turnwire.nodes.guardrails.policy import Policy
from turnwire.nodes.guardrails.quoted import note_of, noted, quoted, screened, text_of
from turnwire.nodes.guardrails.tool_calls import PrivateTools
from turnwire.nodes.guardrails.tool_messages import (
    AsyncExecute,
    Execute,
    Result,
    Wrappers,
    change_messages,
    locale_of,
    messages_of,
    passages_of,
)

SUMMARY: Final[Mapping[str, str]] = {
    "en": "Run “{name}”? A text that the assistant read contains instructions to it.",
    "es": "¿Ejecutar «{name}»? Un texto que leyó el asistente contiene instrucciones para él.",
}


@dataclass(frozen=True, slots=True)
class _Open:
    """A message of the model whose calls have to be asked for."""

    message: AIMessage
    calls: Sequence[tuple[ToolCall, Mapping[str, JsonValue]]]
    """Each with the question to the member."""
    decisions: Sequence[GuardrailDecision]
    """On texts that no wrapper saw."""


class ConfirmedTools:
    """Asks the member about the calls that instructions in a found text may have caused.

    Args:
        policy: whose ``injection`` rules say what instructions are. Under ``evidence.injection:
            drop`` a result with such is withheld from the model, and nobody has to be asked.
        private: keeps private details from the model as well.
        unguarded: names of tools that run unasked, because nothing that they do can harm.
        messages: returns, of the graph's state, the messages that the model was shown.
        found: returns, of the graph's state, other texts that it was shown: by default the
            passages under ``evidence``.
        expires_in: seconds that a call waits for the member's word.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        private: PrivateTools | None = None,
        unguarded: Collection[str] = (),
        messages: Callable[[Any], Sequence[BaseMessage]] = messages_of,
        found: Callable[[Any], Sequence[str]] = passages_of,
        expires_in: float = 600.0,
    ) -> None:
        self._policy = policy
        self._screen = Screen(policy)
        self._private = private
        self._unguarded = frozenset(unguarded)
        self._messages = messages
        self._found = found
        self._expires_in = expires_in

    @property
    def wrappers(self) -> Wrappers:
        """The arguments for ``ToolNode``."""
        return {"wrap_tool_call": self.wrap, "awrap_tool_call": self.awrap}

    def read(self, messages: Sequence[BaseMessage], *, locale: str | None = None) -> Reading:
        """Return the messages as a model may read them: what tools returned is quoted."""
        reading = Reading(list(messages), {})
        if self._private is not None:
            reading = self._private.read(messages, locale=locale)
        shown = [
            quoted(each) if isinstance(each, ToolMessage) else each for each in reading.messages
        ]
        return Reading(shown, reading.mapping)

    async def confirm(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any]:  # noqa: ANN401
        """Ask about the calls of the model's last message, where there is a reason to.

        This is the node before the ``ToolNode``.
        """
        locale = locale_of(runtime, self._policy.default_locale)
        asked = await asyncio.to_thread(self._open, state, locale)
        if asked is None:
            return {}
        words = [
            (call, read_word(call, ask("confirmation", question, expires_in=self._expires_in)))
            for call, question in asked.calls
        ]
        # Said after the last question, for what stands before one happens again.
        _tell(asked.decisions)
        return {"messages": [with_words(asked.message, words)]}

    def wrap(self, request: ToolCallRequest, execute: Execute) -> Result:
        """Make one call, unless the member refused it."""
        word = self._word_on(request)
        if word is not None and is_no(word):
            return rejection(request.tool_call, word)
        said: list[GuardrailDecision] = []

        def run(inner: ToolCallRequest) -> Result:
            return self._looked_at(execute(inner), said)

        with Ending(word) as ending:
            result = self._private.wrap(request, run) if self._private else run(request)
            ending.result = result
        _tell(said)
        return result

    async def awrap(self, request: ToolCallRequest, execute: AsyncExecute) -> Result:
        """Make one call, unless the member refused it."""
        # In threads: a long text takes a while, and others are waiting.
        word = await asyncio.to_thread(self._word_on, request)
        if word is not None and is_no(word):
            return rejection(request.tool_call, word)
        said: list[GuardrailDecision] = []

        async def run(inner: ToolCallRequest) -> Result:
            return await asyncio.to_thread(self._looked_at, await execute(inner), said)

        with Ending(word) as ending:
            result = await (self._private.awrap(request, run) if self._private else run(request))
            ending.result = result
        _tell(said)
        return result

    def _looked_at(self, result: Result, said: list[GuardrailDecision]) -> Result:
        def look(message: ToolMessage) -> ToolMessage:
            screening = self._screen.look([text_of(message)])
            if screening is None:
                return noted(message, screened(None))
            said.append(screening.decision)
            drops = self._policy.evidence.injection == "drop"
            return noted(message, screened(screening.decision.reason, withheld=drops))

        return change_messages(result, look)

    def _word_on(self, request: ToolCallRequest) -> Word | None:
        """Return what the member said about the call, or none where nobody has to be asked.

        Raises:
            SetupError: the member was not asked.
        """
        call = request.tool_call
        if not self._is_guarded(call) or not self._reasons(request.state)[0]:
            return None
        word = word_on(call, self._messages(request.state))
        if word is None:
            raise SetupError(
                f"The tool '{call['name']}' may only run after the member's word: add the node "
                "ConfirmedTools.confirm to the graph, between the model and the ToolNode."
            )
        return word

    def _open(self, state: Any, locale: str) -> _Open | None:  # noqa: ANN401
        messages = self._messages(state)
        message = next((each for each in reversed(messages) if isinstance(each, AIMessage)), None)
        calls = [each for each in message.tool_calls if self._is_guarded(each)] if message else []
        if message is None or not calls:
            return None
        reasons, decisions = self._reasons(state)
        if not reasons:
            return None
        asked = [(each, self._question(each, reasons, locale)) for each in calls]
        return _Open(message, asked, decisions)

    def _is_guarded(self, call: ToolCall) -> bool:
        return call["name"] not in self._unguarded

    def _reasons(self, state: Any) -> tuple[Sequence[str], Sequence[GuardrailDecision]]:  # noqa: ANN401
        """Return why calls have to be confirmed, and what of it nobody has said yet."""
        reasons: dict[str, None] = {}
        texts = list(self._found(state))
        for each in self._messages(state):
            if not isinstance(each, ToolMessage):
                continue
            note = note_of(each)
            if note is None:
                texts.append(text_of(each))
            elif note["reason"] and not note["withheld"]:
                reasons[note["reason"]] = None
        screening = self._screen.look(texts)
        if screening is None:
            return list(reasons), ()
        return [*reasons, screening.decision.reason or ""], (screening.decision,)

    def _question(
        self, call: ToolCall, reasons: Sequence[str], locale: str
    ) -> Mapping[str, JsonValue]:
        summary = SUMMARY.get(locale.split("-")[0], SUMMARY["en"])
        shown = partial(self._policy.pii.log_text, locale=locale)
        return {
            "tool_call_id": call["id"],
            "name": call["name"],
            "summary": summary.replace("{name}", call["name"]),
            "arguments_preview": preview_arguments(call["args"], text=shown),
            "risk": "write",
            "reasons": list(reasons),
        }


def _tell(decisions: Sequence[GuardrailDecision]) -> None:
    said = speaker()
    for each in decisions:
        said.emit(GuardrailDecided(decision=each))
