"""Sockets that are dropped without a word leave neither tasks nor memory behind."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.server.running import Process, eventually
from tests.server.sockets import Staff, words

DROPS = 500
_TOGETHER = 20
_SPARE_TASKS = 3
_SPARE_MIB = 20
"""What an allocator may keep that has served so many."""


def _counted(staff: Staff) -> tuple[int, int, int]:
    """Return how many tasks and threads there are, and MiB of memory."""
    with staff.open("counting") as socket:
        tasks, threads, mib = map(int, words(socket.ask("count")).split())
    return tasks, threads, mib


def test_five_hundred_abrupt_drops_leave_the_server_as_it_was(tmp_path: Path):
    with Process(
        tmp_path,
        disconnect_grace_seconds=0.1,
        heartbeat_seconds=1,
        staff_messages_per_minute=100_000,
        max_turns=1000,
    ) as server:
        counting = Staff(server, "counting")

        def drop(number: int) -> None:
            socket = Staff(server, f"user{number % 50}").open(f"s{number}")
            if number % 3:
                socket.send(type="chat", message="slow 1000 0.05")
                socket.until("turn_started" if number % 3 == 1 else "token")
            socket.drop()

        with ThreadPoolExecutor(_TOGETHER) as pool:
            list(pool.map(drop, range(100)))  # what is loaded and pooled once is there now
            eventually(lambda: "turnwire_turns_running 0.0" in _metrics(server), within=60)
            before = _counted(counting)
            list(pool.map(drop, range(DROPS)))
        eventually(lambda: "turnwire_sockets_open 0.0" in _metrics(server), within=60)
        eventually(lambda: "turnwire_turns_running 0.0" in _metrics(server), within=60)
        eventually(lambda: _counted(counting)[0] <= before[0] + _SPARE_TASKS, within=30)
        assert _counted(counting)[2] <= before[2] + _SPARE_MIB
        assert "Traceback" not in server.log


def _metrics(server: Process) -> str:
    return server.api("admin").http.get("/metrics").text
