"""The model that needs no provider: it answers by quoting the evidence, sentence by sentence.

    Quoting(encoder=EmbeddedEncoder(), sentences=splitter.sentences, words=words.content_words)

It finds the passages in the prompt by the form that :mod:`turnwire.models.passages` shows, and
says the one to three sentences that fit the question best, verbatim, each with its marker.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Final

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field, PrivateAttr, SkipValidation

from turnwire.models.choice import (
    Sentences,
    candidates,
    choose,
    plain_sentences,
    plain_words,
)
from turnwire.models.passages import read_prompt
from turnwire.models.support import Words
from turnwire.models.vectors import Encoder, Vectors

NAME: Final = "quoting"
_WORD: Final = re.compile(r"\S+\s*")


class Quoting(BaseChatModel):
    """Answers with sentences of the given passages; says nothing where there are none."""

    encoder: SkipValidation[Encoder | None] = Field(default=None, exclude=True, repr=False)
    """None compares words only."""
    sentences: SkipValidation[Sentences] = Field(default=plain_sentences, exclude=True, repr=False)
    words: SkipValidation[Words] = Field(default=plain_words, exclude=True, repr=False)
    model_name: str = NAME
    _vectors: Vectors | None = PrivateAttr(default=None)

    def model_post_init(self, context: Any, /) -> None:  # noqa: ANN401 - pydantic's signature
        """Give the encoder a memory."""
        super().model_post_init(context)
        self._vectors = Vectors(self.encoder) if self.encoder is not None else None

    @property
    def _llm_type(self) -> str:
        return NAME

    def answer(self, messages: Sequence[BaseMessage]) -> str:
        """Return the answer to a prompt, such as ``Cover starts in May. [2]``; may be empty."""
        reading = read_prompt(messages)
        among = candidates(reading.passages, sentences=self.sentences)
        encode = self._vectors.encode if self._vectors is not None else None
        chosen = choose(reading.question, among, encode=encode, words=self.words, own=reading.own)
        return " ".join(f"{each.text} [{each.number}]" for each in chosen)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 - LangChain's signature
    ) -> ChatResult:
        return _result(messages, self.answer(messages))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 - LangChain's signature
    ) -> ChatResult:
        return _result(messages, await asyncio.to_thread(self.answer, messages))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 - LangChain's signature
    ) -> Iterator[ChatGenerationChunk]:
        yield from _chunks(messages, self.answer(messages))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 - LangChain's signature
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _chunks(messages, await asyncio.to_thread(self.answer, messages)):
            yield chunk


def _chunks(messages: Sequence[BaseMessage], text: str) -> Iterator[ChatGenerationChunk]:
    for word in _WORD.finditer(text):
        yield ChatGenerationChunk(message=AIMessageChunk(content=word[0]))
    ending = AIMessageChunk(
        content="",
        usage_metadata=_usage(messages, text),
        response_metadata={"finish_reason": "stop", "model_name": NAME},
        chunk_position="last",
    )
    yield ChatGenerationChunk(message=ending)


def _result(messages: Sequence[BaseMessage], text: str) -> ChatResult:
    message = AIMessage(
        content=text,
        usage_metadata=_usage(messages, text),
        response_metadata={"finish_reason": "stop", "model_name": NAME},
    )
    return ChatResult(generations=[ChatGeneration(message=message)])


def _usage(messages: Sequence[BaseMessage], text: str) -> UsageMetadata:
    """Return the number of words read and said: it has no tokens."""
    read = sum(len(str(each.text).split()) for each in messages)
    said = len(text.split())
    return UsageMetadata(input_tokens=read, output_tokens=said, total_tokens=read + said)
