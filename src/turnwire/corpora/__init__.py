"""The documents that ship: health leaflets, policy wordings, and turnwire's own docs."""

from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent
_REPOSITORY: Final = _HERE.parents[2]


def shipped() -> dict[str, Path]:
    """Return the corpora that an agent of their own answers from: name → folder."""
    installed = _HERE / "turnwire"
    docs = installed if installed.is_dir() else _REPOSITORY / "docs"
    return {"health": _HERE / "health", "turnwire": docs}


def for_members() -> dict[str, Path]:
    """Return what the member agent answers general questions from: name → folder."""
    return {"insurance": _HERE / "insurance"}
