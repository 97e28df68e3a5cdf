"""What a process and its children use, and where they may run."""

import os
from collections.abc import Generator
from contextlib import contextmanager

import psutil

SERVER_CORE = 0
CLIENT_CORE = 1


def _tree(pid: int) -> list[psutil.Process]:
    root = psutil.Process(pid)
    return [root, *root.children(recursive=True)]


def cpu_s(pid: int) -> float:
    """Return the CPU seconds, user and system, of a process and its children so far."""
    times = [process.cpu_times() for process in _tree(pid)]
    return sum(each.user + each.system for each in times)


def rss_kib(pid: int) -> float:
    """Return the resident memory of a process and its children in KiB."""
    return sum(process.memory_info().rss for process in _tree(pid)) / 1024


def busy_s(core: int) -> float:
    """Return the seconds that a core has been busy so far, whoever used it; steal included."""
    cores = psutil.cpu_times(percpu=True)
    if core >= len(cores):
        return 0.0
    times = cores[core]._asdict()
    waiting = times.get("idle", 0.0) + times.get("iowait", 0.0)
    guests = times.get("guest", 0.0) + times.get("guest_nice", 0.0)  # are in user and nice too
    return sum(times.values()) - waiting - guests


@contextmanager
def on_core(core: int) -> Generator[None, None, None]:
    """Start children on one core; where the system cannot pin or has one core, do nothing."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    if core in before and len(before) > 1:
        os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def allow_many_files(wanted: int = 20_000) -> None:
    """Raise the limit of open files, for this process and its children, as far as allowed."""
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    ceiling = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < ceiling:
        resource.setrlimit(resource.RLIMIT_NOFILE, (ceiling, hard))
