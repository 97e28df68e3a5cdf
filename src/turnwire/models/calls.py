"""The calls that one answer may need: whom to call next, and when to give up."""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, cast

from langgraph.config import get_config
from langgraph.runtime import get_runtime

from turnwire.errors import BudgetExceeded, UpstreamUnavailable
from turnwire.events import CallOutcome, ModelCalled
from turnwire.graph.context import TurnContext
from turnwire.graph.plain import root_task
from turnwire.models.attempt import Attempt, Upstream
from turnwire.models.breaker import Breakers
from turnwire.models.budget import UNLIMITED, Budget, Ledger, Spent
from turnwire.models.failover import (
    Again,
    Failure,
    GiveUp,
    Kind,
    Next,
    decide,
    failure_of,
    verdict,
)
from turnwire.models.outcome import Outcome, log_outcome
from turnwire.probe import ProviderHealth, note_call

PATIENCE: Final = 2.0
_OUTCOMES: Final[Mapping[Kind, CallOutcome]] = {
    "timeout": "timeout",
    "rate_limited": "rate_limited",
    "unavailable": "unavailable",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How a gateway works; those of a process share breakers and ledger."""

    breakers: Breakers = field(default_factory=lambda: Breakers(clock=time.monotonic))
    ledger: Ledger = field(default_factory=Ledger)
    budget: Budget = UNLIMITED
    """What one turn may take."""
    patience: float = PATIENCE
    """Seconds that an answer waits in all for providers that ask to be left alone."""
    live_reasoning: bool = False
    """Whether reasoning is passed on before the first word, even of a model that then fails."""
    observe: Callable[[Outcome], None] = log_outcome
    """Told of each call when it has ended."""
    health: ProviderHealth | None = None
    """Told of each call and of the breaker after it."""
    clock: Callable[[], float] = time.monotonic
    """Seconds that only grow."""


class Calls:
    """The calls of one answer: whom to call next, and what all of them took."""

    def __init__(self, upstreams: Sequence[Upstream], terms: Terms, *, prompt: int) -> None:
        self.took = Spent()
        self._terms = terms
        self._prompt = prompt
        self._turn_id = _turn_id()
        self._node = _node()
        self._waiting = list(upstreams)
        self._upstream: Upstream | None = None
        """Who is to be called again."""
        self._tries = 0
        self._patience = terms.patience
        self._failures: list[Failure] = []
        self._said: list[str] = []

    def next(self) -> Attempt:
        """Return the next call.

        Raises:
            UpstreamUnavailable: nobody may be called.
            BudgetExceeded: the turn has spent what it may.
        """
        upstream, self._upstream = self._upstream, None
        if upstream is None:
            upstream, self._tries = self._take_next(), 0
        self._tries += 1
        terms = self._terms
        spent = terms.ledger.spent(self._turn_id) if self._turn_id else self.took
        room = terms.budget.room(spent, upstream.price, tokens_in=self._prompt)
        if room <= 0:
            raise BudgetExceeded(f"no room for a call of {upstream.label} in the turn's budget")
        return Attempt(upstream, room=room, live=terms.live_reasoning, clock=terms.clock)

    @contextmanager
    def watched(self, attempt: Attempt) -> Generator[None]:
        """Count a call: for the breaker, for the turn, and for whoever observes."""
        breakers, key = self._terms.breakers, attempt.upstream.key
        failure: Failure | None = None
        ended: CallOutcome = "cancelled"
        is_probe = breakers.call(key)
        if is_probe:  # it speaks: others need not wait for the end of its answer
            attempt.on_first_word = lambda: breakers.released(key)
        try:
            yield
            breakers.succeeded(key)
            ended = "ok"
        except BudgetExceeded:
            raise
        except Exception as error:
            failure = failure_of(error)
            self._failures.append(failure)
            self._blame(key, failure)
            ended = _OUTCOMES.get(failure.kind, "error")
            raise
        finally:
            if is_probe:
                breakers.released(key)
            self._account(attempt, failure, ended)
            self._report(attempt, ended)

    def wait_after(self, attempt: Attempt, error: Exception) -> float:
        """Return how many seconds to wait before the next call.

        Raises:
            TurnBroken: there is none; or the provider's own error, where the request is at fault.
        """
        if isinstance(error, BudgetExceeded):
            raise error
        failure = self._failures[-1]
        self._said.append(f"{attempt.upstream.label}: {failure}")
        if attempt.spoke:
            said = f"in the middle of its answer, {self._said[-1]}"
            raise (verdict([failure], said) or UpstreamUnavailable(said)) from error
        step = decide(
            failure,
            tries=self._tries,
            patience=self._patience,
            has_next=any(map(self._may_call, self._waiting)),
        )
        match step:
            case Again(after=seconds):
                self._upstream = attempt.upstream
                self._patience -= seconds
                return seconds
            case Next():
                return 0
            case GiveUp():
                broken = verdict(self._failures, "; ".join(self._said))
                if broken is None:
                    raise error
                raise broken from error

    def _take_next(self) -> Upstream:
        while self._waiting:
            upstream = self._waiting.pop(0)
            if self._may_call(upstream):
                return upstream
        said = "; ".join([*self._said, "every other provider is left alone after its failures"])
        raise UpstreamUnavailable(said)

    def _may_call(self, upstream: Upstream) -> bool:
        return self._terms.breakers.admits(upstream.key)

    def _blame(self, key: str, failure: Failure) -> None:
        wish = failure.retry_after
        if wish is not None and wish > self._terms.patience:
            self._terms.breakers.failed(key, retry_after=wish)
        elif failure.is_providers:
            self._terms.breakers.failed(key)

    def _account(self, attempt: Attempt, failure: Failure | None, ended: CallOutcome) -> None:
        spent = attempt.spent()
        self.took += spent
        if self._turn_id:
            self._terms.ledger.add(self._turn_id, spent)
        outcome = attempt.outcome(failure, turn_id=self._turn_id)
        self._terms.observe(outcome)
        note_call(_called(outcome, ended, self._node))

    def _report(self, attempt: Attempt, ended: CallOutcome) -> None:
        health, terms, upstream = self._terms.health, self._terms, attempt.upstream
        if health is None:
            return
        health.called(upstream.label, ended, seconds=terms.clock() - attempt.began)
        state = terms.breakers.state(upstream.key)
        health.breaker(upstream.label, "half_open" if state == "probing" else state)


def _called(outcome: Outcome, ended: CallOutcome, node: str | None) -> ModelCalled:
    first, spent = outcome.first_seconds, outcome.spent
    return ModelCalled(
        provider=outcome.label,
        outcome=ended,
        duration_ms=round(outcome.seconds * 1000),
        first_token_ms=None if first is None else round(first * 1000),
        tokens_in=spent.tokens_in,
        tokens_out=spent.tokens_out,
        usd=spent.usd,
        node=node,
    )


def _node() -> str | None:
    """Return the root graph's node that is running, or none outside of one."""
    try:
        return root_task(get_config().get("metadata") or {})[0] or None
    except RuntimeError:
        return None


def _turn_id() -> str | None:
    """Return the turn that the running node works on, or none outside of turnwire's runs."""
    try:
        context = cast("object", get_runtime().context)
    except (RuntimeError, KeyError, AttributeError):  # no graph runs
        return None
    return context.turn_id if isinstance(context, TurnContext) else None
