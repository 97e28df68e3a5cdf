"""Where the command line writes, and the options that commands share."""

from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

STDOUT: Final = Console(soft_wrap=True)
STDERR: Final = Console(stderr=True, soft_wrap=True)

DataDir = Annotated[
    Path | None,
    typer.Option(help="Where everything is kept. [default: .turnwire]", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
