"""What a turn took and what it stood on, reduced from its events; nobody's words are in it."""

from collections.abc import Iterable

from turnwire.events import (
    Envelope,
    Event,
    Fact,
    GuardrailDecided,
    GuardrailDecision,
    ModelCalled,
    NodeCompleted,
    RetrievalCompleted,
    TextDelta,
    TextReplaced,
    TurnCompleted,
    TurnPaused,
    TurnStarted,
    Usage,
    usage_of,
)
from turnwire.events.node import NodeStatus


class NodeTime(Fact):
    """How long a node worked."""

    node: str
    status: NodeStatus
    duration_ms: int


class Latency(Fact):
    """Where the time went, in milliseconds."""

    total_ms: int = 0
    """From the turn's start to its latest event, people's waiting included."""
    first_token_ms: int | None = None
    """From the start of the run that spoke first to its first words."""
    human_wait_ms: int = 0
    nodes: tuple[NodeTime, ...] = ()
    """In the order in which they ended; a node that ran twice is there twice."""


class Evidence(Fact):
    """A passage that was selected, and which state of its document it was read from."""

    id: str
    document_id: str
    digest: str | None = None


class Receipt(Fact):
    """A turn's account: what it took, how long, what it stood on, what was decided of it."""

    runs: int = 0
    model: str | None = None
    """The answer model."""
    usage: Usage = Usage()
    """Tokens of all calls, of those that failed or were cut among them."""
    usd: float = 0.0
    latency: Latency = Latency()
    evidence: tuple[Evidence, ...] = ()
    guardrails: tuple[GuardrailDecision, ...] = ()
    attempts: tuple[ModelCalled, ...] = ()
    """Every call of a provider, in the order in which they ended."""


class Tally:
    """Takes a turn's envelopes as they come, and knows its receipt at any time."""

    def __init__(self) -> None:
        self._runs = 0
        self._model: str | None = None
        self._began = self._latest = self._run_began = 0
        self._first: int | None = None
        self._paused_at: int | None = None
        self._waited = 0
        self._nodes: list[NodeTime] = []
        self._evidence: list[Evidence] = []
        self._decisions: list[GuardrailDecision] = []
        self._calls: list[ModelCalled] = []
        self._usage = Usage()
        self._usd = 0.0

    def hear(self, envelopes: Iterable[Envelope]) -> "Tally":
        """Take the next envelopes of the turn."""
        for each in envelopes:
            self._latest = each.ts_ms
            if type(each.event) is TextDelta:  # nine of ten events
                if self._first is None:
                    self._first = each.ts_ms - self._run_began
                continue
            self._take(each)
        return self

    def receipt(self) -> Receipt:
        """Return the receipt as it stands."""
        called = usage_of(self._calls)
        # A graph may call models that tell of their calls, and others that only tell their usage.
        usage = max(called, self._usage, key=lambda each: each.total_tokens)
        return Receipt(
            runs=self._runs,
            model=self._model,
            usage=usage,
            usd=max(sum(each.usd for each in self._calls), self._usd),
            latency=Latency(
                total_ms=max(0, self._latest - self._began),
                first_token_ms=self._first,
                human_wait_ms=self._waited,
                nodes=tuple(self._nodes),
            ),
            evidence=tuple(self._evidence),
            guardrails=tuple(self._decisions),
            attempts=tuple(self._calls),
        )

    def _take(self, envelope: Envelope) -> None:
        event, at = envelope.event, envelope.ts_ms
        match event:
            case TurnStarted():
                self._start(event, at)
            case TextReplaced() if self._first is None:
                self._first = at - self._run_began
            case TurnPaused():
                self._paused_at = at
            case TurnCompleted(usage=usage, cost=cost):
                self._usage, self._usd = usage, cost.usd
            case _:
                self._note(event)

    def _note(self, event: Event) -> None:
        match event:
            case NodeCompleted(node=node, status=status) if status != "skipped":
                ended = NodeTime(node=node, status=status, duration_ms=event.duration_ms)
                self._nodes.append(ended)
            case GuardrailDecided(decision=decision):
                self._decisions.append(decision)
            case RetrievalCompleted(documents=documents):
                self._evidence += [
                    Evidence(id=each.id, document_id=each.document_id, digest=each.digest)
                    for each in documents
                ]
            case ModelCalled():
                self._calls.append(event)
            case _:
                pass

    def _start(self, event: TurnStarted, at: int) -> None:
        self._runs += 1
        self._model = event.model
        self._run_began = at
        if not event.resumed:
            self._began = at
        if self._paused_at is not None:
            self._waited += max(0, at - self._paused_at)
            self._paused_at = None


def receipt_of(envelopes: Iterable[Envelope]) -> Receipt:
    """Return the receipt of a turn whose whole log this is."""
    return Tally().hear(envelopes).receipt()
