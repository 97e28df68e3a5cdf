from pathlib import Path

from turnwire.retrieval.encoder import Encoder
from turnwire.retrieval.index import Index
from turnwire.retrieval.ingest import ingest
from turnwire.retrieval.keywords import listed, met
from turnwire.retrieval.loaders import load
from turnwire.retrieval.search import Retriever
from turnwire.retrieval.selection import RetrievalPolicy

KNOWN = listed([("back", "lumbago, put my back out, manta eléctrica"), ("shots", "jab, , bloods")])


def test_a_keyword_is_met_as_it_stands_in_the_query():
    assert met(KNOWN, "How long does Lumbago last?") == {"back": ("Lumbago",)}
    assert met(KNOWN, "uso la MANTA  electrica?") == {"back": ("MANTA  electrica",)}
    assert met(KNOWN, "I put my back out") == {"back": ("put my back out",)}


def test_a_keyword_whose_words_are_scattered_is_not_met():
    assert met(KNOWN, "my back is fine, put the light out") == {}


def test_a_plural_meets_its_singular_and_a_singular_no_plural():
    assert met(KNOWN, "after the jabs") == {"shots": ("jabs",)}
    assert met(KNOWN, "when are my bloods") == {"shots": ("bloods",)}
    assert met(KNOWN, "blood") == {}


def test_a_query_of_one_word_or_none_is_looked_up():
    assert met(KNOWN, "jab") == {"shots": ("jab",)}
    assert met(KNOWN, "") == met(KNOWN, "?!") == {}


def test_a_document_names_its_keywords_as_a_line_or_as_a_list(tmp_path: Path):
    for name, front in (("line", "one, two three"), ("list", "[one, two three]")):
        (tmp_path / f"{name}.md").write_text(f"---\nkeywords: {front}\n---\nSome text.\n")
        assert load(tmp_path / f"{name}.md").keywords == "one, two three"
    page = (
        "<html><head><meta name=keywords content='one, two'></head><body><p>Text</p></body></html>"
    )
    (tmp_path / "page.html").write_text(page)
    assert load(tmp_path / "page.html").keywords == "one, two"


def test_a_document_is_found_under_a_word_that_its_text_does_not_have(
    tmp_path: Path, index: Index, encoder: Encoder
):
    for name, keywords, body in (
        ("back", "lumbago", "Most episodes improve within four to six weeks."),
        ("knee", "gonalgia", "A swollen joint may improve when it rests for weeks."),
    ):
        front = f"---\ntitle: The {name}\nkeywords: {keywords}\n---\n"
        (tmp_path / f"{name}.md").write_text(f"{front}{body}\n")
    ingest(tmp_path, corpus="c", index=index, encoder=encoder)
    retriever = Retriever(index, encoder, RetrievalPolicy(floor=-1.0, tail=-1.0))
    found = retriever.search("does lumbago improve within weeks?")
    assert found.evidence[0].passage.document_name == "The back"
    assert found.evidence[0].keywords == ("lumbago",)
    assert [each.keywords for each in found.evidence[1:]] == [()]
