"""Hear what chat models say, wherever in a graph they are called.

LangGraph's own ``messages`` mode puts every token on its stream by itself, and each item costs as
much as all the rest of a token. The tap is the same kind of callback, but it speaks through the
node's :func:`turnwire.graph.emit.speaker`, where tokens that are ready together travel together.
"""

from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, GenerationChunk, LLMResult

# Makes `ainvoke` stream where somebody listens; LangGraph's own handlers derive from it too.
from langchain_core.tracers._streaming import _StreamingCallbackHandler as Listener
from langgraph.constants import TAG_NOSTREAM

from turnwire.events import ReasoningDelta
from turnwire.graph.emit import Speaker, speaker
from turnwire.graph.manifest import Manifest
from turnwire.graph.metered import Meter, is_metered
from turnwire.graph.plain import root_task
from turnwire.graph.thoughts import thoughts


class Tap(BaseCallbackHandler, Listener[Any]):
    """Says the words of the calls that the member may hear; one instance a run."""

    run_inline = True
    # Properties in the base class; a constant answers the same question.
    ignore_chain = ignore_agent = ignore_retriever = True  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    ignore_retry = ignore_custom_event = True  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def __init__(self, manifest: Manifest) -> None:
        self.heard: set[str] = set()
        """Ids of the messages that were said, in whole or in part."""
        self._answer_node = manifest.answer_node
        self._meter = Meter()
        self._calls: dict[UUID, tuple[str, Speaker]] = {}

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,  # noqa: ANN401 - LangChain's signature
    ) -> None:
        """Listen to the call, unless it is tagged ``nostream`` or of another node."""
        if not is_metered(tags):
            self._meter.begin(run_id, messages[0], metadata or {})
        if TAG_NOSTREAM in (tags or ()):
            return
        node, _ = root_task(metadata or {})
        if self._answer_node in (None, node):
            self._calls[run_id] = (node, speaker())

    def on_llm_new_token(
        self,
        token: str | list[str | dict[str, Any]],
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        **kwargs: Any,  # noqa: ANN401 - LangChain's signature
    ) -> None:
        """Say the next words."""
        self._meter.heard(run_id, len(token))
        call = self._calls.get(run_id)
        if call is None or not isinstance(chunk, ChatGenerationChunk):
            return
        node, voice = call
        message = chunk.message
        if message.id:
            self.heard.add(message.id)
        if not isinstance(message.content, str) or message.additional_kwargs:
            for thought in thoughts(message):
                voice.emit(ReasoningDelta(node=node, text=thought))
        voice.say(message.content if isinstance(message.content, str) else str(message.text))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ANN401
        """Remember the message, which a model that does not stream says here for the first time."""
        said = [one for several in response.generations for one in several]
        messages = [each.message for each in said if isinstance(each, ChatGeneration)]
        self._meter.ended(run_id, messages[0] if messages else None)
        if self._calls.pop(run_id, None) is None:
            return
        for each in messages:
            if isinstance(each, AIMessage):
                self.heard.add(each.id or "")

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ANN401
        """Forget the call."""
        self._meter.failed(run_id, error)
        self._calls.pop(run_id, None)

    def close(self) -> None:
        """Note what is still being said as cut."""
        self._meter.close()

    # What a handler of LangChain's own streaming APIs has to have; nobody iterates a tap.

    def tap_output_aiter(self, run_id: UUID, output: Any) -> Any:  # noqa: ANN401
        """Return the stream as it is."""
        return output

    def tap_output_iter(self, run_id: UUID, output: Any) -> Any:  # noqa: ANN401
        """Return the stream as it is."""
        return output
