"""Install what only one row needs, into an environment of its own, before anything is timed."""

import shutil
import subprocess
import sys
from typing import Final

from bench.errors import NotMeasured
from bench.places import LANGGRAPH_DEV, LANGGRAPH_DEV_VENV
from bench.rows import Row

WITHIN_S: Final = 600.0


def install(row: Row) -> None:
    """Make sure that a row can be started; does nothing the second time.

    Raises:
        NotMeasured: it could not be installed, from lack of a network say.
    """
    if row == "langgraph-dev":
        _langgraph_dev()


def _langgraph_dev() -> None:
    home, requirements = LANGGRAPH_DEV_VENV, LANGGRAPH_DEV / "requirements.txt"
    done, wanted = home / "installed.txt", requirements.read_text()
    if done.is_file() and done.read_text() == wanted:
        return
    print(f"installs langgraph-dev into {home} (once)", file=sys.stderr, flush=True)
    shutil.rmtree(home, ignore_errors=True)
    _run(sys.executable, "-m", "venv", str(home))
    pip = (str(home / "bin" / "python"), "-m", "pip", "--disable-pip-version-check")
    _run(*pip, "install", "--quiet", "--retries", "1", "--requirement", str(requirements))
    done.write_text(wanted)


def _run(*command: str) -> None:
    try:
        made = subprocess.run(
            command, capture_output=True, text=True, timeout=WITHIN_S, check=False
        )
    except subprocess.TimeoutExpired as late:
        raise NotMeasured(f"could not be installed within {WITHIN_S:.0f} s") from late
    if made.returncode:
        said = (made.stderr or made.stdout).strip().splitlines()[-3:]
        raise NotMeasured("could not be installed: " + " / ".join(each[-200:] for each in said))
