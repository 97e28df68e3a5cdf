import os
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from turnwire.errors import SetupError
from turnwire.retrieval.encoder import Encoder, Matrix
from turnwire.retrieval.index import Index
from turnwire.retrieval.ingest import Progress, ingest

DOCUMENTS = {
    "a.md": "# A\n\nApples are red.",
    "b.txt": "Bananas are yellow.",
    "c/d.md": "# D\n\nDates.",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in DOCUMENTS.items():
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "docs"


def texts(index: Index, encoder: Encoder) -> set[str]:
    snapshot, _ = index.look_up("", corpus=None, encoder=encoder)
    return {passage.text for passage in snapshot.passages}


def test_a_second_run_touches_nothing(root: Path, index: Index, encoder: Encoder):
    first = ingest(root, corpus="c", index=index, encoder=encoder)
    second = ingest(root, corpus="c", index=index, encoder=encoder)
    assert (first.added, first.passages, first.generation) == (3, 3, 1)
    assert (second.added, second.changed, second.unchanged, second.passages) == (0, 0, 3, 0)
    assert second.generation == 1


def test_only_what_changed_is_encoded_again(root: Path, index: Index, encoder: Encoder):
    ingest(root, corpus="c", index=index, encoder=encoder)
    (root / "a.md").write_text("# A\n\nApples are green.")
    (root / "b.txt").unlink()
    (root / "new.txt").write_text("Novelties.")
    report = ingest(root, corpus="c", index=index, encoder=encoder)
    assert (report.added, report.changed, report.removed, report.unchanged) == (1, 1, 1, 1)
    assert (report.passages, report.generation) == (2, 2)
    assert texts(index, encoder) == {"Apples are green.", "Novelties.", "Dates."}


def test_corpora_do_not_touch_each_other(root: Path, index: Index, encoder: Encoder):
    ingest(root, corpus="one", index=index, encoder=encoder)
    ingest(root / "b.txt", corpus="two", index=index, encoder=encoder)
    report = ingest(root / "c", corpus="two", index=index, encoder=encoder)
    assert (report.added, report.removed) == (1, 1)
    snapshot, _ = index.look_up("", corpus=None, encoder=encoder)
    assert {name: len(places) for name, places in snapshot.corpora.items()} == {"one": 3, "two": 1}


def test_unreadable_files_are_named_and_the_rest_goes_in(
    root: Path, index: Index, encoder: Encoder
):
    (root / "bad.txt").write_bytes(b"\x00\x01")
    (root / "bad.pdf").write_bytes(b"%PDF-1.7 rubbish")
    (root / "sheet.xlsx").write_bytes(b"x")
    os.mkfifo(root / "pipe.md")
    report = ingest(root, corpus="c", index=index, encoder=encoder)
    assert report.added == 3
    assert [path for path, _ in report.skipped] == ["bad.pdf", "bad.txt", "pipe.md", "sheet.xlsx"]
    assert all(reason for _, reason in report.skipped)


def test_a_file_that_can_no_longer_be_read_leaves_the_index(
    root: Path, index: Index, encoder: Encoder
):
    ingest(root, corpus="c", index=index, encoder=encoder)
    (root / "a.md").write_bytes(b"\xff rubbish")
    report = ingest(root, corpus="c", index=index, encoder=encoder)
    assert (report.removed, len(report.skipped)) == (1, 1)
    assert "Apples are red." not in texts(index, encoder)


def test_links_do_not_lead_round_in_circles_or_out_of_the_root(
    root: Path, index: Index, encoder: Encoder, tmp_path: Path
):
    (tmp_path / "secret.txt").write_text("Outside.")
    (root / "loop").symlink_to(root)
    (root / "self.md").symlink_to(root / "self.md")
    (root / "out.txt").symlink_to(tmp_path / "secret.txt")
    (root / "alias.txt").symlink_to(root / "b.txt")
    report = ingest(root, corpus="c", index=index, encoder=encoder)
    assert report.added == 4
    assert [path for path, _ in report.skipped] == ["out.txt", "self.md"]
    assert "Outside." not in texts(index, encoder)


def test_hidden_files_and_directories_are_passed_over(root: Path, index: Index, encoder: Encoder):
    (root / ".git").mkdir()
    (root / ".git" / "x.md").write_text("Hidden.")
    (root / ".env.txt").write_text("Hidden.")
    report = ingest(root, corpus="c", index=index, encoder=encoder)
    assert (report.added, report.skipped) == (3, ())


def test_a_file_name_that_is_not_utf_8_is_taken_in(root: Path, index: Index, encoder: Encoder):
    with open(os.fsencode(root) + b"/caf\xe9.txt", "wb") as file:
        file.write(b"Coffee.")
    report = ingest(root, corpus="c", index=index, encoder=encoder)
    assert report.added == 4
    assert "Coffee." in texts(index, encoder)


def test_progress_counts_up_to_the_last_file(root: Path, index: Index, encoder: Encoder):
    said: list[Progress] = []
    ingest(root, corpus="c", index=index, encoder=encoder, progress=said.append)
    assert [(each.done, each.total, each.path) for each in said] == [
        (1, 3, "a.md"),
        (2, 3, "b.txt"),
        (3, 3, "c/d.md"),
    ]


def test_a_long_file_shows_its_progress_too(root: Path, index: Index, encoder: Encoder):
    (root / "long.md").write_text("\n".join(f"# {at}\n\nText {at}.\n" for at in range(150)))
    said: list[Progress] = []
    ingest(root / "long.md", corpus="c", index=index, encoder=encoder, progress=said.append)
    assert [(each.done, each.passages) for each in said] == [(0, 64), (0, 128), (1, 150)]


def test_questions_are_answered_while_the_index_is_emptied_and_filled_again(
    root: Path, index: Index, encoder: Encoder
):
    ingest(root, corpus="c", index=index, encoder=encoder)
    seen: list[int] = []

    def asking(_: Progress) -> None:
        seen.append(len(index.look_up("", corpus=None, encoder=encoder)[0].passages))

    report = ingest(root, corpus="c", index=index, encoder=encoder, progress=asking, reset=True)
    assert seen == [3, 3, 3]
    assert report.generation == 2


def test_hostile_files_among_many_are_named_and_cost_little_memory(
    root: Path, index: Index, encoder: Encoder
):
    for at in range(300):
        (root / f"{at}.txt").write_text(f"Note number {at} of the house.")
    (root / "big.txt").write_bytes(b"All work and no play. " * 2_300_000)
    (root / "rubbish.txt").write_bytes(bytes(range(256)) * 4000)
    (root / "broken.pdf").write_bytes(b"%PDF-1.7\n" + bytes(range(256)) * 4000)
    with zipfile.ZipFile(root / "bomb.docx", "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("word/document.xml", b"<w:p/>" * 10_000_000)
    tracemalloc.start()
    report = ingest(root, corpus="c", index=index, encoder=encoder)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert report.added == 303
    assert [path for path, _ in report.skipped] == [
        "big.txt",
        "bomb.docx",
        "broken.pdf",
        "rubbish.txt",
    ]
    assert peak < 250 * 2**20


def test_a_missing_root_is_the_operators_mistake_and_removes_nothing(
    root: Path, index: Index, encoder: Encoder
):
    ingest(root, corpus="c", index=index, encoder=encoder)
    with pytest.raises(SetupError, match="nothing to ingest"):
        ingest(root / "gone", corpus="c", index=index, encoder=encoder)
    assert len(texts(index, encoder)) == 3


def test_an_interrupted_ingest_changes_nothing(root: Path, index: Index, encoder: Encoder):
    class Interrupted:
        name, dims = encoder.name, encoder.dims

        def encode(self, texts: object, /) -> Matrix:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(root, corpus="c", index=index, encoder=Interrupted())
    assert index.generation() == 0
    assert ingest(root, corpus="c", index=index, encoder=encoder).added == 3


def test_passages_are_encoded_in_batches(root: Path, index: Index, encoder: Encoder):
    sizes: list[int] = []

    class Counting:
        name, dims = encoder.name, encoder.dims

        def encode(self, texts: Sequence[str], /) -> Matrix:
            sizes.append(len(texts))
            return encoder.encode(texts)

    text = "\n".join(
        f"# {at}\n\nOne long sentence. Another one, number {at}.\n" for at in range(150)
    )
    (root / "long.md").write_text(text)
    ingest(root / "long.md", corpus="c", index=index, encoder=Counting())
    assert max(sizes) == 64
    assert sum(sizes) == 150 + 2 * 150  # the passages, and their sentences


def test_a_passage_keeps_its_id_when_another_of_its_document_changes(
    root: Path, index: Index, encoder: Encoder
):
    def ids() -> dict[str, str]:
        snapshot, _ = index.look_up("", corpus=None, encoder=encoder)
        return {passage.text: passage.id for passage in snapshot.passages}

    (root / "a.md").write_text("# One\n\nSame.\n\n# Two\n\nSame.\n\n# Three\n\nOld.")
    ingest(root, corpus="c", index=index, encoder=encoder)
    before = ids()
    (root / "a.md").write_text("# One\n\nSame.\n\n# Two\n\nSame.\n\n# Three\n\nNew.")
    ingest(root, corpus="c", index=index, encoder=encoder)
    assert ids()["Same."] == before["Same."]


def test_two_processes_may_ingest_at_once(root: Path, tmp_path: Path, encoder: Encoder):
    script = (
        "import sys; from pathlib import Path; import numpy as np\n"
        "from turnwire.retrieval.index import Index\n"
        "from turnwire.retrieval.ingest import ingest\n"
        "class E:\n"
        "    name, dims = 'hashing', 64\n"
        "    def encode(self, texts): return np.ones((len(texts), 64), dtype=np.float32) / 8\n"
        "root, path, corpus = sys.argv[1:]\n"
        "with Index(Path(path)) as index:\n"
        "    print(ingest(Path(root), corpus=corpus, index=index, encoder=E()).added)\n"
    )
    path = tmp_path / "both.db"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(root), str(path), corpus],
            stdout=subprocess.PIPE,
            env={"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        for corpus in ("one", "two")
    ]
    assert [process.communicate(timeout=60)[0] for process in running] == [b"3\n", b"3\n"]
    with Index(path) as index:
        assert index.generation() == 2
        assert len(index.look_up("", corpus=None, encoder=encoder)[0].passages) == 6
