"""What is told about a turn can't break it."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import pytest

from tests.scenarios.play import envelopes
from tests.scenarios.turns import PLAIN
from turnwire.engine.observer import Earlier
from turnwire.events import Envelope
from turnwire.telemetry.metrics import Metrics
from turnwire.telemetry.observers import Observers
from turnwire.work import Work


class Broken:
    def heard(self, envelopes: Sequence[Envelope], *, earlier: Earlier | None = None) -> None:
        raise ValueError("what the member said")

    def running(self, work: Work, /) -> AbstractContextManager[object]:
        return nullcontext()

    def unstored(self) -> None: ...


def test_an_observer_that_fails_is_logged_and_the_others_hear_all(
    caplog: pytest.LogCaptureFixture,
):
    metrics = Metrics()
    Observers(Broken(), metrics).heard(envelopes(PLAIN))
    assert 'outcome="stop"} 1.0' in metrics.text("")[0].decode()
    assert caplog.messages == ["not measured: ValueError"]


def test_all_are_told_of_a_store_that_failed():
    one, other = Metrics(), Metrics()
    Observers(one, other).unstored()
    for each in (one, other):
        assert "turnwire_store_failures_total 1.0" in each.text("")[0].decode()
