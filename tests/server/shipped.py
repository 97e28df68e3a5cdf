"""The index of the documents that ship, which takes some seconds to make."""

import shutil
from pathlib import Path

import pytest

from tests.once import once
from turnwire.app import INDEX, corpora
from turnwire.cli.ingest import ingest_into
from turnwire.settings import read


def with_index(factory: pytest.TempPathFactory, data_dir: Path) -> Path:
    """Return the data directory with the index that a first ``turnwire serve`` makes."""
    data_dir.mkdir(exist_ok=True)
    shutil.copy(once(factory, "shipped", _make) / INDEX, data_dir)
    return data_dir


def _make(data_dir: Path) -> None:
    settings = read(data_dir=data_dir)
    for corpus, root in corpora(settings).items():
        ingest_into(settings, root, corpus, skips="none")
