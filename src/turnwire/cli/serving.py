"""Where the server of a data directory listens, as it says itself while it runs."""

import fcntl
import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

_FILE: Final = "serving.json"


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that runs."""

    address: str
    no_page: str | None
    """Why it has no page and takes no links; none where it does."""


@contextmanager
def announced(data_dir: Path, serving: Serving) -> Generator[None]:
    """Say in the data directory where its server listens; a crash leaves nothing that counts."""
    path = data_dir / _FILE
    with path.open("a", encoding="utf-8") as file:
        # Held while the server runs: the system lets go of it, however the process ends.
        fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        file.write(json.dumps(asdict(serving)))
        file.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def serving_from(data_dir: Path) -> Serving | None:
    """Return the server that runs from the data directory, where there is one."""
    try:
        with (data_dir / _FILE).open(encoding="utf-8") as file:
            if not _is_held(file.fileno()):
                return None
            return Serving(**json.loads(file.read()))
    except (OSError, ValueError, TypeError):
        return None


def _is_held(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
