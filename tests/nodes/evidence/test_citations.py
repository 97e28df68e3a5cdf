import pytest

from tests.growth import assert_linear
from turnwire.events import Passage
from turnwire.nodes.evidence.citations import find_citations, without_markers
from turnwire.nodes.evidence.source import Source

TEXTS = (
    "Cover starts on the first of May and ends with the year.",
    "Claims are paid within ten working days of the last document.",
    "Dental surgery after an accident is covered in full.",
    "Road ambulance is paid up to $150 for each stay.",
)


def source(number: int, text: str) -> Source:
    return Source(
        passage=Passage(
            index=number,
            id=f"psg-{number}",
            title="Same title",
            document_id=f"doc-{number}",
            document_name="A document",
            score=0.5,
            snippet=text[:20],
            source="corpus",
        ),
        text=text,
    )


FOUR = [source(number, text) for number, text in enumerate(TEXTS, start=1)]


def markers(text: str) -> list[int]:
    return [each.marker for each in find_citations(text, FOUR).citations]


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("It starts in May [1].", [1]),
        ("Both [1][2] say so.", [1, 2]),
        ("Both [1, 3] say so.", [1, 3]),
        ("Both [1,3] and [3] say so.", [1, 3]),
        ("All [2-4] say so.", [2, 3, 4]),
        ("全角［１］も数える。", [1]),  # noqa: RUF001 - full-width on purpose
        ("Later first [4], then [2].", [4, 2]),
        ("Nothing at all.", []),
        ("A list[str] and an [open bracket", []),
        ("See [2024] and [a1].", []),
    ],
)
def test_a_marker_that_points_at_evidence_is_a_citation(text: str, cited: list[int]):
    assert markers(text) == cited


@pytest.mark.parametrize(
    ("text", "cited", "invented"),
    [
        ("x [0]", [], 1),
        ("x [-1]", [], 1),
        ("x [9]", [], 1),
        ("x [1][5][7]", [1], 2),
        ("x [3, 9]", [3], 1),
        ("x [4-2]", [], 1),
    ],
)
def test_a_marker_that_points_nowhere_is_counted_and_never_a_citation(
    text: str, cited: list[int], invented: int
):
    check = find_citations(text, FOUR)
    assert ([each.marker for each in check.citations], check.invented) == (cited, invented)


def test_a_citation_carries_its_own_passage():
    (citation,) = find_citations("x [3]", FOUR).citations
    assert (citation.id, citation.document_id) == ("psg-3", "doc-3")
    assert citation.snippet == "Dental surgery after"


@pytest.mark.parametrize(
    "text",
    ["use `a[1]` here", "``a[1] ` b[2]``", "```py\na[1]\n```", "~~~\na[9]\n~~~\n", "```\nopen [1]"],
)
def test_code_is_left_alone(text: str):
    check = find_citations(text, FOUR)
    assert (check.citations, check.invented) == ((), 0)


def test_a_marker_after_code_counts():
    assert markers("use `a[2]` as said [1], not ` alone [3]") == [1, 3]


@pytest.mark.parametrize(
    "quoted",
    [
        '"Claims are paid within ten working days" [2]',
        '"claims are  paid within ten working days." [2]',
        "“Claims are paid within ten working days”. [2]",
        "«Claims are paid … ten working days», [2]",
        '"Claims are paid within ten working days" [2][2]',
    ],
)
def test_a_quotation_that_stands_in_its_passage_is_a_citation(quoted: str):
    check = find_citations(quoted, FOUR)
    assert [each.marker for each in check.citations] == [2]
    assert check.is_backed


def test_a_right_quotation_with_the_wrong_number_is_no_citation():
    check = find_citations('"Claims are paid within ten working days" [1].', FOUR)
    assert (check.citations, check.wrong_source, check.unfounded_quotations) == ((), 1, 1)
    assert not check.is_backed


def test_a_quotation_found_in_no_source_is_no_citation():
    check = find_citations("“Claims are always paid on the same day” [2].", FOUR)
    assert check.citations == ()
    assert not check.is_backed


def test_of_two_markers_after_a_quotation_the_right_one_counts():
    check = find_citations('"Claims are paid within ten working days" [1][2]', FOUR)
    assert [each.marker for each in check.citations] == [2]
    assert (check.wrong_source, check.is_backed) == (1, True)


def test_a_term_in_quotation_marks_is_no_quotation():
    assert markers('The "road ambulance service" [1] is paid.') == [1]


