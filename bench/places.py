"""Where things are, and the environment that the measured processes get."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
SCRATCH: Final = ROOT / ".turnwire" / "bench"
LANGGRAPH_DEV: Final = ROOT / "bench" / "peers" / "langgraph_dev"
LANGGRAPH_DEV_VENV: Final = SCRATCH / "langgraph-dev"


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return our environment with ``bench`` and ``turnwire`` on the Python path."""
    ours = dict(os.environ)  # noqa: TID251 - handed on to children, not read
    # Where nothing keeps compiled modules, a start takes six seconds instead of two.
    ours.pop("PYTHONDONTWRITEBYTECODE", None)
    ours["PYTHONPYCACHEPREFIX"] = str(SCRATCH / "pycache")
    path = (ours.get("PYTHONPATH", ""), str(ROOT), str(ROOT / "src"))
    return ours | {"PYTHONPATH": os.pathsep.join(filter(None, path))} | dict(more or {})
