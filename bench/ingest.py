"""What a large corpus costs: many small files into a new index, with the embedded encoder.

    python -m bench.ingest              10,000 files
    python -m bench.ingest 500

Prints, for each tenth of the files, how many are done a second and the memory of the process; at
the end what a search takes. It writes into a temporary directory only.
"""

import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final

from turnwire.retrieval.encoder import EmbeddedEncoder
from turnwire.retrieval.index import Index
from turnwire.retrieval.ingest import Progress, ingest
from turnwire.retrieval.search import Retriever
from turnwire.retrieval.selection import RetrievalPolicy

FILES: Final = 10_000
_LISTED: Final = """
    plan care doctor hospital room night member claim form day money letter phone office road
    water paper summer winter price visit number test week month answer question help garden
"""
_WORDS: Final = _LISTED.split()
_SEARCHES: Final = 50


def main() -> int:
    """Run it; return the exit status."""
    files = int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    with tempfile.TemporaryDirectory(prefix="turnwire-ingest-") as folder:
        root = Path(folder, "corpus")
        _write(root, files)
        encoder = EmbeddedEncoder()
        encoder.encode(["warm"])
        began = time.perf_counter()

        def progress(at: Progress) -> None:
            if at.done % max(1, files // 10) == 0:
                seconds = time.perf_counter() - began
                print(
                    f"{at.done:>7,} files  {at.done / seconds:>6.0f} a second  {_mib():>5.0f} MiB"
                )

        with Index(Path(folder, "index.db")) as index:
            report = ingest(root, corpus="bench", index=index, encoder=encoder, progress=progress)
            print(f"{report.passages:,} passages in {time.perf_counter() - began:.0f} s")
            retriever = Retriever(index, encoder, RetrievalPolicy())
            retriever.search("warm")
            print(f"a search: {median(_searches(retriever)):.1f} ms, {_mib():.0f} MiB at most")
    return 0


def _write(root: Path, files: int) -> None:
    chance = random.Random(1)
    for number in range(files):
        folder = root / f"{number // 500:03}"
        folder.mkdir(parents=True, exist_ok=True)
        said = [" ".join(chance.choices(_WORDS, k=14)).capitalize() + "." for _ in range(6)]
        (folder / f"{number}.md").write_text(f"# Document {number}\n\n{' '.join(said)}\n")


def _searches(retriever: Retriever) -> list[float]:
    chance = random.Random(2)
    took: list[float] = []
    for _ in range(_SEARCHES):
        query = " ".join(chance.choices(_WORDS, k=6))
        began = time.perf_counter()
        retriever.search(query)
        took.append((time.perf_counter() - began) * 1000)
    return took


def _mib() -> float:
    """Return the most memory that the process had so far (KiB on Linux, bytes on macOS)."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1024 if sys.platform == "linux" else 1024**2)


if __name__ == "__main__":
    raise SystemExit(main())
