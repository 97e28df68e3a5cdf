"""One turn, without I/O: feed it what the agent says, keep and send what it returns."""

from collections.abc import Iterable, Sequence
from typing import Final

from turnwire.engine.grammar import FINAL, Order, TurnState
from turnwire.errors import IllegalTransition, TurnBroken
from turnwire.events import (
    ActionCompleted,
    Citation,
    CitationAdded,
    Cost,
    Envelope,
    Event,
    Failover,
    GuardrailDecided,
    GuardrailDecision,
    ModelCalled,
    NodeCompleted,
    NodeStarted,
    Pause,
    ReasoningDelta,
    TextDelta,
    TextReplaced,
    ToolCompleted,
    TurnCompleted,
    TurnFailed,
    TurnPaused,
    TurnStarted,
    usage_of,
)
from turnwire.ids import PauseId, RunId, Seq, TurnId

_PIECE: Final = 8192
"""Characters of one delta at most, so that no frame outgrows a client's line buffer."""


def _failure(error: TurnBroken, error_id: str) -> TurnFailed:
    return TurnFailed(
        code=error.code, message=error.public, retryable=error.retryable, error_id=error_id
    )


class Turn:
    """Number a turn's events, hold the grammar, and remember what the ending has to tell.

    Whatever ends a run, what was opened is closed first, so that no client keeps a spinner.
    """

    def __init__(self, turn_id: TurnId) -> None:
        self.turn_id = turn_id
        self.run_id = RunId("")
        self.seq = 0
        self.order = Order()
        self.started: TurnStarted | None = None
        self.pauses: dict[PauseId, Pause] = {}
        """Every question that the turn has asked, in its first form."""
        self.citations: list[Citation] = []
        self.decisions: list[GuardrailDecision] = []
        self.calls: list[ModelCalled] = []
        self._told: dict[str, int] = {}
        """How many calls there were when each node ended last."""
        self.actions = 0
        """How many approved actions were told to have ended."""
        self.open_since: dict[str, int] = {}
        """Open nodes and when the oldest copy of each started, in milliseconds."""
        self._sealed: list[Envelope] = []
        self._said: list[str] = []
        self._visited: set[str] = set()
        self._paused_at: int | None = None
        self._waited: int | None = None
        self._began_at = 0

    @classmethod
    def restore(cls, turn_id: TurnId, envelopes: Iterable[Envelope]) -> "Turn":
        """Return the turn that wrote these envelopes, ready to go on."""
        turn = cls(turn_id)
        for each in envelopes:
            turn.run_id = each.run_id
            turn.seq = each.seq
            turn.order.follow(each.event)
            turn._remember(each.event, each.ts_ms)
        return turn

    def worked_ms(self, *, at: int) -> int:
        """Return how long the turn has worked at ``at`` (ms), without waiting for people."""
        return max(0, at - self._began_at - (self._waited or 0))

    @property
    def state(self) -> TurnState:
        """Where the turn is."""
        return self.order.state

    @property
    def is_over(self) -> bool:
        """Whether the turn has reached a final state."""
        return self.order.state in FINAL

    @property
    def text(self) -> str:
        """The answer as it stands."""
        if len(self._said) > 1:
            self._said = ["".join(self._said)]
        return self._said[0] if self._said else ""

    def begin(self, run_id: RunId, event: TurnStarted, *, at: int) -> list[Envelope]:
        """Start a run at ``at`` (ms) and return its first envelope."""
        before, self.run_id = self.run_id, run_id
        try:
            return self.receive((event,), at=at)
        except IllegalTransition:
            self.run_id = before
            raise

    def receive(self, events: Sequence[Event], *, at: int) -> list[Envelope]:
        """Take what the agent says and return what the world should see.

        Raises:
            IllegalTransition: an event that may not happen now. Those before it stand, and the
                next call returns them.
        """
        for event in events:
            if type(event) is TextDelta:
                self._say(event, at)
                continue
            if isinstance(event, TextReplaced | ReasoningDelta):
                self._rewrite(event, at)
                continue
            if isinstance(event, TurnCompleted):
                event = self._conclude(event, at)
            elif isinstance(event, TurnPaused):
                event = self._as_asked(event)
            elif isinstance(event, NodeCompleted):
                event = self._with_failover(event)
            self._seal(event, at)
        return self._take()

    def say(self, words: Sequence[str], *, at: int) -> list[Envelope]:
        """Take the answer's next words; what :meth:`receive` does with them, shorter."""
        for text in words:
            self._say(TextDelta(text=text), at)
        return self._take()

    def fail(self, error: TurnBroken, *, error_id: str, at: int) -> list[Envelope]:
        """End the turn in an error: close what is open, then say so."""
        self._close_open(at)
        return self.receive((_failure(error, error_id),), at=at)

    def instead(
        self, unsaved: Sequence[Envelope], error: TurnBroken, *, error_id: str
    ) -> list[Envelope]:
        """Return what to show in place of an ending that nobody saw and that can't be stored."""
        last = unsaved[-1]
        self.seq = last.seq - 1
        self.order.reopen()
        return [*unsaved[:-1], *self.fail(error, error_id=error_id, at=last.ts_ms)]

    def cancel(self, *, at: int) -> list[Envelope]:
        """End a running turn because somebody with the right to do so stopped it."""
        spoke = self.started.model if self.started and self.order.said else "none"
        usage = usage_of(self.calls)
        cost = Cost(
            model=spoke,
            tokens_in=usage.prompt_tokens,
            tokens_out=usage.completion_tokens,
            usd=sum(each.usd for each in self.calls),
        )
        ending = TurnCompleted(finish_reason="cancelled", content=self.text, usage=usage, cost=cost)
        return self.receive((ending,), at=at)

    def drop(self, run_id: RunId, *, at: int) -> list[Envelope]:
        """End a paused turn without an answer: nobody waits for it any more."""
        if self.started is None:
            return []
        resumed = self.started.model_copy(update={"resumed": True})
        return [*self.begin(run_id, resumed, at=at), *self.cancel(at=at)]

    def _take(self) -> list[Envelope]:
        sealed, self._sealed = self._sealed, []
        return sealed

    def _seal(self, event: Event, at: int) -> None:
        self.order.follow(event)
        self.seq += 1
        self._sealed.append(Envelope(Seq(self.seq), self.turn_id, self.run_id, at, event))
        self._remember(event, at)

    def _remember(self, event: Event, at: int) -> None:
        match event:
            case TextDelta():
                self._said.append(event.text)
            case NodeStarted() | NodeCompleted():
                self._remember_node(event, at)
            case TextReplaced():
                self._said = [event.text]
                self.citations.clear()
            case CitationAdded():
                self.citations.append(event.citation)
            case GuardrailDecided():
                self.decisions.append(event.decision)
            case ModelCalled() | ActionCompleted():
                self._remember_call(event)
            case TurnStarted() | TurnPaused():
                self._remember_run(event, at)
            case _:
                pass

    def _remember_call(self, event: ModelCalled | ActionCompleted) -> None:
        if isinstance(event, ModelCalled):
            self.calls.append(event)
        elif event.decision == "approve":
            self.actions += 1

    def _remember_node(self, event: NodeStarted | NodeCompleted, at: int) -> None:
        if isinstance(event, NodeStarted):
            self._visited.add(event.node)
            self.open_since.setdefault(event.node, at)
            return
        self._told[event.node] = len(self.calls)
        if not self.order.nodes[event.node]:
            self.open_since.pop(event.node, None)

    def _remember_run(self, event: TurnStarted | TurnPaused, at: int) -> None:
        if isinstance(event, TurnPaused):
            self._paused_at = at
            self.pauses |= {each.pause_id: each for each in event.pauses}
            self.open_since.clear()
            return
        if not event.resumed:
            self._began_at = at
        self.started = event
        if self._paused_at is not None:
            self._waited = (self._waited or 0) + max(0, at - self._paused_at)
            self._paused_at = None

    def _conclude(self, event: TurnCompleted, at: int) -> TurnCompleted:
        """Close what is open, say what was bypassed, and fill in what the ending has to tell."""
        self._close_open(at)
        if event.finish_reason != "cancelled":
            for node in self._bypassed():
                self._seal(NodeCompleted(node=node, status="skipped"), at)
        if event.content != self.text:
            self._say_content(event.content, at)
        return event.model_copy(
            update={
                "citations": tuple(self.citations),
                "guardrail_decisions": tuple(self.decisions),
                "human_wait_ms": self._waited,
            }
        )

    def _as_asked(self, event: TurnPaused) -> TurnPaused:
        """Return the pause with the draft, and with questions that wait on as first asked."""
        asked = tuple(self.pauses.get(each.pause_id, each) for each in event.pauses)
        return event.model_copy(update={"pauses": asked, "draft": event.draft or self.text})

    def _with_failover(self, event: NodeCompleted) -> NodeCompleted:
        """Return the node's end with who of its models failed since it was said last, if any."""
        new = self.calls[self._told.get(event.node, 0) :]
        calls = [each for each in new if each.node == event.node]
        failed = [each for each in calls if each.outcome not in ("ok", "cancelled")]
        if not failed:
            return event
        answered = calls[-1].provider if calls[-1].outcome == "ok" else None
        said = tuple(f"{each.provider} ({each.outcome})" for each in failed)
        return event.model_copy(update={"failover": Failover(failed=said, answered=answered)})

    def _say(self, words: TextDelta, at: int) -> None:
        """Do what :meth:`_seal` does, shorter: nine of ten events are words."""
        if len(words.text) > _PIECE:
            for start in range(0, len(words.text), _PIECE):
                self._say(TextDelta(text=words.text[start : start + _PIECE]), at)
            return
        if not self.order.may_speak():
            self.order.follow(words)
        self.seq += 1
        self._said.append(words.text)
        self._sealed.append(Envelope(Seq(self.seq), self.turn_id, self.run_id, at, words))

    def _rewrite(self, event: TextReplaced | ReasoningDelta, at: int) -> None:
        if isinstance(event, TextReplaced):
            self._replace(event, at)
            return
        for start in range(0, len(event.text) or 1, _PIECE):
            piece = event.text[start : start + _PIECE]
            self._seal(event.model_copy(update={"text": piece}), at)

    def _replace(self, event: TextReplaced, at: int) -> None:
        """Take the new text; what is too long for a frame of it goes on as words."""
        first, rest = event.text[:_PIECE], event.text[_PIECE:]
        self._seal(event.model_copy(update={"text": first}) if rest else event, at)
        if rest:
            self._say(TextDelta(text=rest), at)

    def _say_content(self, content: str, at: int) -> None:
        if not self.order.said:
            self._say(TextDelta(text=content), at)
            return
        cited = tuple(self.citations)
        self._replace(TextReplaced(text=content, reason="final_message"), at)
        for each in cited:
            self._seal(CitationAdded(citation=each), at)

    def _bypassed(self) -> list[str]:
        nodes = self.started.topology.nodes if self.started else ()
        return [each.id for each in nodes if each.conditional and each.id not in self._visited]

    def _close_open(self, at: int) -> None:
        for call, name in list(self.order.tools.items()):
            closing = ToolCompleted(tool_call_id=call, name=name, status="error", error="cancelled")
            self._seal(closing, at)
        for node, count in list((+self.order.nodes).items()):
            since = self.open_since.get(node, at)
            for _ in range(count):
                lost = NodeCompleted(node=node, status="failed", duration_ms=max(0, at - since))
                self._seal(lost, at)
