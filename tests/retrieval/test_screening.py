"""What a policy keeps out of the index is in no table of it, and a changed policy reads anew."""

from pathlib import Path

import pytest

from turnwire.nodes.guardrails.pii_documents import DocumentScreen, document_screen
from turnwire.nodes.guardrails.pii_rules import PiiRules
from turnwire.retrieval.encoder import Encoder
from turnwire.retrieval.index import Index
from turnwire.retrieval.ingest import IngestReport, ingest

MAIL, CARD = "quillon@example.test", "4111 1111 1111 1111"
LEAFLET = f"""# Leaflet of {MAIL}

## Write to {MAIL}

Write to {MAIL} for the form.

## Pay

Pay with {CARD}.

## Wait

Wait two days.
"""


def screen(**index: str) -> DocumentScreen | None:
    entities = {kind: {"index": action} for kind, action in index.items()}
    return document_screen(PiiRules.model_validate({"entities": entities}), "en")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "leaflet.md").write_text(LEAFLET)
    (folder / "plain.md").write_text("# Plain\n\nNothing private.")
    return folder


def taken_in(
    root: Path, index: Index, encoder: Encoder, screen: DocumentScreen | None
) -> IngestReport:
    return ingest(root, corpus="c", index=index, encoder=encoder, screen=screen)


def texts(index: Index, encoder: Encoder) -> list[tuple[str, str | None, str]]:
    snapshot, _ = index.look_up("", corpus=None, encoder=encoder)
    return [(each.title, each.section, each.text) for each in snapshot.passages]


def on_disk(index: Index) -> bytes:
    return b"".join(each.read_bytes() for each in index.path.parent.glob(f"{index.path.name}*"))


def test_a_policy_that_says_nothing_of_the_index_screens_nothing():
    assert document_screen(PiiRules(), "en") is None


def test_what_is_redacted_is_indexed_with_a_mark(root: Path, index: Index, encoder: Encoder):
    report = taken_in(root, index, encoder, screen(EMAIL="redact"))

    assert texts(index, encoder)[0] == (
        "Leaflet of [EMAIL]",
        "Write to [EMAIL]",
        "Write to [EMAIL] for the form.",
    )
    assert report.left_out == ()
    assert MAIL.encode() not in on_disk(index)


def test_a_passage_with_what_is_blocked_is_left_out_and_counted(
    root: Path, index: Index, encoder: Encoder
):
    report = taken_in(root, index, encoder, screen(CARD="block"))

    assert [text for _, _, text in texts(index, encoder)] == [
        f"Write to {MAIL} for the form.",
        "Wait two days.",
        "Nothing private.",
    ]
    assert report.left_out == (("leaflet.md", 1),)
    assert b"4111" not in on_disk(index)


def test_a_document_whose_title_is_blocked_is_skipped(root: Path, index: Index, encoder: Encoder):
    report = taken_in(root, index, encoder, screen(EMAIL="block"))

    assert report.skipped == (
        ("leaflet.md", "its title may not be indexed, says the policy's pii"),
    )
    assert [text for _, _, text in texts(index, encoder)] == ["Nothing private."]


def test_a_value_at_the_end_of_a_passage_is_not_cut_in_two(
    tmp_path: Path, index: Index, encoder: Encoder
):
    words = " ".join(["word"] * 400)
    path = tmp_path / "long.txt"
    for shift in range(24):
        path.write_text(f"{'x' * shift} {words[: 880 - shift]} {CARD} {words}")
        taken_in(path, index, encoder, screen(CARD="redact"))
        assert not any("1111" in text for _, _, text in texts(index, encoder)), shift


def test_a_changed_policy_has_the_documents_read_anew_and_another_change_does_not(
    root: Path, index: Index, encoder: Encoder
):
    before = taken_in(root, index, encoder, None)
    redacted = taken_in(root, index, encoder, screen(EMAIL="redact"))
    again = taken_in(root, index, encoder, screen(EMAIL="redact", PHONE="none"))
    back = taken_in(root, index, encoder, None)

    assert (before.added, redacted.changed, again.unchanged, back.changed) == (2, 2, 2, 2)
    assert texts(index, encoder)[0][2] == f"Write to {MAIL} for the form."


def test_what_was_indexed_before_the_policy_changed_is_in_no_page_of_the_file(
    root: Path, index: Index, encoder: Encoder
):
    taken_in(root, index, encoder, None)
    assert b"quillon" in on_disk(index)

    taken_in(root, index, encoder, screen(EMAIL="redact"))

    assert b"quillon" not in on_disk(index)
