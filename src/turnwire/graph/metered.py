"""What the chat models of anybody's graph take, noted for the turn as a gateway notes its calls."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.messages import AIMessage, BaseMessage

from turnwire.events import CallOutcome, ModelCalled
from turnwire.graph.heard import SELF_METERED, estimated
from turnwire.probe import note_call


@dataclass(slots=True)
class _Call:
    provider: str
    prompt: int
    """Characters, as those of the answer."""
    began: float
    first: float | None = None
    said: int = 0


class Meter:
    """Told of the calls of one run, each by the id that LangChain gives it."""

    def __init__(self) -> None:
        self._calls: dict[UUID, _Call] = {}

    def begin(
        self, run_id: UUID, messages: Sequence[BaseMessage], metadata: Mapping[str, Any]
    ) -> None:
        """Note that a call begins."""
        provider = metadata.get("ls_provider") or "unknown"
        model = metadata.get("ls_model_name") or "unknown"
        prompt = sum(len(str(each.text)) for each in messages)
        self._calls[run_id] = _Call(f"{provider}:{model}", prompt, time.monotonic())

    def heard(self, run_id: UUID, characters: int) -> None:
        """Note a piece of the answer."""
        call = self._calls.get(run_id)
        if call is None:
            return
        call.said += characters
        if call.first is None:
            call.first = time.monotonic()

    def ended(self, run_id: UUID, message: BaseMessage | None) -> None:
        """Note that a call went well, and what its provider says that it took."""
        used = message.usage_metadata if isinstance(message, AIMessage) else None
        tokens = (used["input_tokens"], used["output_tokens"]) if used else None
        call = self._calls.get(run_id)
        if call is not None and message is not None and not call.said:
            call.said = len(str(message.text))
        self._note(run_id, "ok", tokens)

    def failed(self, run_id: UUID, error: BaseException) -> None:
        """Note that a call broke off; what it took is estimated if it had begun to answer."""
        is_cut = isinstance(error, asyncio.CancelledError | GeneratorExit)
        self._note(run_id, "cancelled" if is_cut else "error", None)

    def close(self) -> None:
        """Note the calls that are still open as cut: LangChain tells of no cancellation."""
        for run_id in list(self._calls):
            self._note(run_id, "cancelled", None)

    def _note(self, run_id: UUID, outcome: CallOutcome, tokens: tuple[int, int] | None) -> None:
        call = self._calls.pop(run_id, None)
        if call is None:
            return
        if tokens is None:
            answered = bool(call.said)
            tokens = (estimated(call.prompt), estimated(call.said)) if answered else (0, 0)
        first = None if call.first is None else round((call.first - call.began) * 1000)
        note_call(
            ModelCalled(
                provider=call.provider,
                outcome=outcome,
                duration_ms=round((time.monotonic() - call.began) * 1000),
                first_token_ms=first,
                tokens_in=tokens[0],
                tokens_out=tokens[1],
            )
        )


def is_metered(tags: Sequence[str] | None) -> bool:
    """Whether the model that is called notes its own calls, as a gateway does."""
    return SELF_METERED in (tags or ())
