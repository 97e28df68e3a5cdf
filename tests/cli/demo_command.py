"""A demo service as a process of its own, as ``turnwire demo-…`` starts it."""

import re
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

import httpx

from tests.server.running import ROOT, environment, eventually


@contextmanager
def demo_command(
    *arguments: str, tells: str, is_up: Callable[[str], httpx.Response]
) -> Generator[tuple[str, list[str]]]:
    """Run the command; yield its address, which follows the word ``tells``, and what it says.

    It is up when ``is_up``, called with the address, returns a 200.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "turnwire", *arguments, "--port", "0"],
        cwd=ROOT,
        env=environment({}),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said: list[str] = []
    reader = threading.Thread(target=lambda: said.extend(iter(process.stderr.readline, "")))  # pyright: ignore[reportOptionalMemberAccess]
    reader.start()

    def answers(url: str) -> bool:
        try:
            return is_up(url).status_code == 200
        except httpx.HTTPError:
            return False

    try:
        found = eventually(lambda: re.search(rf"{tells} (http://\S+)", "".join(said)), within=30)
        eventually(lambda: answers(found[1]))
        yield found[1], said
    finally:
        process.terminate()
        process.wait(10)
        reader.join(10)
        process.stderr.close()
