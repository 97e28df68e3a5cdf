"""Send so many, and keep the first request of each kind of fault."""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st

from tests.faults.generating.application import Answered, Application, Sent
from tests.faults.generating.judging import refused, route_of, wrong
from tests.faults.generating.strategies import ROUTES, SHARES, described, filled, malformed

_SEEDED: Final = 100
"""After so many requests what they name is made anew: some of them delete it."""
_BATCH: Final = 25
"""Hypothesis builds on the examples of a run, so a short run strays less from what is right."""


@dataclass(slots=True)
class Found:
    """What a run saw."""

    sent: int = 0
    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter[int])
    routes: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    """How often each described operation, as in `POST /chat`, answered with each status."""
    wrong: dict[str, str] = field(default_factory=dict[str, str])
    """Each kind of fault, with the first request that showed it."""


def run(application: Application, count: int, *, seed: int) -> Found:
    """Send ``count`` requests, a fifth of them schemathesis's; the same ones for the same seed."""
    found, began = Found(), time.monotonic()
    ours, batch = count - count // 5, 0
    shares = {route: SHARES.get(route[1], 1) for route in ROUTES}
    wanted = [
        (malformed(*route), ours * share // sum(shares.values())) for route, share in shares.items()
    ]
    left = count - sum(each for _, each in wanted)
    for strategy, most in (*wanted, (described(application.document), left)):
        target = found.sent + most
        while found.sent < target:
            batch += 1
            some = min(_BATCH, target - found.sent)
            _batch(application, strategy, some, seed=seed * 1000 + batch, found=found)
    found.seconds = time.monotonic() - began
    return found


def _batch(
    application: Application,
    strategy: st.SearchStrategy[Sent],
    most: int,
    *,
    seed: int,
    found: Found,
) -> None:
    before, ends_at = application.rows(), found.sent + most

    def each(sent: Sent) -> None:
        nonlocal before
        if found.sent >= ends_at:
            return
        if found.sent % _SEEDED == _SEEDED - 1:
            application.seed()
            before = application.rows()
        sent = filled(sent, application.known)
        found.sent += 1
        try:
            answered = application.send(sent)
        except Exception as error:  # whatever it is, a server would have to say 500
            answered = Answered()
            found.wrong.setdefault(f"{type(error).__name__}: {error}", repr(sent))
        found.statuses[answered.status] += 1
        route = route_of(sent, application.document)
        if route is not None:
            found.routes[f"{sent.method} {route}", answered.status] += 1
        after = application.rows()
        for what in wrong(sent, answered, application.document):
            found.wrong.setdefault(
                what, f"{sent!r}\n  {answered.status} {bytes(answered.body[:300])!r}"
            )
        if refused(answered) and after != before:
            more = {name: n - before[name] for name, n in after.items() if n != before[name]}
            found.wrong.setdefault(f"{answered.status} left rows: {more}", repr(sent))
        before = after

    bounded = settings(
        max_examples=most,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.large_base_example,
        ],
        verbosity=Verbosity.quiet,
    )
    _seeded(seed)(bounded(given(strategy)(each)))()


_seeded = seed
