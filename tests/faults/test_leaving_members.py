"""Members' clients go, by any door and at any moment: nobody is paid for them any more."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest

from tests.needs import may_vanish
from tests.providers.serving import HANG, Provider, delta
from tests.server import graphs
from tests.server.raw import RawClient
from tests.server.running import InThread, eventually

HEARTBEAT = 0.5


@pytest.fixture(scope="module")
def served(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InThread]:
    directory = tmp_path_factory.mktemp("served")
    with InThread(
        directory, "provider", disconnect_grace_seconds=0, heartbeat_seconds=HEARTBEAT
    ) as server:
        yield server


LEAVING = [("finish", 1.0), ("reset", 1.0)]
if may_vanish():  # `python -m tests.needs` says where it may not
    LEAVING.append(("vanish", 2 * HEARTBEAT + 1.0))


@pytest.mark.parametrize(("leave", "within"), LEAVING)
@pytest.mark.parametrize(
    ("steps", "heard"),
    [([HANG], "message.started"), ([delta("one "), delta("two "), HANG], "two")],
    ids=["before the first token", "after two tokens"],
)
def test_a_member_who_leaves_ends_the_paid_call_and_what_was_used_is_told(
    served: InThread,
    provider: Provider,
    leave: str,
    within: float,
    steps: Sequence[bytes],
    heard: str,
):
    provider.reset()
    provider.steps = steps
    graphs.acted.clear()
    client = RawClient(served.address, served.key("chat"), "go", wire="answer")
    client.read_until(heard)
    eventually(lambda: provider.open == 1)
    getattr(client, leave)()
    eventually(lambda: provider.open == 0, within=within)
    assert provider.left == 1
    ended = eventually(lambda: _cancelled(served), within=2)
    assert "cancelled" in ended
    assert graphs.acted == [], "no node starts for nobody"


def _cancelled(server: InThread) -> str | None:
    """Return the newest turn's receipt once the turn was cancelled."""
    with closing(sqlite3.connect(server.data_dir / "turnwire.db")) as db:
        found = db.execute(
            "SELECT finish_reason, receipt FROM turns JOIN receipts USING (turn_id)"
            " ORDER BY position DESC LIMIT 1"
        ).fetchone()
    return found[1] if found and found[0] == "cancelled" else None