def test_an_inch_mark_does_not_confuse_what_is_quoted():
    assert markers('A 5" pipe: "Claims are paid within ten working days" [2]') == [2]


def test_without_evidence_every_marker_is_invented():
    check = find_citations("x [1]", [])
    assert (check.citations, check.invented, check.is_backed) == ((), 1, False)


@pytest.mark.parametrize(
    ("before", "unit", "after"),
    [
        ("[", "x", ""),
        ("", "[", ""),
        ("", "[1,", ""),
        ("[1", " ", ""),
        ("`", "`", "[1]"),
        ("", "` `` ", ""),
        ("", '"', "[1]"),
        ("", "```\n", ""),
        ("", "“a b c d e f [1] ", ""),
    ],
)
def test_the_time_is_linear_in_the_text(before: str, unit: str, after: str):
    def reading(text: str) -> object:
        return find_citations(text, FOUR), without_markers(text)

    # An even number, so that backticks after the first one never close.
    assert_linear(reading, lambda size: before + unit * (size // len(unit)) + after, 12_000)


def test_markers_are_taken_out_of_earlier_answers_but_not_out_of_code():
    assert without_markers("In May [1], `a[1]` and so on [2][3].") == "In May, `a[1]` and so on."


def said_for(text: str) -> dict[int, list[str]]:
    """Return the parts of the answer that each marker stands for."""
    return {
        each.marker: [text[span.start : span.end] for span in each.spans]
        for each in find_citations(text, FOUR).citations
    }


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        (
            "It starts in May [1]. Claims are paid [2].",
            [(1, "It starts in May [1]."), (2, "Claims are paid [2].")],
        ),
        (
            "It starts in May. [1] Claims are paid. [2]",
            [(1, "It starts in May."), (2, "Claims are paid.")],
        ),
        ("It starts in May.[1][2]", [(1, "It starts in May."), (2, "It starts in May.")]),
        ("In May.\n[1]\n\nPaid.\n[2]", [(1, "In May."), (2, "Paid.")]),
        ("- In May [1]\n- Paid [2]", [(1, "In May"), (2, "Paid")]),
        (
            "[1] It starts in May.\n[2] Claims are paid.",
            [(1, "It starts in May."), (2, "Claims are paid.")],
        ),
        ("Dr. Smith pays approx. 3 of it [3].", [(3, "Dr. Smith pays approx. 3 of it [3].")]),
        ("🚑 Paid up to $150. [4]", [(4, "🚑 Paid up to $150.")]),
        ("¿Cuándo? En mayo [1]. Sí.", [(1, "En mayo [1].")]),
        ("[1]", [(1, None)]),
    ],
)
def test_a_citation_names_the_sentence_that_its_marker_stands_for(
    text: str, spans: list[tuple[int, str | None]]
):
    assert said_for(text) == {marker: [said] if said else [] for marker, said in spans}


def test_a_passage_that_is_cited_twice_names_both_sentences():
    assert said_for("In May [1]. Paid [2]. Until the end [1].") == {
        1: ["In May [1].", "Until the end [1]."],
        2: ["Paid [2]."],
    }


def test_a_citation_without_spans_looks_as_it_always_did():
    (citation,) = find_citations("[3]", FOUR).citations
    assert set(citation.model_dump()) == {"marker", "id", "title", "document_id", "snippet"}


def test_a_citation_carries_its_documents_date_and_version():
    passage = FOUR[0].passage.model_copy(update={"date": "2026-02-10", "version": "1.10"})
    (citation,) = find_citations(
        "x [1]", [FOUR[0].model_copy(update={"passage": passage})]
    ).citations
    assert (citation.date, citation.version) == ("2026-02-10", "1.10")


def test_a_cited_sentence_may_also_speak_of_what_a_tool_returned():
    record = source(0, '{"used": 250, "remaining": 750}')
    text = "Road ambulance is paid up to $150 for each stay, and you have 750 left [4]."
    assert find_citations(text, FOUR).reason == "unsupported_number"
    told = find_citations(text, FOUR, beside=[record])
    assert (told.reason, [each.marker for each in told.citations]) == (None, [4])
    wrong = find_citations(text.replace("750", "755"), FOUR, beside=[record])
    assert wrong.reason == "unsupported_number"
    assert find_citations("It is in your file [0].", FOUR, beside=[record]).invented == 1
