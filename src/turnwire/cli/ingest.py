"""``turnwire ingest``: documents into the index."""

import json
import logging
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final, Literal, cast

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from turnwire.app import INDEX, screen_of
from turnwire.cli.output import STDERR, AsJson, DataDir
from turnwire.retrieval.encoder import EmbeddedEncoder
from turnwire.retrieval.index import Index
from turnwire.retrieval.ingest import IngestReport
from turnwire.retrieval.ingest import Progress as Step
from turnwire.retrieval.ingest import ingest as take_in
from turnwire.settings import Settings, read

_SKIPPED: Final = "skipped.json"
"""Which files were named as skipped, by corpus, so that a start names only new ones."""


def ingest(
    path: Annotated[Path, typer.Argument(help="A folder, or one file.")],
    corpus: Annotated[str, typer.Option(help="The corpus they belong to.")] = "docs",
    reset: Annotated[bool, typer.Option(help="Empty the whole index first.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make a corpus what the files below PATH hold: new and changed ones are read, gone ones leave.

    Markdown, HTML, text, PDF and DOCX. A server that runs sees the new index at its next search.

    Example: turnwire ingest ./handbook
    """
    report = ingest_into(read(data_dir=data_dir), path, corpus, reset=reset)
    if as_json:
        typer.echo(json.dumps(asdict(report)))


def ingest_into(
    settings: Settings,
    root: Path,
    corpus: str,
    *,
    reset: bool = False,
    skips: Literal["all", "new", "none"] = "all",
) -> IngestReport:
    """Ingest with a progress bar, and say on the error stream what was done and skipped.

    ``skips`` says which skipped files are named: all, only those that were not before, or none.
    """
    screen = screen_of(settings, corpus)
    # Its warnings name no file; what can't be read is named below.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with (
        Index(settings.data_dir / INDEX) as index,
        Progress(*columns, console=STDERR, transient=True) as bar,
    ):
        task = bar.add_task(f"reading {corpus}", total=None)

        def show(step: Step) -> None:
            bar.update(task, completed=step.done, total=step.total)

        report = take_in(
            root,
            corpus=corpus,
            index=index,
            encoder=EmbeddedEncoder(),
            progress=show,
            reset=reset,
            screen=screen,
        )
    for name, count in report.left_out:
        passages = "1 passage" if count == 1 else f"{count} passages"
        STDERR.print(
            f"left out {passages} of {name}: private details, says the policy's pii",
            markup=False,
            highlight=False,
        )
    if skips != "none":
        _tell_skipped(settings.data_dir / _SKIPPED, corpus, report, only_new=skips == "new")
    if report.added or report.changed or report.removed:
        STDERR.print(
            f"{corpus}: {report.added} added, {report.changed} changed, {report.removed} removed, "
            f"{report.unchanged} unchanged",
            highlight=False,
        )
    return report


def _tell_skipped(path: Path, corpus: str, report: IngestReport, *, only_new: bool) -> None:
    skipped = [list(each) for each in report.skipped]
    told = _told_before(path)
    known = told.get(corpus, []) if only_new else []
    for name, reason in (each for each in skipped if each not in known):
        STDERR.print(f"skipped {name}: {reason}", markup=False, highlight=False)
    if repeated := len([each for each in skipped if each in known]):
        files = "1 file" if repeated == 1 else f"{repeated} files"
        STDERR.print(f"{corpus}: {files} skipped as before (see turnwire ingest)", highlight=False)
    if told.get(corpus, []) != skipped:
        path.write_text(json.dumps({**told, corpus: skipped}), "utf-8")


def _told_before(path: Path) -> dict[str, list[list[str]]]:
    try:
        told = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, list[list[str]]]", told) if isinstance(told, dict) else {}
