"""The documents that ship: synthetic health leaflets, and turnwire's own docs."""

from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent
_REPOSITORY: Final = _HERE.parents[2]


def shipped() -> dict[str, Path]:
    """Return the shipped corpora: name → folder."""
    installed = _HERE / "turnwire"
    docs = installed if installed.is_dir() else _REPOSITORY / "docs"
    return {"health": _HERE / "health", "turnwire": docs}
