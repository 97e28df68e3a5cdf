"""Keep a thread's messages in an order that every provider takes.

A provider refuses a tool call without a result and a question without an answer, so a turn that
was cancelled, failed or lost is finished in words before the next one begins.
"""

from collections.abc import Sequence
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from turnwire.work import Message, Unsettled, Work

UNANSWERED: Final = "[This turn was interrupted before it was answered.]"
UNKNOWN_RESULT: Final = "This call was cancelled; it may or may not have run."


def new_messages(work: Work) -> list[BaseMessage]:
    """Return the turn's own messages; their ids tell later whether the thread has them."""
    return [_message(work.turn_id, n, each) for n, each in enumerate(work.messages)]


def repairs(stored: Sequence[BaseMessage], unsettled: Sequence[Unsettled]) -> list[BaseMessage]:
    """Return what has to be appended to ``stored`` before a new question is put."""
    added: list[BaseMessage] = _results(stored)
    known = {each.id for each in stored}
    # A turn that put its question to the thread repaired what was before it.
    began = [n for n, turn in enumerate(unsettled) if f"{turn.turn_id}:0" in known]
    for turn in unsettled[began[-1] if began else 0 :]:
        asked = [_message(turn.turn_id, n, each) for n, each in enumerate(turn.messages)]
        added += [each for each in asked if each.id not in known]
        last = added[-1] if added else (stored[-1] if stored else None)
        if not isinstance(last, AIMessage) or last.tool_calls:
            added.append(
                AIMessage(
                    content=turn.content or UNANSWERED,
                    id=f"{turn.turn_id}:partial",
                    response_metadata={"partial": True},
                )
            )
    return added


def _message(turn_id: str, number: int, message: Message) -> BaseMessage:
    kind = HumanMessage if message.role == "user" else AIMessage
    return kind(content=message.content, id=f"{turn_id}:{number}")


def _results(stored: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return a result for each tool call at the end of ``stored`` that has none."""
    answered = {each.tool_call_id for each in stored if isinstance(each, ToolMessage)}
    called = next((each for each in reversed(stored) if isinstance(each, AIMessage)), None)
    if called is None:
        return []
    return [
        ToolMessage(content=UNKNOWN_RESULT, tool_call_id=call["id"] or "", status="error")
        for call in called.tool_calls
        if call["id"] not in answered
    ]
