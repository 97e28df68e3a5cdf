"""Where the command line writes, and the options that commands share."""

import re
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.text import Text

STDOUT: Final = Console(soft_wrap=True)
STDERR: Final = Console(stderr=True, soft_wrap=True)

DataDir = Annotated[
    Path | None,
    typer.Option(help="Where everything is kept. [default: .turnwire]", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

MAKE_KEY: Final = "turnwire keys create --name me --scope chat --scope review"
"""What to type where a key is missing."""

# C0 and C1 controls, what turns the reading direction, and halves of surrogate pairs.
_CONTROLS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def literal(text: str, style: str = "") -> Text:
    """Return somebody else's text as it is to be read: it can't move the cursor or mark up."""
    return Text(_CONTROLS.sub(_picture, text), style=style)


def note(text: str, style: str = "dim") -> None:
    """Say something about the command's work on the error stream, beside its output."""
    STDERR.print(literal(text, style))


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code == 0x0D:
        return ""
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"
